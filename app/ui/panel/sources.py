"""The list of sources, and the field for the address of a network camera."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.ui.layouts import described, fill
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from utils.translation.texts import tr


class SourceRows(QObject):
    """Two rows of the panel; the address is hidden until it is asked for.

    Signals:
        picked: One of the values from `set_choices`.
        entered: The typed address.
        left: The address field is hidden while it is focused.
    """

    picked = Signal(object)
    entered = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.list = OptionBox(
            tr("Source"), tr("The source: a camera, a file, a folder or the scene")
        )
        self.list.setPlaceholderText(tr("Nothing is open"))
        self.address = described(
            QLineEdit(),
            tr("Network address"),
            tr("The address of a network camera; it begins with http:// or rtsp://"),
        )
        self.address.setPlaceholderText(tr("http://... or rtsp://..."))
        self.connect_button = make_button(
            tr("Co&nnect"), tr("Open this address (Enter)"), self._enter
        )
        self.address_row = QWidget()
        row = QHBoxLayout(self.address_row)
        fill(row, (self.address, 1), self.connect_button, margins=(0, 0, 0, 0))
        self.address_row.hide()
        self.list.picked.connect(self.picked)
        self.address.returnPressed.connect(self._enter)

    def set_choices(self, choices: list[Choice], current: object) -> None:
        """Set the options of the source list and the open one."""
        self.list.set_options(choices)
        self.list.show_choice(current)

    def open_address(self) -> None:
        """Show the address field."""
        self.address_row.show()

    def focus_failed_address(self) -> None:
        """Focus the failed address, unless the focus has moved elsewhere."""
        if self._in_address_row:
            self.address.setFocus()

    def close_address(self, *, in_use: bool = True) -> None:
        """Hide the address field; if `in_use` is False, only if it is not focused."""
        inside = self._in_address_row
        if in_use or not inside:
            self.address_row.hide()
            if inside:
                self.left.emit()

    @property
    def _in_address_row(self) -> bool:
        focused = self.address_row.window().focusWidget()
        return focused is not None and self.address_row.isAncestorOf(focused)

    def _enter(self) -> None:
        if text := self.address.text().strip():
            self.entered.emit(text)
