"""Toasts for problems and for notices, offers and states; they never block the stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.errors import Problem
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import bar_layout, make_button, message_label
from app.ui.widgets.toast import CloseCross, ToastCard, in_use
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

log = logging.getLogger(__name__)

NOTICE_MS = 8000
Button = tuple[str, str, Callable[[], object]]  # label, tooltip, click handler
MAX_SUMMARY = 400  # displayed characters of a problem; "Copy details" copies all


class _MessageCard(ToastCard):
    """A card with a text, a few buttons and a cross."""

    def _lay_out(self, text: QLabel, *parts: QWidget) -> None:
        self._text = text
        cross = CloseCross()  # the last of the buttons, also for Tab
        cross.clicked.connect(self.dismiss)
        self._buttons = fill(QHBoxLayout(), None, *parts, cross, spacing=SPACE)
        self._row = bar_layout(self, text, self._buttons)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Move the buttons below the text if they would take more than half of the card."""
        wide = 2 * self._buttons.sizeHint().width() < event.size().width()
        direction = QHBoxLayout.Direction
        self._row.setDirection(direction.LeftToRight if wide else direction.TopToBottom)


class ProblemToast(_MessageCard):
    """Shows the newest problem; older ones come back once it is dismissed.

    A problem with a source has a button to open another one. Only a problem that is the program's
    fault has buttons to copy it and a report. Every problem is logged.

    Signals:
        report_requested: The user wants a report.
        another_requested: The user wants to open another source.
    """

    report_requested = Signal()
    another_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[Problem] = []
        self._shown: Problem | None = None
        self.setObjectName("problem")
        self.setAccessibleName(tr("Problem"))
        self._count = QLabel(self)
        self.copy = make_button(
            tr("Copy &details"), tr("Copy the whole message for a bug report"), self.copy_details
        )
        self.report = make_button(
            tr("Copy a &report"),
            tr("Copy a report for a help request: machine, settings and last messages"),
            self.report_requested.emit,
        )
        self.another = make_button(
            tr("Open &another..."), tr("Choose another picture or video"), self._open_another
        )
        buttons = self.another, self.copy, self.report
        self._lay_out(message_label(self), self._count, *buttons)
        self.hide()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems not yet dismissed, oldest first."""
        return tuple(self._problems)

    @property
    def pending(self) -> bool:
        return bool(self._problems)

    def add(self, problem: Problem) -> None:
        """Add a problem, or bring it to the front if it is there already."""
        if problem in self._problems:
            self._problems.remove(problem)
        else:
            log.info("problem: %s\n%s", problem.summary, problem.details)
        self._problems.append(problem)
        self.came.emit()

    def dismiss(self) -> None:
        """Remove the shown problem, or the newest one while none is shown."""
        if (problem := self._current) is not None:
            self._problems.remove(problem)
            self.closed.emit()

    def copy_details(self) -> None:
        if (problem := self._current) is not None:
            told = problem.summary, problem.advice, problem.details
            text = "\n\n".join(filter(None, told)).rstrip() + "\n"
            QGuiApplication.clipboard().setText(text)

    def _open_another(self) -> None:
        self.dismiss()
        self.another_requested.emit()

    @property
    def _current(self) -> Problem | None:
        newest = self._problems[-1] if self._problems else None
        return self._shown if self._shown in self._problems else newest

    def present(self) -> None:
        problem = self._shown = self._problems[-1]
        summary, advice = problem.summary, problem.advice
        shown = summary if len(summary) <= MAX_SUMMARY else f"{summary[:MAX_SUMMARY]}..."
        self._text.setText(breakable(f"{shown}\n{advice}".rstrip()))
        self.setAccessibleDescription(f"{summary} {advice}".rstrip())
        count = len(self._problems)
        self._count.setText(tr("1 of {count}", count=count))
        self._count.setVisible(count > 1)
        for button in (self.copy, self.report):
            button.setVisible(problem.at_fault)
        self.another.setVisible(problem.of_source and not problem.at_fault)
        self.show()

    def conceal(self) -> None:
        self._shown = None
        self.hide()


class Kind(Enum):
    """How long a message is shown."""

    NOTICE = auto()  # for NOTICE_MS, or until something newer comes
    OFFER = auto()  # until the user answers
    STATE = auto()  # until the state ends, or the user closes it


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message with at most two buttons; closing it calls `declined`."""

    kind: Kind
    text: str
    buttons: Sequence[Button] = ()
    declined: Callable[[], object] = lambda: None


