"""The toast: of several cards with messages, the one with the newest message is shown."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QToolButton, QWidget

from app.ui.layouts import described
from app.ui.theme.tokens import SPACE
from utils.translation.texts import tr

_CROSS = 1.25 * SPACE  # px, side of the painted cross


class CloseCross(QToolButton):
    """The button that closes a message."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("cross")
        described(self, tr("Close"), tr("Close this message (Esc)"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(5 * SPACE, 5 * SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.ButtonText), 1.75))
        painter.translate(QPointF(self.width() / 2, self.height() / 2))
        for side in (-1, 1):
            end = QPointF(_CROSS / 2, side * _CROSS / 2)
            painter.drawLine(-end, end)


class ToastCard(QFrame):
    """A card with messages of one kind, the newest in front.

    Signals:
        came: A new message waits to be shown.
        changed: A message has changed or is over.
        closed: The user or its time has ended the shown message.
    """

    came = Signal()
    changed = Signal()
    closed = Signal()

    @property
    def pending(self) -> bool:
        """Whether there is a message to show."""
        raise NotImplementedError

    def present(self) -> None:
        """Show the newest message."""
        raise NotImplementedError

    def conceal(self) -> None:
        """Hide the card; its messages remain."""
        self.hide()

    def drop_passing(self) -> None:
        """Forget the message that a newer one of another card replaces, if it needs no answer."""

    def dismiss(self) -> None:
        """End the shown message."""
        raise NotImplementedError


class Toast(QObject):
    """Shows the newest message of several cards; older ones that need an answer come back.

    While the pointer or the focus is on buttons, newer messages wait until it has left them or has
    pressed one, so that nothing else is pressed by mistake.
    """

    def __init__(self, *cards: ToastCard, parent: QObject) -> None:
        super().__init__(parent)
        self._order = list(cards)  # the card with the newest message is last
        self._shown: ToastCard | None = None
        self._pressed = False
        self._told: tuple[ToastCard | None, str] = None, ""
        for card in cards:
            card.came.connect(lambda card=card: self._on_came(card))
            card.changed.connect(self.update)
            card.closed.connect(lambda card=card: self._on_closed(card))
            card.installEventFilter(self)
            for button in card.findChildren(QAbstractButton):
                button.pressed.connect(self._on_pressed)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    @property
    def shown(self) -> bool:
        return self._shown is not None

    def dismiss(self) -> None:
        """End the shown message."""
        if self._shown is not None:
            self._shown.dismiss()

    def update(self) -> None:
        """Show the newest message, unless the shown one is in use."""
        if not self._held:
            self._show_newest()

    @property
    def _held(self) -> bool:
        card = self._shown
        return card is not None and not self._pressed and in_use(card) and _has_buttons(card)

    def _on_came(self, card: ToastCard) -> None:
        for other in self._order:
            if other is not card:
                other.drop_passing()
        self._order.remove(card)
        self._order.append(card)
        self.update()

    def _on_closed(self, card: ToastCard) -> None:
        if card is self._shown:
            self._show_newest()
        else:
            self.update()

    def _show_newest(self) -> None:
        self._pressed = False
        newest = next((card for card in reversed(self._order) if card.pending), None)
        for card in self._order:
            if card is not newest:
                card.conceal()
        self._shown = newest
        if newest is not None:
            newest.present()
        self._tell()

    def _tell(self) -> None:
        """Have screen readers read a message out when it appears."""
        card = self._shown
        told = card, card.accessibleDescription() if card is not None else ""
        if told != self._told:
            self._told = told
            if card is not None:
                QAccessible.updateAccessibility(QAccessibleEvent(card, QAccessible.Event.Alert))

    def _on_pressed(self) -> None:
        self._pressed = True

    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        card = self._shown
        if card is None or old is None or not card.isAncestorOf(old):
            return
        if new is None or not card.isAncestorOf(new):
            self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._shown:
            if event.type() == QEvent.Type.Enter:
                self._pressed = False
            elif event.type() == QEvent.Type.Leave:
                self.update()
        return False


def in_use(card: QWidget) -> bool:
    """Return whether the pointer or the focus is on a card."""
    focused = card.window().focusWidget()
    return card.underMouse() or (focused is not None and card.isAncestorOf(focused))


def _has_buttons(card: QWidget) -> bool:
    buttons = card.findChildren(QAbstractButton)
    return any(not isinstance(each, CloseCross) and not each.isHidden() for each in buttons)
