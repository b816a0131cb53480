"""Reads picture files as input tensors of networks, and writes their output to files.

The application itself reads and writes arrays, with utils.images.
"""

from __future__ import annotations

import os

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from utils.images.opening import ImageError as ImageError
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels


def load_image(path: str | os.PathLike[str]) -> Tensor:
    """Read a picture as the input of a network, [1, 3, H, W] float32, RGB, 0-255, contiguous.

    The result is upright, in sRGB, over white where the picture is transparent.

    Raises:
        ImageError: If the file is missing, damaged or not a picture.
    """
    pixels = torch.from_numpy(read_pixels(path))
    return pixels.permute(2, 0, 1)[None].to(torch.float32, memory_format=torch.contiguous_format)


def save_image(picture: Tensor | NDArray[np.uint8], path: str | os.PathLike[str]) -> None:
    """Write a picture as PNG, JPEG or WebP, by the extension, atomically.

    Args:
        picture: A network's output, [1, 3, H, W] or [3, H, W] of any floating dtype on any device,
            RGB 0-255; the function clamps and rounds it. Or an array [H, W, 3] uint8, RGB.

    Raises:
        ImageError: If the shape, the dtype or the extension is not supported, values are NaN, or
            the path cannot be written.
    """
    pixels = _to_pixels(picture) if isinstance(picture, Tensor) else picture
    write_pixels(path, pixels)


def _to_pixels(picture: Tensor) -> NDArray[np.uint8]:
    shape = list(picture.shape)
    single = picture[0] if picture.dim() == 4 and shape[0] == 1 else picture
    if single.dim() != 3 or single.shape[0] != 3 or not picture.is_floating_point():
        raise ImageError(
            f"expected a floating-point picture [1, 3, H, W], got {shape} of {picture.dtype}"
        )
    if bool(single.isnan().any()):
        raise ImageError("the picture holds NaN values")
    pixels = single.detach().float().clamp(0, 255).round().to("cpu", torch.uint8)
    return pixels.permute(1, 2, 0).contiguous().numpy()
