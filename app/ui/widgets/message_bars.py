"""Bars for problems and notices; they never block the stream."""

from __future__ import annotations

import logging
from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.errors import Problem
from app.ui.layouts import Part, described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

log = logging.getLogger(__name__)

NOTICE_MS = 8000
Button = tuple[str, str, Callable[[], object]]  # label, tooltip, click handler
MAX_SUMMARY = 400  # displayed characters of a problem; "Copy details" copies all


class ProblemBar(QFrame):
    """Shows the oldest problem not yet dismissed; hidden without problems.

    A problem already in the queue is not added again. `report_requested` is emitted when the user
    wants a report on a problem; every problem is logged.
    """

    report_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[Problem] = []
        self.setObjectName("problem")
        self.setAccessibleName(tr("Problem"))
        self._text = message_label(self)
        self._count = QLabel(self)
        self._copy = make_button(
            tr("Copy &details"), tr("Copy the whole message for a bug report"), self.copy_details
        )
        self._report = make_button(
            tr("Copy a &report"),
            tr("Copy a report for a help request: machine, settings and last messages"),
            self.report_requested.emit,
        )
        self._dismiss = make_button(tr("Dis&miss"), tr("Close this message (Esc)"), self.dismiss)
        buttons = (self._count, self._copy, self._report, self._dismiss)
        self._buttons = fill(QHBoxLayout(), None, *buttons, spacing=SPACE)
        self._row = bar_layout(self, self._text, self._buttons)
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Move the buttons below the text if they would take more than half of the bar."""
        wide = 2 * self._buttons.sizeHint().width() < event.size().width()
        direction = QHBoxLayout.Direction
        self._row.setDirection(direction.LeftToRight if wide else direction.TopToBottom)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems not yet dismissed, oldest first."""
        return tuple(self._problems)

    def add(self, problem: Problem) -> None:
        if problem not in self._problems:
            self._problems.append(problem)
            log.info("problem: %s\n%s", problem.summary, problem.details)
            self._refresh()

    def dismiss(self) -> None:
        """Remove the shown problem, and show the next one."""
        if self._problems:
            self._problems.pop(0)
            self._refresh()

    def copy_details(self) -> None:
        if self._problems:
            problem = self._problems[0]
            told = problem.summary, problem.advice, problem.details
            text = "\n\n".join(filter(None, told)).rstrip() + "\n"
            QGuiApplication.clipboard().setText(text)

    def _refresh(self) -> None:
        if self._problems:
            summary = self._problems[0].summary
            shown = summary if len(summary) <= MAX_SUMMARY else f"{summary[:MAX_SUMMARY]}..."
            advice = self._problems[0].advice
            self._text.setText(breakable(f"{shown}\n{advice}".rstrip()))
            self.setAccessibleDescription(f"{summary} {advice}".rstrip())
            count = len(self._problems)
            self._count.setText(tr("1 of {count}", count=count))
            self._count.setVisible(count > 1)
        self.setVisible(bool(self._problems))


class NoticeBar(QFrame):
    """Shows one sentence that is not a problem.

    A notice disappears after NOTICE_MS, or later while the pointer or focus is in it. An offer
    stays until accepted or dismissed, and a state of the source until it changes.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName(tr("Notice"))
        self._notice = self._state = ""
        self._button: Button | None = None  # of the notice
        self._offer = ""
        self._offered: Button = "", "", self.dismiss
        self._text = message_label(self)
        self.offer_button = make_button(
            tr("&Use it"), tr("Run the suggested action"), self._accept_offer
        )
        close = make_button(tr("&OK"), tr("Close this message (Esc)"), self.dismiss)
        bar_layout(self, self._text, self.offer_button, close)
        self._timer = QTimer(self, interval=NOTICE_MS, singleShot=True)
        self._timer.timeout.connect(self._on_time_up)
        self.hide()

    @property
    def text(self) -> str:
        return self._notice or self._offer or self._state

    def show_notice(self, text: str, button: Button | None = None) -> None:
        """Show `text` for NOTICE_MS, with an optional button; screen readers read it out."""
        self._notice, self._button = text, button
        self._timer.start()
        self._refresh()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def show_offer(self, text: str, words: str, tip: str, taken: Callable[[], object]) -> None:
        self._offer, self._offered = text, (words, tip, taken)
        self._refresh()

    def show_state(self, text: str) -> None:
        """Show `text` until the next call; "" hides it."""
        self._state = text
        self._refresh()

    def show_only(self, text: str) -> None:
        """Show the state `text`, without a notice or offer that would cover it."""
        self._notice = self._offer = ""
        self.show_state(text)

    def dismiss(self) -> None:
        if self._notice:
            self._notice = ""
        elif self._offer:
            self._offer = ""
        else:
            self._state = ""
        self._refresh()

    def _on_time_up(self) -> None:
        focused = self.window().focusWidget()
        if self.underMouse() or (focused is not None and self.isAncestorOf(focused)):
            self._timer.start()
        elif self._notice:
            self.dismiss()

    def _accept_offer(self) -> None:
        _, _, taken = self._button if self._notice and self._button else self._offered
        self.dismiss()
        taken()

    def _refresh(self) -> None:
        self._text.setText(breakable(self.text))
        button = self._button if self._notice else self._offered if self._offer else None
        if button is not None:
            words, tip, _ = button
            self.offer_button.setText(words)
            described(self.offer_button, without_mnemonic(words), tip)
        self.offer_button.setVisible(button is not None)
        self.setAccessibleDescription(self.text)
        self.setVisible(bool(self.text))


def bar_layout(frame: QFrame, text: QLabel, *parts: Part) -> QHBoxLayout:
    """Lay out a bar: its text, which takes the space that is left, and the parts beside it."""
    margins = (2 * SPACE, SPACE, SPACE, SPACE)
    return fill(QHBoxLayout(frame), (text, 1), *parts, margins=margins, spacing=SPACE)


def make_button(text: str, tip: str, clicked: Callable[[], object]) -> QPushButton:
    """Return a button with mnemonic, tooltip and accessible name."""
    made = described(QPushButton(text), without_mnemonic(text), tip)
    made.clicked.connect(lambda: clicked())
    return made


def message_label(parent: QWidget) -> QLabel:
    """Return the label of a bar: wrapped plain text, to be set with `breakable`."""
    label = QLabel(parent)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return label
