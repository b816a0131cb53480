"""The button that shows which page of the wall is open, and opens the next one."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.layouts import described
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import smooth_painter
from utils.translation.texts import tr

_DOT = 4.0  # px, radius
_MOST = 8  # dots; more pages are counted in digits
_SIDE = 5 * SPACE  # px, of the smallest target


class PageDots(QAbstractButton):
    """Shows a dot for each page, hidden for a single page. A click asks for the next page."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._page, self._count = 0, 1
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.show_page(0, 1)

    def show_page(self, page: int, count: int) -> None:
        """Show page number `page` of `count`, counted from 0."""
        self._page, self._count = page, count
        name = tr("Page {page} of {count}", page=page + 1, count=count)
        described(self, name, tr("Show the next page of styles (Page Down)"))
        self.setVisible(count > 1)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        wide = 2 * SPACE * self._count if self._count <= _MOST else 6 * SPACE
        return QSize(max(_SIDE, wide + SPACE), _SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        colors = self.palette()
        middle = QPointF(self.rect().center())
        if self._count > _MOST:
            painter.setPen(colors.text().color())
            text = f"{self._page + 1} / {self._count}"
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, text)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            first = middle.x() - SPACE * (self._count - 1)
            for page in range(self._count):
                at = page if not self.isRightToLeft() else self._count - 1 - page
                here = page == self._page
                painter.setBrush(colors.text() if here else colors.placeholderText())
                radius = _DOT if here else 0.75 * _DOT
                painter.drawEllipse(QPointF(first + 2 * SPACE * at, middle.y()), radius, radius)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colors.highlight().color(), 2))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), SPACE / 2, SPACE / 2)
