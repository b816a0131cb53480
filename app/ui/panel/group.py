"""A group of the panel: a heading, and rows that it folds away."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.ui.layouts import described, fill
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import scaled
from app.ui.widgets.form_layout import FormLayout
from utils.translation.texts import mark, tr

HEAD = 28  # px
ROW = 32  # px
LARGER = 1.12  # the heading's font, of the labels'
TIP = mark("Fold this group or open it")
_CHEVRON = 4  # px


def widest_value() -> str:
    """Return the widest value beside a slider."""
    return tr("{size} px", size=7680)


class GroupHead(QToolButton):
    """The heading, checked while its rows are shown."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setText(title)
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), max(HEAD, self.fontMetrics().height() + SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.setMinimumHeight(self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the title, and a chevron where the pointer, the focus or a fold asks for it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = scaled(self.font(), LARGER)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(self.palette().text().color())
        lead = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect(), self.style().visualAlignment(self.layoutDirection(), lead),
                         self.text())  # fmt: skip
        if self.hasFocus():
            painter.setPen(QPen(self.palette().highlight().color(), 2))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        if not self.isChecked() or self.underMouse() or self.hasFocus():
            painter.setPen(QPen(self.palette().placeholderText().color(), 1.5))
            painter.drawPolyline(self._chevron())

    def _chevron(self) -> QPolygonF:
        """Return an angle at the end of the row that points down, or sideways while folded."""
        end = QRect(self.width() - 2 * SPACE, 0, 2 * SPACE, self.height())
        if self.isRightToLeft():
            end.moveLeft(0)
        x, y, size = end.center().x(), end.center().y(), _CHEVRON
        if self.isChecked():
            points = ((x - size, y - 2), (x, y + 2), (x + size, y - 2))
        else:
            out = -2 if self.isRightToLeft() else 2
            points = ((x - out, y - size), (x + out, y), (x - out, y + size))
        return QPolygonF([QPointF(*point) for point in points])


class PanelGroup(QWidget):
    """Rows of labels and controls in `form`, below a heading.

    Args:
        beside: Shown at the end of the heading's row.
    """

    def __init__(self, title: str, *beside: QWidget) -> None:
        super().__init__()
        self.head = described(GroupHead(title), title, tr(TIP))
        self.body = QWidget()
        self.form = FormLayout(self.body, row=ROW, value=widest_value())
        self.form.setContentsMargins(0, 0, 0, 0)
        head = fill(QHBoxLayout(), (self.head, 1), *beside, margins=(0, 0, 0, 0), spacing=SPACE)
        fill(QVBoxLayout(self), head, self.body, margins=(0, 0, 0, 0), spacing=0)
        self.head.toggled.connect(self.body.setVisible)

    def unfold(self) -> None:
        """Show the rows."""
        self.head.setChecked(True)
