"""The grid layout of the panel: labels left, controls right, headings above groups."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QGridLayout, QLabel, QWidget

from app.ui.theme.tokens import SPACE
from app.ui.widgets.jump_slider import JumpSlider

_LABEL, _CONTROL, _VALUE = range(3)  # columns


class FormLayout(QGridLayout):
    """Rows of a label, its buddy control, and an optional value on the right.

    Args:
        row: Height of each row in pixels, without gaps; 0 gives each row the height of its control.
        value: The widest text on the right; sliders keep their width whatever it shows.
    """

    def __init__(self, parent: QWidget, *, row: int = 0, value: str = "100 %") -> None:
        super().__init__(parent)
        self._row = row
        self.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        self.setHorizontalSpacing(SPACE)
        self.setVerticalSpacing(0 if row else SPACE // 2)
        self.setColumnStretch(_CONTROL, 1)
        widest = QLabel(value).sizeHint().width()
        self.setColumnMinimumWidth(_VALUE, widest)

    def add_heading(self, text: str) -> None:
        label = QLabel(text)
        label.setProperty("role", "heading")
        label.setContentsMargins(0, 3 * SPACE // 2, 0, 0)
        self.addWidget(label, self.rowCount(), 0, 1, 3)

    def add(self, title: str, control: QWidget, value: QLabel | None = None) -> None:
        """Add a row; a control without a value also spans its column."""
        label = QLabel(title)
        label.setBuddy(control)
        if isinstance(control, QAbstractItemView):  # next to its first row
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            label.setContentsMargins(0, 3 * SPACE // 2, 0, 0)
        row = self.rowCount()
        self.setRowMinimumHeight(row, self._row)
        self.addWidget(label, row, _LABEL)
        self.addWidget(control, row, _CONTROL, 1, 1 if value else 2)
        if value:
            value.setProperty("role", "value")
            align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            value.setAlignment(align)
            value.setIndent(0)
            self.addWidget(value, row, _VALUE, align)

    def add_in_place_of(self, other: QWidget, widget: QWidget) -> QLabel:
        """Add an alternative widget in the row of the control `other`; hide one of the two.

        Returns:
            The label of the row; set its buddy to the visible widget.
        """
        row = next(
            row
            for row in range(self.rowCount())
            if (item := self.itemAtPosition(row, _CONTROL)) and item.widget() is other
        )
        self.addWidget(widget, row, _CONTROL, 1, 2)
        item = self.itemAtPosition(row, _LABEL)
        label = item.widget() if item else None
        assert isinstance(label, QLabel)
        return label

    def set_row_shown(self, control: QWidget, shown: bool) -> None:
        """Reserve the height of a control's row only while it is shown."""
        row, *_ = self.getItemPosition(self.indexOf(control))  # type: ignore[misc]
        self.setRowMinimumHeight(row, self._row if shown else 0)

    def add_below(self, widget: QWidget, *, whole: bool = False) -> None:
        """Add a widget below the last control; with `whole`, across the full width."""
        if whole:
            self.addWidget(widget, self.rowCount(), _LABEL, 1, 3)
        else:
            self.addWidget(widget, self.rowCount(), _CONTROL, 1, 2)

    def add_check(self, box: QWidget) -> None:
        """Add a check box below the controls or, in rows of a height, across the full width."""
        row = self.rowCount()
        self.add_below(box, whole=bool(self._row))
        self.setRowMinimumHeight(row, self._row)

    def add_stretch_row(self) -> None:
        """Leave the remaining space at the bottom."""
        self.setRowStretch(self.rowCount(), 1)


def align_labels(*forms: FormLayout) -> None:
    """Align the labels of forms placed below each other."""
    labels = [
        item.widget()
        for form in forms
        for row in range(form.rowCount())
        if (item := form.itemAtPosition(row, _LABEL))
        and form.itemAtPosition(row, _CONTROL) is not item
    ]
    widest = max(label.sizeHint().width() for label in labels if label is not None)
    for form in forms:
        form.setColumnMinimumWidth(_LABEL, widest)


class NoWheelSlider(JumpSlider):
    """A slider from 0 to 100 % that ignores the mouse wheel, which scrolls the panel."""

    def __init__(self, name: str, tip: str) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setRange(0, 100)
        self.setPageStep(10)
        self.setAccessibleName(name)
        self.setToolTip(tip)

    def show_fraction(self, share: float) -> None:
        """Show `share` (0-1) without emitting signals."""
        blocked = self.blockSignals(True)
        self.setValue(round(share * 100))
        self.blockSignals(blocked)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ignore the wheel, so that the panel scrolls."""
        event.ignore()
