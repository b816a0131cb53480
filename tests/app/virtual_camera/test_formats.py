"""Every format stores the picture in the layout that its name says."""

from __future__ import annotations

import numpy as np
import pytest

from app.options import CAMERA_FORMATS
from app.virtual_camera.formats import FORMATS
from tests.conftest import picture
from utils.opencv import cv2

WIDTH, HEIGHT = 64, 48
BACK = {
    "yuyv": ((HEIGHT, WIDTH, 2), cv2.COLOR_YUV2RGB_YUYV),
    "uyvy": ((HEIGHT, WIDTH, 2), cv2.COLOR_YUV2RGB_UYVY),
    "nv12": ((HEIGHT * 3 // 2, WIDTH), cv2.COLOR_YUV2RGB_NV12),
    "gray": ((HEIGHT, WIDTH), cv2.COLOR_GRAY2RGB),
}


def test_every_format_that_can_be_chosen_is_there():
    assert list(FORMATS) == list(CAMERA_FORMATS)


def test_every_format_is_one_of_the_librarys_in_its_size():
    library = pytest.importorskip("pyvirtualcam")
    for each in FORMATS.values():
        shape = library.camera.FrameShapes[library.PixelFormat[each.name]](WIDTH, HEIGHT)
        assert each.convert(picture(WIDTH, HEIGHT)).size == np.prod(shape)


@pytest.mark.parametrize("key", BACK)
def test_a_format_decodes_to_the_picture(key):
    pixels = cv2.GaussianBlur(picture(WIDTH, HEIGHT), (0, 0), 3)
    stored = FORMATS[key].convert(np.asarray(pixels, np.uint8))
    shape, code = BACK[key]
    back = np.asarray(cv2.cvtColor(stored.reshape(shape), code), np.float32)
    expected = np.asarray(pixels, np.float32)
    if key == "gray":
        expected = expected @ np.array([0.299, 0.587, 0.114], np.float32)
        back = back[..., 0]
    assert np.abs(back - expected).mean() < 2
