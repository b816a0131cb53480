"""The shown entries of a folder, as a list model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QWidget

from app.ui.picker.entries import Entry
from app.ui.picker.thumbnails import FolderThumbnails
from utils.text import printable
from utils.translation.joints import enumerated
from utils.translation.texts import tr

ENTRY = Qt.ItemDataRole.UserRole
_Index = QModelIndex | QPersistentModelIndex


class EntryModel(QAbstractListModel):
    """The entries in order; painting a row requests its thumbnail.

    Args:
        folders_only: Whether files are shown but cannot be selected.
    """

    def __init__(
        self, thumbnails: FolderThumbnails, parent: QWidget, *, folders_only: bool
    ) -> None:
        super().__init__(parent)
        self._thumbnails, self._folders_only = thumbnails, folders_only
        self._entries: Sequence[Entry] = ()
        self._rows: dict[Path, int] = {}
        thumbnails.made.connect(self._on_made)

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    def show_entries(self, entries: Sequence[Entry]) -> None:
        self.beginResetModel()
        self._entries = entries
        self._rows = {entry.path: row for row, entry in enumerate(entries)}
        self.endResetModel()

    def row_of(self, path: Path) -> int | None:
        return self._rows.get(path)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._entries)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        usual = super().flags(index)
        if self._folders_only and index.isValid() and not self._entries[index.row()].folder:
            return usual & ~Qt.ItemFlag.ItemIsSelectable & ~Qt.ItemFlag.ItemIsEnabled
        return usual

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self._entries[index.row()]
        if role == ENTRY:
            return entry
        if role == Qt.ItemDataRole.DecorationRole:
            return self._thumbnails.get(entry)
        if role == Qt.ItemDataRole.DisplayRole:
            return printable(entry.path.name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(printable(entry.path.name), self._fault(entry))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            kind = tr("folder") if entry.folder else self._contents(entry)
            return enumerated((printable(entry.path.name), kind, self._fault(entry)))
        return None

    def _fault(self, entry: Entry) -> str:
        known = self._thumbnails.known(entry)
        return known.fault if known is not None else ""

    def _contents(self, entry: Entry) -> str:
        known = self._thumbnails.known(entry)
        return known.contents if known is not None else ""

    def _on_made(self, path: Path) -> None:
        if (row := self._rows.get(path)) is not None:
            index = self.index(row)
            self.dataChanged.emit(index, index, [Qt.ItemDataRole.DecorationRole])


def plain_tip(*lines: str) -> str:
    """Return a tooltip of these lines that shows tags in a file name instead of obeying them."""
    shown = "\n".join(filter(None, lines))
    return shown if "<" not in shown else f"<p>{escape(shown).replace(chr(10), '<br>')}</p>"
