"""Large digits on the picture, for somebody who walks away from the camera."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.viewport.picture_cover import PictureCover
from app.ui.viewport.text_painting import smooth_painter
from utils.translation.texts import tr

HEIGHT = 0.4  # of the picture
FILL, RIM = QColor(255, 255, 255), QColor(12, 13, 15, 190)
RIM_WIDTH = 0.06  # of the digits' height


class Countdown(PictureCover):
    """Covers the picture while it shows a number."""

    def __init__(self, picture: QWidget) -> None:
        super().__init__(picture, tr("Seconds left to step out of the picture"))

    def show_number(self, number: int) -> None:
        """Show a number; hide it at 0."""
        self.set_text(str(number) if number > 0 else "")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        font = painter.font()
        tall = max(24.0, HEIGHT * min(self.width(), self.height()))
        font.setPixelSize(round(tall))
        font.setBold(True)
        digits = QPainterPath()
        digits.addText(0, 0, font, self.text)
        digits.translate(QRectF(self.rect()).center() - digits.boundingRect().center())
        painter.strokePath(digits, QPen(RIM, RIM_WIDTH * tall))
        painter.fillPath(digits, FILL)
