"""Where pictures of the window are taken: a screen and folders of its own."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from utils.files.atomic import atomic_write

if TYPE_CHECKING:  # Qt reads the environment when it is imported
    from PySide6.QtWidgets import QWidget

SIZE = 1280, 800
QUALITY = 90  # of the WebP


def go_into(folder: Path) -> None:
    """Have the program keep what it keeps in a folder, and draw on a screen of its own.

    To be called before Qt is imported.
    """
    for name in ("CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    screen = {"name": "Screen", "x": 0, "y": 0, "width": SIZE[0], "height": SIZE[1]}
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    (folder / "screen.json").write_text(json.dumps({"screens": [screen | dots]}))
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={folder / 'screen.json'}"


def save(window: QWidget, output: Path) -> None:
    """Write what a window shows as a WebP."""
    from PySide6.QtCore import QBuffer, QIODevice

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    window.grab().save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    packed = io.BytesIO()
    with Image.open(io.BytesIO(bytes(buffer.data().data()))) as image:
        image.convert("RGB").save(packed, "WEBP", quality=QUALITY, method=6)
    atomic_write(output, packed.getvalue())
