"""The model of the queue's list, which preserves selection and order across changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QByteArray,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.ui.queue.rows import Row
from app.ui.queue.thumbnails import Thumbnails

ROW = Qt.ItemDataRole.UserRole
JOBS = "application/x-styleforge-jobs"  # numbers of dragged jobs
_Index = QModelIndex | QPersistentModelIndex


class RowModel(QAbstractListModel):
    """The rows of the queue.

    `moved(numbers, before)` follows a drop; `before` is the number of the job to run next after
    them, or None for the end.
    """

    moved = Signal(object, object)

    def __init__(self, thumbnails: Thumbnails, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thumbnails = thumbnails
        self._rows: list[Row] = []
        thumbnails.loaded.connect(self._show_thumbnail)

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; remaining rows keep their selection."""
        self._remove({row.number for row in rows})
        self._sort([row.number for row in rows])
        self._insert(rows)
        for at, row in enumerate(rows):
            self._replace(at, row)

    def replace(self, row: Row) -> None:
        """Update a row, if it exists."""
        at = self.row_of(row.number)
        if at >= 0:
            self._replace(at, row)

    def row_of(self, number: int) -> int:
        """Return the row index of a job, or -1."""
        return next((at for at, row in enumerate(self._rows) if row.number == number), -1)

    def _replace(self, at: int, row: Row) -> None:
        if self._rows[at] != row:
            self._rows[at] = row
            self.dataChanged.emit(self.index(at), self.index(at))

    def _remove(self, kept: set[int]) -> None:
        at = len(self._rows)
        while at:
            end = at
            while at and self._rows[at - 1].number not in kept:
                at -= 1
            if at < end:
                self.beginRemoveRows(QModelIndex(), at, end - 1)
                del self._rows[at:end]
                self.endRemoveRows()
            while at and self._rows[at - 1].number in kept:
                at -= 1

    def _sort(self, numbers: Sequence[int]) -> None:
        """Sort the existing rows in the order of `numbers`, which contains all of them."""
        places = {number: place for place, number in enumerate(numbers)}
        ordered = sorted(self._rows, key=lambda row: places[row.number])
        if ordered == self._rows:
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        held = [self._rows[index.row()].number for index in before]
        self._rows = ordered
        at = {row.number: place for place, row in enumerate(ordered)}
        self.changePersistentIndexList(before, [self.index(at[number]) for number in held])
        self.layoutChanged.emit()

    def _insert(self, rows: Sequence[Row]) -> None:
        at = 0
        while at < len(rows):
            if at < len(self._rows) and self._rows[at].number == rows[at].number:
                at += 1
                continue
            following = self._rows[at].number if at < len(self._rows) else None
            end = at
            while end < len(rows) and rows[end].number != following:
                end += 1
            self.beginInsertRows(QModelIndex(), at, end - 1)
            self._rows[at:at] = rows[at:end]
            self.endInsertRows()
            at = end

    def _show_thumbnail(self, number: int) -> None:
        at = self.row_of(number)
        if at >= 0:
            decoration = [Qt.ItemDataRole.DecorationRole]
            self.dataChanged.emit(self.index(at), self.index(at), decoration)

    # Overrides of Qt's model interface

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  (Qt's signature)
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.spoken
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join(filter(None, (row.source, row.result, row.reason)))
        if role == Qt.ItemDataRole.DecorationRole:
            return self._thumbnails.get(row.number, row.pictured)
        return row if role == ROW else None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled
        flag = Qt.ItemFlag
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsDragEnabled

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        """Return the type of job numbers only, since the page accepts dropped files."""
        return [JOBS]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        rows = sorted({index.row() for index in indexes})
        words = ",".join(str(self._rows[row].number) for row in rows)
        data = QMimeData()
        data.setData(JOBS, QByteArray(words.encode()))
        return data

    def dropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: _Index
    ) -> bool:
        """Request to move the dropped rows, which stay in place until the move is done."""
        words = bytes(data.data(JOBS).data()).decode()
        numbers = [int(word) for word in words.split(",") if word.isdecimal()]
        if not numbers:
            return False
        at = row if row >= 0 else (parent.row() if parent.isValid() else len(self._rows))
        moved = set(numbers)
        behind = (each.number for each in self._rows[at:] if each.number not in moved)
        self.moved.emit(numbers, next(behind, None))
        return True
