"""The foot of the dialog: what is chosen, the kinds of files, and the buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.ui.layouts import fill
from app.ui.picker.entries import Entry
from app.ui.picker.facts import bytes_text
from app.ui.picker.thumbnails import FolderThumbnails
from app.ui.theme.tokens import SPACE
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from utils.translation.joints import enumerated
from utils.translation.texts import tr, trn

Kind = tuple[str, tuple[str, ...]]  # title in the chosen language, and extensions; ("",) for all


class Foot(QWidget):
    """Shows one line of text, the list of kinds, Cancel and the button that takes the choice.

    Attributes:
        offered: The kinds of files in the list.

    Args:
        new_folder: Shown first where a folder is chosen; None where files are.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        take: Callable[[], object],
        cancel: Callable[[], object],
        new_folder: QWidget | None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.offered = kinds
        self.details = QLabel(self)
        self.details.setTextFormat(Qt.TextFormat.PlainText)
        self.details.setWordWrap(True)
        self.kinds = OptionBox(tr("Kinds of files"), tr("Which kinds of files are shown"), self)
        self.kinds.setSizeAdjustPolicy(OptionBox.SizeAdjustPolicy.AdjustToContents)
        self.kinds.set_options(Choice(row, title) for row, (title, _) in enumerate(kinds))
        self.kinds.show_choice(0)
        self.kinds.setVisible(len(kinds) > 1)
        self.cancel = make_button(tr("&Cancel"), tr("Choose nothing (Esc)"), cancel)
        words = tr("&Open"), tr("Open the choice (Enter)")
        if new_folder is not None:
            words = tr("&Use this folder"), tr("Use the folder that is named here (Enter)")
        self.open = make_button(*words, take)
        self.open.setProperty("role", "primary")
        self.open.setDefault(True)
        first = () if new_folder is None else (new_folder,)
        parts = (self.details, 1), self.kinds, self.cancel, self.open
        fill(QHBoxLayout(self), *first, *parts, margins=(0, 0, 0, 0), spacing=SPACE)

    @property
    def endings(self) -> tuple[str, ...]:
        """The extensions of the chosen kind of files."""
        return self.offered[max(0, self.kinds.currentIndex())][1] if self.offered else ("",)

    def show_words(self, text: str, fault: str = "") -> None:
        """Show a text, or a fault in the color of faults."""
        self.details.setText(fault or text)
        role = QPalette.ColorRole
        self.details.setForegroundRole(role.LinkVisited if fault else role.WindowText)


def words_of(chosen: Sequence[Entry], thumbnails: FolderThumbnails) -> tuple[str, str]:
    """Return the size of the chosen files as text, and why a single one cannot be shown."""
    files = [entry for entry in chosen if not entry.folder]
    size = bytes_text(sum(entry.size for entry in files))
    if len(files) > 1:
        return enumerated((trn("{n} file", "{n} files", len(files)), size)), ""
    if not files:
        return "", ""
    known = thumbnails.known(files[0])
    if known is None:
        return size, ""
    return enumerated((known.contents, size)), known.fault