class NoticeToast(_MessageCard):
    """Shows the newest of messages that are no problems.

    A notice disappears after NOTICE_MS, or later while the pointer or focus is on it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName(tr("Notice"))
        self._messages: list[Message] = []  # oldest first
        self._shown: Message | None = None
        self.offer_button = make_button(
            tr("&Use it"), tr("Run the suggested action"), lambda: self._answer(0)
        )
        self.other_button = make_button(tr("Other"), tr("Do this instead"), lambda: self._answer(1))
        self._lay_out(message_label(self), self.offer_button, self.other_button)
        self._timer = QTimer(self, interval=NOTICE_MS, singleShot=True)
        self._timer.timeout.connect(self._on_time_up)
        self.hide()

    @property
    def text(self) -> str:
        """The newest message, or ""."""
        return self._messages[-1].text if self._messages else ""

    @property
    def pending(self) -> bool:
        return bool(self._messages)

    def show_notice(self, text: str, button: Button | None = None) -> None:
        """Show `text` for NOTICE_MS, with an optional button."""
        self._add(Message(Kind.NOTICE, text, () if button is None else (button,)))

    def show_offer(
        self,
        text: str,
        words: str,
        tip: str,
        taken: Callable[[], object],
        *,
        other: Button | None = None,
        declined: Callable[[], object] = lambda: None,
    ) -> None:
        """Show an offer until the user takes it, takes `other`, or declines it by closing it."""
        self._messages = [each for each in self._messages if each.text != text]
        buttons = ((words, tip, taken), *(() if other is None else (other,)))
        self._add(Message(Kind.OFFER, text, buttons, declined))

    def withdraw(self, text: str) -> None:
        """Remove an offer that has been settled elsewhere."""
        self._messages = [each for each in self._messages if each.text != text]
        self.closed.emit()

    def show_state(self, text: str) -> None:
        """Show `text` until the next call; "" hides it."""
        if text and any(each.kind is Kind.STATE and each.text == text for each in self._messages):
            return
        self._messages = [each for each in self._messages if each.kind is not Kind.STATE]
        if text:
            self._add(Message(Kind.STATE, text))
        else:
            self.changed.emit()

    def show_only(self, text: str) -> None:
        """Show the state `text`, without messages that could cover it."""
        self._messages.clear()
        self.show_state(text)

    def dismiss(self) -> None:
        if (message := self._current) is not None:
            self._end(message)
            message.declined()

    def drop_passing(self) -> None:
        self._messages = [each for each in self._messages if each.kind is not Kind.NOTICE]

    def present(self) -> None:
        message = self._messages[-1]
        if message is not self._shown:
            self._shown = message
            self._timer.stop()
            if message.kind is Kind.NOTICE:
                self._timer.start()
        self._text.setText(breakable(message.text))
        for number, button in enumerate((self.offer_button, self.other_button)):
            if number < len(message.buttons):
                words, tip, _ = message.buttons[number]
                button.setText(words)
                described(button, without_mnemonic(words), tip)
            button.setVisible(number < len(message.buttons))
        self.setAccessibleDescription(message.text)
        self.show()

    def conceal(self) -> None:
        self._shown = None
        self._timer.stop()
        self.hide()

    @property
    def _current(self) -> Message | None:
        newest = self._messages[-1] if self._messages else None
        return self._shown if self._shown in self._messages else newest

    def _add(self, message: Message) -> None:
        self.drop_passing()
        self._messages.append(message)
        self.came.emit()

    def _end(self, message: Message) -> None:
        self._messages.remove(message)
        self.closed.emit()

    def _answer(self, number: int) -> None:
        if (message := self._current) is not None and number < len(message.buttons):
            self._end(message)
            message.buttons[number][2]()

    def _on_time_up(self) -> None:
        if in_use(self):
            self._timer.start()
        else:
            self.drop_passing()
            self.closed.emit()
