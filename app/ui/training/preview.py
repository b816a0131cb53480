"""The preview of the style during training."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import draw_pill, scaled
from utils.translation.texts import tr


class Preview(QWidget):
    """Shows one picture as large as possible, with a caption."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self._caption = ""
        self.setAccessibleName(tr("Preview"))
        self.setToolTip(tr("The style at the last checkpoint, on your own picture"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def image(self) -> QImage:
        return self._image

    def show_image(self, image: QImage, caption: str) -> None:
        """Show the picture; for a null image, show only the caption, centered."""
        self._image, self._caption = image, caption
        self.setAccessibleDescription(caption)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(260, 180)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        outline = QPainterPath()
        area = QRectF(self.rect())
        outline.addRoundedRect(area, RADIUS, RADIUS)
        painter.fillPath(outline, self.palette().dark())
        if self._image.isNull():
            painter.setPen(self.palette().placeholderText().color())
            wrap = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            inner = area.adjusted(6 * SPACE, SPACE, -6 * SPACE, -SPACE)
            painter.drawText(inner, wrap, self._caption)
            return
        painter.setClipPath(outline)
        image = self._image
        scale = min(area.width() / image.width(), area.height() / image.height())
        place = QRectF(0, 0, image.width() * scale, image.height() * scale)
        place.moveCenter(area.center())
        painter.drawImage(place, image)
        if self._caption:
            painter.setFont(scaled(self.font(), 0.92))
            corner = QPoint(round(place.left()) + SPACE, round(place.top()) + SPACE)
            draw_pill(painter, corner, self._caption, widest=round(place.width()) - 2 * SPACE)
