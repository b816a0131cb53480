"""The controls of the table of parameters: a slider, a check box or a drop-down list for a row."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLabel

from app.parameters import ChoiceParameter, FractionParameter, Parameter, SwitchParameter
from app.ui.widgets.form_layout import Form, NoWheelSlider
from app.ui.widgets.option_box import Choice, OptionBox


class FractionControl(NoWheelSlider):
    """A slider with its value beside it. `picked(fraction)` (0-1) is the user's choice alone."""

    picked = Signal(object)

    def __init__(self, row: FractionParameter) -> None:
        super().__init__(row.title, row.tip)
        self._row = row
        self.percent = QLabel()
        self.valueChanged.connect(lambda value: self.picked.emit(value / 100))

    def show_value(self, value: float) -> None:
        """Show `value` (0-1), silently."""
        self.show_share(value)
        self.percent.setText(f"{self.value()} %" if value else self._row.zero)

    def enable(self, enabled: bool) -> None:
        """Whether it can be moved; its value looks like it."""
        self.setEnabled(enabled)
        self.percent.setEnabled(enabled)

    def add_to(self, form: Form) -> None:
        """Take the next place of `form`."""
        form.add(self._row.label, self, self.percent)


class CheckControl(QCheckBox):
    """A check box for the value `on` and the value `off`. `picked(value)` is the user's choice
    alone."""

    picked = Signal(object)

    def __init__(self, row: Parameter, title: str, on: object, off: object) -> None:
        super().__init__(row.label)
        self._on = on
        self.setAccessibleName(title)
        self.setToolTip(row.tip)
        self.clicked.connect(lambda checked: self.picked.emit(on if checked else off))

    def show_value(self, value: object) -> None:
        """Show whether `value` is the one for on, silently."""
        self.setChecked(value == self._on)

    def add_to(self, form: Form) -> None:
        """Take the next place of `form`."""
        form.below(self)


class ListControl(OptionBox):
    """A drop-down list of the row's options."""

    def __init__(self, row: ChoiceParameter) -> None:
        super().__init__(row.title, row.tip)
        self._row = row
        self.offer(Choice(key, each.title, each.remark) for key, each in row.options.items())

    def show_value(self, value: str) -> None:
        """Show the option of this key, silently."""
        self.show_choice(value)

    def add_to(self, form: Form) -> None:
        """Take the next place of `form`."""
        form.add(self._row.label, self)


Control = FractionControl | CheckControl | ListControl


def control_of(row: Parameter) -> Control:
    """The control that a row of the table asks for."""
    match row:
        case FractionParameter():
            return FractionControl(row)
        case SwitchParameter():
            return CheckControl(row, row.title, on=True, off=False)
        case ChoiceParameter(checked=""):
            return ListControl(row)
        case ChoiceParameter():
            (off,) = (key for key in row.options if key != row.checked)
            return CheckControl(row, row.options[row.checked].title, on=row.checked, off=off)
    raise TypeError(f"no control shows a {type(row).__name__}")
