"""A card with a modeless question and several answers, in the middle of the studio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import make_button, message_label
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's label with mnemonic, tooltip and callback; a question's first is the default."""

    text: str
    tip: str
    on_chosen: Callable[[], object]


class ChoiceCard(QFrame):
    """Asks one question at a time; a new question replaces an unanswered one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("question")
        self.setAccessibleName(tr("Question"))
        self._question = message_label(self)
        self._buttons: list[QPushButton] = []
        self._row = fill(QHBoxLayout(), None, spacing=SPACE)
        margins = (3 * SPACE, 3 * SPACE, 3 * SPACE, 5 * SPACE // 2)
        fill(QVBoxLayout(self), self._question, self._row, margins=margins, spacing=2 * SPACE)
        self.topic = ""
        self.hide()

    @property
    def question(self) -> str:
        return self.accessibleDescription() if self.topic else ""

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        return tuple(self._buttons)

    def ask(self, topic: str, question: str, *answers: Answer) -> None:
        """Ask a question; `topic` identifies it for `withdraw`."""
        self._clear()
        self.topic = topic
        self._question.setText(breakable(question))
        self.setAccessibleDescription(question)
        for number, answer in enumerate(answers):
            made = make_button(
                answer.text, answer.tip, lambda given=answer.on_chosen: self._choose(given)
            )
            if number == 0:
                made.setProperty("role", "primary")
            self._buttons.append(made)
            self._row.insertWidget(number, made)
        self.show()
        self.raise_()
        self._buttons[0].setFocus()

    def withdraw(self, topic: str = "") -> None:
        """Hide the question if it is about `topic`, or any question."""
        if not topic or topic == self.topic:
            self._clear()
            self.hide()

    def _choose(self, given: Callable[[], object]) -> None:
        self.withdraw()
        given()

    def _clear(self) -> None:
        self.topic = ""
        for made in self._buttons:
            self._row.removeWidget(made)
            made.hide()
            made.deleteLater()
        self._buttons.clear()
