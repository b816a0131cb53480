"""A remark on one line, whose rest is in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from app.ui.widgets.remark_label import RemarkLabel


class OneLineRemark(RemarkLabel):
    """Elides its text, so that a remark that comes by itself takes no space from the picture."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(False)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(self.fontMetrics().lineSpacing())

    def show_text(self, text: str) -> None:
        """Show `text`, whose lines are joined; "" for none."""
        super().show_text(text)
        self.setToolTip(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        text = ", ".join(self.text().splitlines())
        painter = QPainter(self)
        painter.setPen(self.palette().windowText().color())
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, self.width())
        lead = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(
            self.rect(), self.style().visualAlignment(self.layoutDirection(), lead), shown
        )
