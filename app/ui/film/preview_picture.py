"""The picture of a painted frame in the export dialog."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPalette, QPixmap
from PySide6.QtWidgets import QWidget

from app.ui.film.trial import Preview
from app.ui.layouts import described
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.frame_painter import as_image
from app.ui.viewport.text_painting import draw_pill, smooth_painter
from utils.translation.texts import tr

SIZE = QSize(52 * SPACE, 29 * SPACE)  # about 16:9


class PreviewPicture(QWidget):
    """Shows a painted frame, or the softened frame with a badge until it is painted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        described(self, tr("Preview"), tr("A frame of the film, painted as it will be exported"))
        self.setFixedSize(SIZE)
        self._picture, self._badge = QPixmap(), ""
        self.clear()

    @property
    def painted(self) -> bool:
        """Whether the painted frame is shown."""
        return not self._picture.isNull() and not self._badge

    def clear(self) -> None:
        """Show an empty picture with the badge until there is a frame."""
        self._picture = QPixmap()
        self._say(tr("Painting this frame..."))

    def wait(self) -> None:
        """Show the badge on the picture, since another frame or version is being painted."""
        self._say(tr("Painting this frame..."))

    def show_preview(self, preview: Preview) -> None:
        self._picture = QPixmap.fromImage(as_image(preview.pixels))
        self._say("" if preview.painted else tr("Painting this frame..."))

    def show_failure(self) -> None:
        self._say(tr("This frame cannot be painted"))

    def _say(self, badge: str) -> None:
        self._badge = badge
        self.setAccessibleDescription(badge or tr("The frame is painted"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), RADIUS, RADIUS)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Dark))
        if not self._picture.isNull():
            size = self._picture.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect(self.rect().topLeft(), size)
            place.moveCenter(self.rect().center())
            painter.drawPixmap(place, self._picture)
        if self._badge:
            corner = self.rect().topLeft()
            corner += type(corner)(SPACE, SPACE)
            draw_pill(painter, corner, self._badge, widest=self.width() - 2 * SPACE)
