"""Draws frames, scaled for the screen and cached while they are shown.

Only this module converts pixels to a QImage.
"""

from __future__ import annotations

import time

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter

from app.engine.result import StyledFrame
from app.frame import Frame
from app.ui.viewport.scaling import Pixels, scale_frame, scale_part
from utils.opencv import cv2

SCALING_BUDGET_MS = 10.0  # for scaling in one paint; further pictures are drawn in low quality


class FramePainter:
    """Draws the frames of one result, in one area or two."""

    def __init__(self) -> None:
        self._mirrored = False
        # Frame, size of the whole frame, visible part, its pixels, and an image on these pixels.
        self._scaled: dict[int, tuple[Frame, QSize, QRect, Pixels, QImage]] = {}
        self._scaling_ms = 0.0  # spent on scaling in this paint

    @property
    def mirrored(self) -> bool:
        """Whether frames are mirrored horizontally; writable."""
        return self._mirrored

    @mirrored.setter
    def mirrored(self, mirrored: bool) -> None:
        self._mirrored = mirrored
        self.clear()

    @property
    def kept(self) -> tuple[Pixels, ...]:
        return tuple(pixels for _frame, _size, _part, pixels, _image in self._scaled.values())

    def clear(self) -> None:
        self._scaled.clear()

    def begin_paint(self) -> None:
        """Start a paint with a fresh scaling budget."""
        self._scaling_ms = 0.0

    def keep_only(self, styled: StyledFrame, stand_in: Frame | None = None) -> None:
        """Drop the copies of frames that belong neither to `styled` nor in its place."""
        used = {id(styled.frame), id(styled.source), id(stand_in)}
        if styled.comparison:
            used |= {id(styled.comparison.baseline), id(styled.comparison.fused)}
        self._scaled = {key: kept for key, kept in self._scaled.items() if key in used}

    def draw(
        self, painter: QPainter, frame: Frame, place: QRect, area: QRect, *, zoomed: bool
    ) -> bool:
        """Draw the visible part of `frame`.

        The scaled copy is cached until the frame or the part changes, so moving the divider or
        updating the overlay never scales again. If this paint has used up its scaling budget, the
        frame is drawn in low quality.

        Args:
            place: The rectangle of the whole frame, in device pixels.
            area: The visible area, in device pixels.
            zoomed: Whether the frame is zoomed instead of fitted into the area.

        Returns:
            Whether the frame was drawn in full quality; if not, another paint must follow.
        """
        seen = place & area
        if seen.isEmpty():
            return True
        part = seen.translated(-place.topLeft())
        if self._mirrored:
            part.moveLeft(place.width() - part.x() - part.width())
        ratio = painter.device().devicePixelRatioF()
        kept = self._scaled.get(id(frame))
        if kept is None or kept[1:3] != (place.size(), part):
            pixels = _part_of_screen(frame, place.size(), part)
            if pixels is None:
                if self._scaling_ms > SCALING_BUDGET_MS:
                    self._draw_roughly(painter, frame, place, seen)
                    return False
                start = time.perf_counter()
                if zoomed:
                    pixels = scale_part(frame, place.size(), part)
                else:
                    pixels = scale_frame(frame, part.width(), part.height()).pixels
                self._scaling_ms += (time.perf_counter() - start) * 1e3
            pixels = self._facing(pixels)
            image = as_image(pixels)
            image.setDevicePixelRatio(ratio)
            kept = self._scaled[id(frame)] = (frame, place.size(), part, pixels, image)
        painter.drawImage(QPointF(seen.topLeft()) / ratio, kept[4])
        return True

    def _draw_roughly(self, painter: QPainter, frame: Frame, place: QRect, seen: QRect) -> None:
        ratio = painter.device().devicePixelRatioF()
        pixels = self._facing((frame.preview or frame).pixels)
        painter.save()
        painter.setClipRect(on_widget(seen, ratio).toRect(), Qt.ClipOperation.IntersectClip)
        painter.drawImage(on_widget(place, ratio), as_image(pixels))
        painter.restore()

    def _facing(self, pixels: Pixels) -> Pixels:
        return np.asarray(cv2.flip(pixels, 1), np.uint8) if self._mirrored else pixels


def on_widget(place: QRect, ratio: float) -> QRectF:
    """Convert a rectangle from device pixels to widget pixels, which are `ratio` times as large."""
    return QRectF(QPointF(place.topLeft()) / ratio, place.size().toSizeF() / ratio)


def _part_of_screen(frame: Frame, size: QSize, part: QRect) -> Pixels | None:
    """Return this part of `Frame.screen`; None if the frame is painted in another size."""
    if frame.screen is None or frame.screen.shape[:2] != (size.height(), size.width()):
        return None
    rows = slice(part.y(), part.y() + part.height())
    columns = slice(part.x(), part.x() + part.width())
    return np.ascontiguousarray(frame.screen[rows, columns])


def as_image(pixels: Pixels) -> QImage:
    """Wrap [H, W, 3] or Qt's [H, W, 4] uint8 without copying; valid while the pixels exist."""
    height, width, channels = pixels.shape
    form = QImage.Format.Format_RGB32 if channels == 4 else QImage.Format.Format_RGB888
    return QImage(pixels.data, width, height, pixels.strides[0], form)
