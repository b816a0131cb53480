"""Imports OpenCV without its Qt plug-ins; the only module that imports `cv2`.

On Linux, the opencv-python wheel contains Qt 5 and, when imported, sets
`QT_QPA_PLATFORM_PLUGIN_PATH` and `QT_QPA_FONTDIR` to it; PySide6 would then load its xcb plug-in
from there and abort the process. The program opens no OpenCV window, so the environment is
restored. Pictures of more than MAX_PIXELS are refused by their header.
"""

from __future__ import annotations

import os
from typing import Any

MAX_PIXELS = 50_000_000  # of a picture that OpenCV decodes; 150 MB as RGB

# OpenCV reads these when it is loaded. Without the first, cameras on Windows open slowly. The
# others silence FFmpeg and V4L2, whose errors the sources report themselves.
os.environ.setdefault("OPENCV_VIDEOIO_MSMF_ENABLE_HW_TRANSFORMS", "0")
os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(MAX_PIXELS)

_QT_VARIABLES = ("QT_QPA_PLATFORM_PLUGIN_PATH", "QT_QPA_FONTDIR")
_before = {name: os.environ.get(name) for name in _QT_VARIABLES}

import cv2  # noqa: E402  (the environment has to be read first)

for _name, _value in _before.items():
    if _value is None:
        os.environ.pop(_name, None)
    else:
        os.environ[_name] = _value

__all__ = ["MAX_PIXELS", "cv2", "place"]


def place(where: str | os.PathLike[str]) -> Any:
    """Convert a path or an address for OpenCV, to bytes: it crashes on text with surrogates."""
    return os.fsencode(where)
