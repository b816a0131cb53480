"""Renders the application's icon from its drawing, for Windows and for its setup program."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

DRAWING = Path(__file__).resolve().parents[2] / "assets" / "icons" / "styleforge.svg"
# pixels; the sizes up to 64 match Windows' own scales
WINDOWS_SIZES = (16, 20, 24, 32, 40, 48, 64, 256)
SIDE_PICTURE = (328, 628)  # pixels; twice the size on a screen without scaling
SIDE_COLOR = "#2b2350"  # the drawing's evening sky


def render(size: int) -> bytes:
    """Render the icon.

    Args:
        size: Width and height in pixels.

    Returns:
        A PNG file with transparency.
    """
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(DRAWING)).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().data())


def windows_icon(sizes: Sequence[int] = WINDOWS_SIZES) -> bytes:
    """Render the icon in several sizes, as one .ico file.

    Args:
        sizes: In pixels, each at most 256.
    """
    images = [Image.open(io.BytesIO(render(size))) for size in sizes]
    file = io.BytesIO()
    images[-1].save(file, "ICO", sizes=[image.size for image in images], append_images=images[:-1])
    return file.getvalue()


def side_picture() -> bytes:
    """Render the picture next to the first and the last page of the setup program, as BMP."""
    picture = Image.new("RGB", SIDE_PICTURE, SIDE_COLOR)
    size = SIDE_PICTURE[0] // 2
    shown = Image.open(io.BytesIO(render(size))).convert("RGBA")
    picture.paste(shown, (size // 2, size // 2), shown)
    file = io.BytesIO()
    picture.save(file, "BMP")
    return file.getvalue()
