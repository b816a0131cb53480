"""A question on a card in the middle of the picture, which does not block the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleEvent, QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QCompleter,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import make_button, message_label
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

SETTLE_MS = 600  # after a question came unasked; a click that was meant for the picture has passed
_SHADE = QColor(0, 0, 0, 128)
_ALT = Qt.KeyboardModifier.AltModifier
_CONTROL = Qt.KeyboardModifier.ControlModifier


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """The arguments of `ask`."""

    text: str
    yes: str
    answered: Callable[[str], object]
    label: str
    field: str
    no: str
    on_no: Callable[[], object]
    other: str
    on_other: Callable[[], object]
    choices: Sequence[str]
    unasked: bool
    modal: bool


def _nothing() -> None:
    """Do nothing, as an answer without a consequence."""


class QuestionCard(QFrame):
    """Asks one question at a time.

    A new question replaces an unanswered one of the user's commands. One that came unasked waits
    until no other is shown, takes no focus, and ignores clicks for SETTLE_MS.

    `field` is an optional text input, which gets the focus.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question")
        self.setAccessibleName(tr("Question"))
        self._asked: _Question | None = None
        self._waiting: list[_Question] = []
        self._shade = _Shade(self)
        self._settling = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._question = message_label(self)
        self._label = QLabel(self)
        self.field = QLineEdit(self)
        self._label.setBuddy(self.field)
        self.accept = make_button("", tr("Answer yes (Enter)"), self._accept)
        self.accept.setProperty("role", "primary")
        self.other = make_button(tr("Other"), tr("Do this instead"), self._choose_other)
        self.cancel = make_button(tr("Cance&l"), tr("Answer no (Esc)"), self._refuse)
        answers = self.accept, self.other, self.cancel
        for answer in answers:
            answer.setAutoDefault(True)  # outside dialogs, Qt's buttons ignore Enter by default
            answer.installEventFilter(self)
        self.field.returnPressed.connect(self._accept)
        fill(
            QVBoxLayout(self),
            self._question,
            fill(QHBoxLayout(), self._label, (self.field, 1), spacing=SPACE),
            fill(QHBoxLayout(), *answers, None, spacing=SPACE),
            margins=(3 * SPACE, 3 * SPACE, 3 * SPACE, 5 * SPACE // 2),
            spacing=2 * SPACE,
        )
        self.hide()

    def ask(
        self,
        question: str,
        yes: str,
        answered: Callable[[str], object],
        *,
        label: str = "",
        text: str = "",
        no: str = "",
        on_no: Callable[[], object] = _nothing,
        other: str = "",
        on_other: Callable[[], object] = _nothing,
        choices: Sequence[str] = (),
        unasked: bool = False,
        modal: bool = False,
    ) -> None:
        """Ask a question.

        Args:
            yes: Label of the accept button.
            answered: Called with the text of the field if the user accepts.
            label: Label of the field; "" for no field.
            no: Label of the button that refuses; "" for "Cancel".
            on_no: Called when that button is clicked, but not on Escape, which postpones.
            other: Label of a third button; "" for none.
            on_other: Called when the third button is clicked.
            choices: Completions of the field.
            unasked: Whether no command of the user led to the question.
            modal: Whether the window behind waits for the answer.
        """
        asked = _Question(
            text=question,
            yes=yes,
            answered=answered,
            label=label,
            field=text,
            no=no,
            on_no=on_no,
            other=other,
            on_other=on_other,
            choices=choices,
            unasked=unasked,
            modal=modal,
        )
        if self._asked is not None and unasked:
            self._waiting.append(asked)
            return
        if self._asked is not None and self._asked.unasked:
            self._waiting.insert(0, self._asked)
        self._show(asked)

    def dismiss(self) -> None:
        """End the question without an answer, and show the next one."""
        self._asked = None
        if self._waiting:
            self._show(self._waiting.pop(0))
        else:
            self._shade.cover(None)
            self.hide()

    def clear(self) -> None:
        """End all questions without an answer."""
        self._waiting.clear()
        self.dismiss()

    def _show(self, asked: _Question) -> None:
        self._asked = asked
        self._question.setText(breakable(asked.text))
        self.setAccessibleDescription(asked.text)
        self._label.setText(asked.label)
        name = without_mnemonic(asked.label).rstrip(":\uff1a")
        described(self.field, name, name)
        self.field.setCompleter(QCompleter(asked.choices, self.field))
        self.field.setText(asked.field)
        for part in (self._label, self.field):
            part.setVisible(bool(asked.label))
        no = asked.no or tr("Cance&l")
        answers = (self.accept, asked.yes), (self.other, asked.other), (self.cancel, no)
        for button, words in answers:
            if words:
                button.setText(words)
                button.setAccessibleName(without_mnemonic(words))
        postponed = asked.on_no is not _nothing
        self.cancel.setToolTip(
            tr("Answer no; Esc asks again later") if postponed else tr("Answer no (Esc)")
        )
        self.other.setVisible(bool(asked.other))
        self._shade.cover(self.parentWidget() if asked.modal else None)
        self.show()
        self.raise_()
        if asked.unasked:
            self._settling.start()
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))
            return
        self._settling.stop()
        (self.field if asked.label else self.accept).setFocus()
        self.field.selectAll()

    # Answers

    def _accept(self) -> None:
        asked, text = self._asked, self.field.text().strip()
        if asked is not None:
            self.dismiss()
            asked.answered(text)

    def _choose_other(self) -> None:
        if (asked := self._asked) is not None:
            self.dismiss()
            asked.on_other()

    def _refuse(self) -> None:
        if (asked := self._asked) is not None:
            self.dismiss()
            asked.on_no()

    # Clicks and keys

    @property
    def settling(self) -> bool:
        """Whether the question came so recently that clicks were not meant for it."""
        return self._settling.isActive()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)
        return pressed and self.settling

    def event(self, event: QEvent) -> bool:
        """Keep letters from the window's shortcuts while the question is modal."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._asked is not None
            and self._asked.modal
            and not event.modifiers() & (_ALT | _CONTROL)
            and event.key() != Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Keep the Tab key among the answers while the question is modal."""
        if self._asked is None or not self._asked.modal:
            return super().focusNextPrevChild(next)
        parts = (self.field, self.accept, self.other, self.cancel)
        shown = [each for each in parts if not each.isHidden()]
        at = [number for number, each in enumerate(shown) if each.hasFocus()]
        to = (at[0] + (1 if next else -1)) % len(shown) if at else 0
        shown[to].setFocus(Qt.FocusReason.TabFocusReason)
        return True


class _Shade(QWidget):
    """Darkens and covers what is behind a modal question; clicks on it have no effect."""

    def __init__(self, card: QWidget) -> None:
        super().__init__(card.parentWidget())
        self._over: QWidget | None = None
        self.hide()

    def cover(self, over: QWidget | None) -> None:
        """Cover a widget; None covers nothing."""
        if self._over is not None:
            self._over.removeEventFilter(self)
        self._over = over
        if over is None:
            self.hide()
            return
        over.installEventFilter(self)
        self.setParent(over)
        self.setGeometry(over.rect())
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self._over is not None:
            self.setGeometry(self._over.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(event.rect(), _SHADE)
