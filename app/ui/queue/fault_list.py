"""Lists the files that failed, each with its fault in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QListWidget,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from app.ui.layouts import described, fill
from app.ui.queue.rows import Row, without_folder
from app.ui.theme.tokens import SPACE
from utils.text import printable
from utils.translation.texts import tr, trn

LINES = 4  # visible without scrolling
MOST = 500  # listed; more faults of one kind help nobody, and each costs time to lay out


class FaultList(QFrame):
    """Shows the faults of rows with several pictures; hidden without any."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = QLabel(self)
        self._shown: tuple[tuple[str, str], ...] = ()
        self.list = described(
            QListWidget(self),
            tr("Pictures that failed"),
            tr("Mend these files, then press F5 to try them again"),
        )
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.list.setWordWrap(True)
        # Items begin behind the margin of a focus frame; they should stand below the title.
        frame = self.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin)
        self.list.setViewportMargins(-frame - 1, 0, 0, 0)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.verticalScrollBar().setToolTip(tr("Scroll the pictures that failed"))
        parts = self._title, self.list
        fill(QVBoxLayout(self), *parts, margins=(0, 0, 0, 0), spacing=SPACE // 2)
        self.hide()

    def show_faults(self, rows: Sequence[Row], chosen: Sequence[Row]) -> None:
        """Show the faults of the chosen rows, or of all rows if none of them failed."""
        faults = _faults(chosen) or _faults(rows)
        if faults == self._shown:
            return
        self._shown = faults
        self._title.setText(
            trn(
                "{n} picture could not be painted:",
                "{n} pictures could not be painted:",
                len(faults),
            )
        )
        self.list.clear()
        self.list.addItems([sentence(path, fault) for path, fault in faults[:MOST]])
        for at, (path, fault) in enumerate(faults[:MOST]):
            self.list.item(at).setToolTip(fault or path)
        lines = min(LINES, max(1, len(faults)))
        self.list.setFixedHeight(lines * (self.fontMetrics().height() + SPACE) + SPACE)
        self.setVisible(bool(faults))


def sentence(path: str, fault: str) -> str:
    """Return a fault that names the file without its folder, which the tooltip has."""
    said = without_folder(path, fault)
    name = printable(Path(path).name)
    return said if name in said else f"{name}: {said}"


def _faults(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(fault for row in rows if row.several for fault in row.faults))
