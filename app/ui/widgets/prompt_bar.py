"""A question in a bar, which does not block the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QCompleter, QFrame, QLabel, QLineEdit, QWidget

from app.ui.layouts import described
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.message_bars import bar_layout, make_button, message_label
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr


class PromptBar(QFrame):
    """Asks one question at a time; a new question replaces an unanswered one.

    `field` is an optional text input, which gets the focus.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("offer")
        self.setAccessibleName(tr("Question"))
        self._on_accepted: Callable[[str], None] | None = None
        self._question = message_label(self)
        self._label = QLabel(self)
        self.field = QLineEdit(self)
        self.field.setMaximumWidth(360)
        self._label.setBuddy(self.field)
        self.accept = make_button("", tr("Answer yes (Enter)"), self._accept)
        self.accept.setProperty("role", "primary")
        self.cancel = make_button(tr("Cance&l"), tr("Answer no (Esc)"), self.dismiss)
        self._on_other: Callable[[], object] | None = None
        self.other = make_button(tr("Other"), tr("Do this instead"), self._choose_other)
        for answer in (self.accept, self.other, self.cancel):
            answer.setAutoDefault(True)  # outside dialogs, Qt's buttons ignore Enter by default
        self.field.returnPressed.connect(self._accept)
        answers = (self._label, self.field, self.accept, self.other, self.cancel)
        bar_layout(self, self._question, *answers)
        self.hide()

    def ask(
        self,
        question: str,
        yes: str,
        answered: Callable[[str], None],
        *,
        label: str = "",
        text: str = "",
        no: str = "",
        other: str = "",
        on_other: Callable[[], object] | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        """Ask a question.

        Args:
            yes: Label of the accept button.
            answered: Called with the text of the field if the user accepts.
            label: Label of the field; "" for no field.
            no: Label of the dismiss button; "" for "Cancel".
            other: Label of a third button; "" for none.
            on_other: Called when the third button is clicked.
            choices: Completions of the field.
        """
        self._on_accepted, self._on_other = answered, on_other
        if other:
            self.other.setText(other)
            self.other.setAccessibleName(without_mnemonic(other))
        self.other.setVisible(bool(other))
        self._question.setText(breakable(question))
        self.setAccessibleDescription(question)
        self._label.setText(label)
        name = without_mnemonic(label).rstrip(":\uff1a")
        described(self.field, name, name)
        self.field.setCompleter(QCompleter(choices, self.field))
        self.field.setText(text)
        self._label.setVisible(bool(label))
        self.field.setVisible(bool(label))
        self.accept.setText(yes)
        self.accept.setAccessibleName(without_mnemonic(yes))
        self.cancel.setText(no or tr("Cance&l"))
        self.cancel.setAccessibleName(without_mnemonic(self.cancel.text()))
        self.show()
        first = self.field if label else self.accept
        first.setFocus()
        self.field.selectAll()

    def dismiss(self) -> None:
        """Hide the question without an answer."""
        self._on_accepted = self._on_other = None
        self.hide()

    def _choose_other(self) -> None:
        chosen = self._on_other
        self.dismiss()
        if chosen is not None:
            chosen()

    def _accept(self) -> None:
        answered, text = self._on_accepted, self.field.text().strip()
        self.dismiss()
        if answered is not None:
            answered(text)
