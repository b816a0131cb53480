"""A question asked in a bar, so that nothing blocks the stream."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QWidget

from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import button, row_of, sentence


class PromptBar(QFrame):
    """Asks one thing at a time; a newer question replaces an unanswered one. `field` is what
    the user may type along with the answer, and gets the focus."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("offer")
        self.setAccessibleName("Question")
        self._answered: Callable[[str], None] | None = None
        self._question = sentence(self)
        self._label = QLabel(self)
        self.field = QLineEdit(self)
        self.field.setMaximumWidth(360)
        self._label.setBuddy(self.field)
        self.accept = button("", "Answer yes (Enter)", self._accept)
        self.accept.setProperty("role", "primary")
        self.cancel = button("Cance&l", "Answer no (Esc)", self.dismiss)
        for answer in (self.accept, self.cancel):
            answer.setAutoDefault(True)  # outside of dialogs, Qt's buttons ignore Enter otherwise
        self.field.returnPressed.connect(self._accept)
        row = row_of(self)
        row.addWidget(self._question, 1)
        for widget in (self._label, self.field, self.accept, self.cancel):
            row.addWidget(widget)
        self.hide()

    def ask(
        self,
        question: str,
        yes: str,
        answered: Callable[[str], None],
        *,
        label: str = "",
        text: str = "",
        no: str = "Cance&l",
    ) -> None:
        """`answered` is called with the field's text if the user says `yes`. Without a `label`
        there is no field."""
        self._answered = answered
        self._question.setText(breakable(question))
        self.setAccessibleDescription(question)
        self._label.setText(label)
        name = label.replace("&", "").rstrip(":")
        self.field.setAccessibleName(name)
        self.field.setToolTip(name)
        self.field.setText(text)
        self._label.setVisible(bool(label))
        self.field.setVisible(bool(label))
        self.accept.setText(yes)
        self.accept.setAccessibleName(yes.replace("&", ""))
        self.cancel.setText(no)
        self.cancel.setAccessibleName(no.replace("&", ""))
        self.show()
        first = self.field if label else self.accept
        first.setFocus()
        self.field.selectAll()

    def dismiss(self) -> None:
        """No answer is an answer: nothing happens."""
        self._answered = None
        self.hide()

    def _accept(self) -> None:
        answered, text = self._answered, self.field.text().strip()
        self.dismiss()
        if answered is not None:
            answered(text)
