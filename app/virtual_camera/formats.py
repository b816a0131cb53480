"""The pixel formats of a virtual camera, and the conversion from RGB to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """A pixel format; `name` is pyvirtualcam's.

    `convert` converts [H, W, 3] uint8 RGB with even sides to its bytes. Colors are encoded by
    BT.601 in the range of video (16 to 235), as in webcams.
    """

    name: str
    convert: Callable[[Pixels], Pixels]


def _as_it_is(pixels: Pixels) -> Pixels:
    return pixels


def _yuyv(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_YUYV), np.uint8)


def _uyvy(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_UYVY), np.uint8)


def _nv12(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    planes = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2YUV_I420), np.uint8).reshape(-1)
    luma, chroma = planes[: height * width], planes[height * width :]
    return np.concatenate((luma, chroma.reshape(2, -1).T.reshape(-1)))  # U and V alternate


def _gray(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)


FORMATS: dict[str, PixelFormat] = {  # by the keys of app.options.CAMERA_FORMATS
    "auto": PixelFormat("RGB", _as_it_is),
    "yuyv": PixelFormat("YUYV", _yuyv),
    "uyvy": PixelFormat("UYVY", _uyvy),
    "nv12": PixelFormat("NV12", _nv12),
    "gray": PixelFormat("GRAY", _gray),
}
