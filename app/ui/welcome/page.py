"""The page with a large card for each kind of source, shown instead of the picture."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.theme.tokens import RADIUS, SPACE
from app.ui.viewport.text_painting import smooth_painter
from utils.translation.texts import mark, tr

HEADLINE = mark("What would you like to paint?")
DROP_TEXT = mark("or drop anything here: photos, films, folders, styles")
CARD_WIDTH = 156  # px, minimum
_ICON = 48


class Card(QPushButton):
    """A large button with the icon, word, tip and key of an action, which it triggers."""

    def __init__(self, action: QAction, line: str) -> None:
        super().__init__()
        self._action = action
        self._icon, self.word, self.line, self.key = (QLabel() for _ in range(4))
        self.word.setText(action.iconText())
        self.line.setText(line)
        self.line.setWordWrap(True)
        self.key.setText(action.shortcut().toString(action.shortcut().SequenceFormat.NativeText))
        for label, role in ((self.word, "title"), (self.line, "muted"), (self.key, "key")):
            label.setProperty("role", role)
        margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        column = fill(QVBoxLayout(self), margins=margins, spacing=SPACE)
        for label in (self._icon, self.word, self.line, self.key):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            centered = Qt.AlignmentFlag.AlignHCenter if label is self.key else Qt.AlignmentFlag(0)
            column.addWidget(label, 1 if label is self.line else 0, centered)
        self.setAccessibleName(action.iconText())
        self.setAccessibleDescription(tr("{line}. Key: {text}", line=line, text=self.key.text()))
        self.setToolTip(action.toolTip())
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumWidth(CARD_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._show_icon)
        self._show_icon()

    def _show_icon(self) -> None:
        self._icon.setPixmap(
            self._action.icon().pixmap(QSize(_ICON, _ICON), self.devicePixelRatioF())
        )

    def sizeHint(self) -> QSize:
        column = self.layout()
        assert column is not None
        width = max(CARD_WIDTH, column.minimumSize().width())
        return QSize(width, column.totalHeightForWidth(max(width, self.width())))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the card with Enter, as with Space."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


class _DropZone(QLabel):
    """A line of text in a dashed frame."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth_painter(self)
        painter.setPen(QPen(self.palette().placeholderText().color(), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)


class WelcomePage(QScrollArea):
    """Covers its parent while shown; drops on it still reach the window."""

    def __init__(self, cards: Sequence[tuple[QAction, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self.cards = [Card(action, line) for action, line in cards]
        self.setObjectName("welcome")
        described(self, tr("Welcome"), "")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.headline, self.drop_zone = QLabel(tr(HEADLINE)), _DropZone(tr(DROP_TEXT))
        self.headline.setProperty("role", "title")
        self.drop_zone.setProperty("role", "muted")
        self.drop_zone.setMinimumHeight(7 * SPACE)
        self.drop_zone.setWordWrap(True)
        for label in (self.headline, self.drop_zone):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        content = QWidget()
        content.setObjectName("welcomeContent")
        self._grid = QGridLayout()
        self._grid.setSpacing(2 * SPACE)
        self._columns = 0
        margins = (3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        parts = (None, self.headline, self._grid, self.drop_zone)
        fill(QVBoxLayout(content), *parts, margins=margins, spacing=2 * SPACE).addStretch(2)
        self.setWidget(content)
        parent.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._parent.rect())
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the cards side by side, or on more rows if the page is narrow."""
        super().resizeEvent(event)
        room = self.viewport().width() - 6 * SPACE
        beside = len(self.cards) * CARD_WIDTH + (len(self.cards) - 1) * 2 * SPACE
        columns = len(self.cards) if room >= beside else max(1, len(self.cards) // 2)
        if room < 2 * CARD_WIDTH + 2 * SPACE:
            columns = 1
        if columns != self._columns:
            self._columns = columns
            for n, card in enumerate(self.cards):
                self._grid.addWidget(card, n // columns, n % columns)

    def show_page(self, on: bool) -> None:
        """Show the page, or the picture below it, and move the focus there."""
        if on == (not self.isHidden()):
            return
        inside = self.isAncestorOf(self.window().focusWidget() or self._parent)
        at_picture = self.window().focusWidget() in (None, self._parent)
        self.setGeometry(self._parent.rect())
        self.setVisible(on)
        self.raise_()
        if on and at_picture:
            self.cards[0].setFocus()
        elif inside and not on:
            self._parent.setFocus()
