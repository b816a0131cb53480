"""Sliders whose left end, apart from all other values, lets the program choose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from app.ui.widgets.form_layout import FormLayout, NoWheelSlider
from utils.translation.texts import mark, tr

AUTOMATIC = mark("Auto")
_AT_THE_END = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class EndStopSlider(NoWheelSlider):
    """A slider from 0 to `last`, with the end stop `apart` to the left of 0.

    The handle is never between the two: a key or a click that passes 0 goes to the end stop, and a
    drag snaps to the nearer one. A screen reader hears "Auto" as the description of the end stop.

    Signals:
        chosen: The user's value, or None at the end stop.
    """

    chosen = Signal(object)

    def __init__(self, name: str, tip: str, *, last: int, apart: int) -> None:
        super().__init__(name, tip)
        self.setRange(-apart, last)
        self._before = self.value()
        self.reading = QLabel()
        self.reading.setIndent(0)
        self.valueChanged.connect(self._settle)

    @property
    def at_end_stop(self) -> bool:
        return self.value() == self.minimum()

    def show_stop(self, value: int | None, text: str, remark: str = "") -> None:
        """Show a value, or None for the end stop, without emitting signals.

        Args:
            text: Shown beside the slider and read by screen readers.
            remark: The tooltip of the text, also read; "" for none.
        """
        self._place(self.minimum() if value is None else value)
        self._before = self.value()
        role = "automatic" if value is None else "value"
        if self.reading.property("role") != role:
            self.reading.setProperty("role", role)
            place = Qt.AlignmentFlag.AlignCenter if value is None else _AT_THE_END
            self.reading.setAlignment(place)
            self.reading.style().unpolish(self.reading)
            self.reading.style().polish(self.reading)
        self.reading.setText(text)  # after the role, whose padding is part of the label's width
        self.reading.setToolTip(remark)
        self.setAccessibleDescription(remark or text)

    def _place(self, value: int) -> None:
        blocked = self.blockSignals(True)
        self.setValue(value)
        self.blockSignals(blocked)

    def _settle(self, value: int) -> None:
        """Move the handle out of the gap, and report the user's choice."""
        end = self.minimum()
        if end < value < 0:
            to_end = value < end / 2 if self.isSliderDown() else value < self._before
            value = end if to_end else 0
            self._place(value)
        if value != self._before:
            self._before = value
            self.chosen.emit(None if value == end else value)


class Stop(NamedTuple):
    """A value and its title."""

    value: Any
    title: str


class StopSlider(EndStopSlider):
    """A slider over a few stops, with an end stop for the value `automatic`.

    Signals:
        picked: The value of a stop; only for user input.
    """

    picked = Signal(object)

    def __init__(
        self, label: str, name: str, tip: str, stops: Iterable[Stop], automatic: object
    ) -> None:
        self._label = label
        self._stops = list(stops)
        super().__init__(name, tip, last=len(self._stops) - 1, apart=1)
        self._automatic = automatic
        self._remark = ""  # on the end stop
        self.setPageStep(1)
        self.chosen.connect(self._pick)

    @property
    def values(self) -> list[Any]:
        """The values of the slider's positions, from the end stop to the right."""
        return [self._automatic, *(stop.value for stop in self._stops)]

    def show_remark(self, remark: str) -> None:
        """Show in the remark on the end stop what it currently stands for."""
        if remark != self._remark:
            self._remark = remark
            if self.at_end_stop:
                self.show_value(self._automatic)

    def add_stop(self, stop: Stop) -> None:
        """Add a stop, whose place is by its value, without emitting signals."""
        self._stops = sorted([*self._stops, stop])
        blocked = self.blockSignals(True)
        self.setMaximum(len(self._stops) - 1)
        self.blockSignals(blocked)

    def show_value(self, value: object) -> None:
        """Show the stop with this value without emitting signals.

        Raises:
            ValueError: If there is no such stop.
        """
        place = self.values.index(value) - 1
        if place < 0:
            self.show_stop(None, tr(AUTOMATIC), self._remark)
        else:
            self.show_stop(place, self._stops[place].title)

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return self, self.reading

    def add_to(self, form: FormLayout) -> None:
        form.add(self._label, self, self.reading)

    def _pick(self, place: int | None) -> None:
        self.picked.emit(self._automatic if place is None else self._stops[place].value)
