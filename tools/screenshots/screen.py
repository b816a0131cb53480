"""A separate screen and separate folders for pictures of the window."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from utils.files.atomic import atomic_write

if TYPE_CHECKING:  # Qt reads the environment on import
    from PySide6.QtWidgets import QWidget

SIZE = 1280, 800
QUALITY = 90  # of the WebP


def go_into(folder: Path, size: tuple[int, int] = SIZE, scale: int = 1) -> None:
    """Redirect the program's files to a folder, and its window to a separate screen.

    Call it before importing Qt.

    Args:
        size: Width and height of the screen in pixels.
        scale: Pixels of the screen per pixel of the window.
    """
    for name in ("CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    screen = {"name": "Screen", "x": 0, "y": 0, "width": size[0], "height": size[1]}
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": scale}
    (folder / "screen.json").write_text(json.dumps({"screens": [screen | dots]}))
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={folder / 'screen.json'}"


def save(window: QWidget, output: Path) -> None:
    """Write the content of a window as a WebP."""
    from PySide6.QtCore import QBuffer, QIODevice

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    window.grab().save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    packed = io.BytesIO()
    with Image.open(io.BytesIO(bytes(buffer.data().data()))) as image:
        image.convert("RGB").save(packed, "WEBP", quality=QUALITY, method=6)
    atomic_write(output, packed.getvalue())
