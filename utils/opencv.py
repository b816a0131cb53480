"""The one door to OpenCV: imports it without letting its Qt plug-ins replace ours.

On Linux the opencv-python wheel carries a Qt 5 of its own and, when imported, points
`QT_QPA_PLATFORM_PLUGIN_PATH` and `QT_QPA_FONTDIR` at it; PySide6 would then look there
for its xcb plug-in and abort the process. We never open an OpenCV window, so the
environment is put back as it was. Pictures of more than MAX_PIXELS are refused by their header.
"""

from __future__ import annotations

import os
from typing import Any

MAX_PIXELS = 50_000_000  # of a picture that OpenCV decodes; as RGB that is 150 MB

# Read when OpenCV loads. Windows cameras open slowly otherwise; and what FFmpeg and V4L2 would
# print to the terminal, the sources say in sentences.
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
    """A path or an address as OpenCV is to get it: as bytes, since it crashes on the text that
    stands for a name that is not UTF-8."""
    return os.fsencode(where)
