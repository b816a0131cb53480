"""Two cards for the fine and the fast version of a style, with estimates of time and size."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.film.options import FAST, FINE
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from utils.translation.joints import clauses
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import mark, tr

_TITLES = {
    FINE: (mark("&Fine"), mark("The full version of the style, with more detail")),
    FAST: (mark("F&ast"), mark("The fast version of the style: a little coarser")),
}


class VersionCard(QPushButton):
    """A card with a title and two lines; the chosen one has a colored frame."""

    def __init__(self, title: str, tip: str) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.setCheckable(True)
        self.setAutoDefault(False)
        self._name = without_mnemonic(title)
        described(self, self._name, tip)
        heading, self._first, self._second = QLabel(title), QLabel(), QLabel()
        heading.setProperty("role", "cardTitle")
        heading.setBuddy(self)
        for label in (self._first, self._second):
            label.setProperty("role", "muted")
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        labels = heading, self._first, self._second
        for label in labels:
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        margins = (3 * SPACE // 2, SPACE, 3 * SPACE // 2, SPACE)
        fill(QVBoxLayout(self), *labels, None, margins=margins, spacing=0)
        self.show_lines("", "")

    @property
    def lines(self) -> tuple[str, str]:
        """The two lines, "" where there is none."""
        return self._first.text().strip(), self._second.text().strip()

    def show_lines(self, first: str, second: str) -> None:
        """Show two lines; an empty one keeps its place."""
        self._first.setText(first or "\N{NO-BREAK SPACE}")
        self._second.setText(second or "\N{NO-BREAK SPACE}")
        self.setAccessibleDescription(clauses([each for each in (first, second) if each]))

    def sizeHint(self) -> QSize:
        layout = self.layout()
        assert layout is not None
        return layout.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class VersionCards(QWidget):
    """The choice between the versions; `picked` is emitted for the user's choice only."""

    picked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cards = {key: VersionCard(*map(tr, words)) for key, words in _TITLES.items()}
        self._group = QButtonGroup(self)
        for card in self.cards.values():
            self._group.addButton(card)
        self._group.buttonClicked.connect(lambda _: self.picked.emit())
        parts = ((card, 1) for card in self.cards.values())
        fill(QHBoxLayout(self), *parts, margins=(0, 0, 0, 0), spacing=SPACE)
        self.show_choice(FINE)

    @property
    def network(self) -> str:
        return next(key for key, card in self.cards.items() if card.isChecked())

    def show_choice(self, network: str) -> None:
        """Choose a version; the fine one in place of a fast one that does not exist."""
        card = self.cards[network]
        (card if card.isEnabled() else self.cards[FINE]).setChecked(True)

    def show_fast_exists(self, exists: bool) -> None:
        """Let the fast version be chosen only if the style has one."""
        card = self.cards[FAST]
        if not exists:
            self.cards[FINE].setChecked(True)
            card.show_lines(tr("This style has no fast version"), "")
        card.setEnabled(exists)
