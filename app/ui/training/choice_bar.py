"""A question with several answers, in a bar; nothing waits for it but what it asks about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import button, sentence


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` has a mnemonic; the first answer of a question is the one meant by Enter."""

    text: str
    tip: str
    given: Callable[[], object]


class ChoiceBar(QFrame):
    """Hidden while nothing is asked; a newer question replaces an unanswered one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("offer")
        self.setAccessibleName("Question")
        self._question = sentence(self)
        self._buttons: list[QPushButton] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * SPACE, SPACE, SPACE, SPACE)
        column.setSpacing(SPACE)
        column.addWidget(self._question)
        self._row = QHBoxLayout()
        self._row.setSpacing(SPACE)
        self._row.addStretch(1)
        column.addLayout(self._row)
        self.topic = ""
        self.hide()

    @property
    def question(self) -> str:
        """What is asked; empty while hidden."""
        return self.accessibleDescription() if self.topic else ""

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        return tuple(self._buttons)

    def ask(self, topic: str, question: str, *answers: Answer) -> None:
        """Ask; `topic` says what about, for `withdraw`."""
        self._clear()
        self.topic = topic
        self._question.setText(breakable(question))
        self.setAccessibleDescription(question)
        for number, answer in enumerate(answers):
            made = button(answer.text, answer.tip, lambda given=answer.given: self._give(given))
            if number == 0:
                made.setProperty("role", "primary")
            self._buttons.append(made)
            self._row.addWidget(made)
        self.show()
        self._buttons[0].setFocus()

    def withdraw(self, topic: str = "") -> None:
        """Stop asking, about anything or about `topic` alone."""
        if not topic or topic == self.topic:
            self._clear()
            self.hide()

    def _give(self, given: Callable[[], object]) -> None:
        self.withdraw()
        given()

    def _clear(self) -> None:
        self.topic = ""
        for made in self._buttons:
            self._row.removeWidget(made)
            made.hide()
            made.deleteLater()
        self._buttons.clear()
