"""A bar for what went wrong: one problem at a time, never in the way of the stream."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.errors import Problem
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable

NOTICE_MS = 8000
SUMMARY = 400  # letters shown of a problem; "Copy details" has all of them


class ProblemBar(QFrame):
    """Shows the oldest problem not yet dismissed; hidden while there is none. A problem that
    is already waiting is not queued twice."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[Problem] = []
        self.setObjectName("problem")
        self.setAccessibleName("Problem")
        self._text = sentence(self)
        self._count = QLabel(self)
        self._copy = button(
            "Copy &details", "Copy the whole message for a bug report", self.copy_details
        )
        self._dismiss = button("Dis&miss", "Close this message (Esc)", self.dismiss)
        row = row_of(self)
        row.addWidget(self._text, 1)
        for widget in (self._count, self._copy, self._dismiss):
            row.addWidget(widget)
        self.hide()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those not yet dismissed, oldest first."""
        return tuple(self._problems)

    def add(self, problem: Problem) -> None:
        if problem not in self._problems:
            self._problems.append(problem)
            self._refresh()

    def dismiss(self) -> None:
        """Drop the problem shown, and show the next one."""
        if self._problems:
            self._problems.pop(0)
            self._refresh()

    def copy_details(self) -> None:
        """Put the problem shown, details and all, on the clipboard."""
        if self._problems:
            problem = self._problems[0]
            text = f"{problem.summary}\n\n{problem.details}".rstrip() + "\n"
            QGuiApplication.clipboard().setText(text)

    def _refresh(self) -> None:
        if self._problems:
            summary = self._problems[0].summary
            shown = summary if len(summary) <= SUMMARY else f"{summary[:SUMMARY]}..."
            self._text.setText(breakable(shown))
            self.setAccessibleDescription(self._problems[0].summary)
            count = len(self._problems)
            self._count.setText(f"1 of {count}")
            self._count.setVisible(count > 1)
        self.setVisible(bool(self._problems))


class NoticeBar(QFrame):
    """One sentence that is no problem: a notice, which goes by itself after NOTICE_MS, an offer,
    which stays until it is taken or dismissed, or a state of the source, which stays until it is
    cleared."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setAccessibleName("Notice")
        self._notice = self._state = ""
        self._offer = ""
        self._taken: Callable[[], object] = self.dismiss
        self._text = sentence(self)
        self.take = button("&Use it", "Do what is offered", self._take)
        row = row_of(self)
        row.addWidget(self._text, 1)
        row.addWidget(self.take)
        row.addWidget(button("&OK", "Close this message (Esc)", self.dismiss))
        self._timer = QTimer(self, interval=NOTICE_MS, singleShot=True)
        self._timer.timeout.connect(self.dismiss)
        self.hide()

    @property
    def text(self) -> str:
        """What it says; empty while hidden."""
        return self._notice or self._offer or self._state

    def show_notice(self, text: str) -> None:
        self._notice = text
        self._timer.start()
        self._refresh()

    def offer(self, text: str, words: str, tip: str, taken: Callable[[], object]) -> None:
        """Say `text` beside a button of these `words` and this `tip`, which calls `taken`."""
        self._offer, self._taken = text, taken
        self.take.setText(words)
        self.take.setAccessibleName(words.replace("&", ""))
        self.take.setToolTip(tip)
        self._refresh()

    def show_state(self, text: str) -> None:
        """Say `text` until the next call; "" when all is well again."""
        self._state = text
        self._refresh()

    def dismiss(self) -> None:
        if self._notice:
            self._notice = ""
        elif self._offer:
            self._offer = ""
        else:
            self._state = ""
        self._refresh()

    def _take(self) -> None:
        self._offer = ""
        self._refresh()
        self._taken()

    def _refresh(self) -> None:
        self._text.setText(breakable(self.text))
        self.take.setVisible(bool(self._offer) and not self._notice)
        self.setAccessibleDescription(self.text)
        self.setVisible(bool(self.text))


def row_of(frame: QFrame) -> QHBoxLayout:
    """The layout every bar has."""
    row = QHBoxLayout(frame)
    row.setContentsMargins(2 * SPACE, SPACE, SPACE, SPACE)
    row.setSpacing(SPACE)
    return row


def button(text: str, tip: str, clicked: Callable[[], object]) -> QPushButton:
    """A button with a mnemonic, a tooltip and an accessible name."""
    made = QPushButton(text)
    made.setToolTip(tip)
    made.setAccessibleName(text.replace("&", ""))
    made.clicked.connect(lambda: clicked())
    return made


def sentence(parent: QWidget) -> QLabel:
    """The text of a bar: wrapped, never taken for HTML; give it `breakable` words."""
    label = QLabel(parent)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return label
