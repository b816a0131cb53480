"""The controls of the table of parameters: slider, check box or drop-down list."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLabel

from app.parameters import (
    AUTO,
    AmountParameter,
    ChoiceParameter,
    FractionParameter,
    Parameter,
    SwitchParameter,
)
from app.ui.widgets.form_layout import FormLayout, NoWheelSlider
from app.ui.widgets.option_box import Choice, OptionBox


class FractionControl(NoWheelSlider):
    """A slider with its value. `picked(fraction)` (0-1) is emitted only for user input."""

    picked = Signal(object)

    def __init__(self, row: FractionParameter) -> None:
        super().__init__(row.title, row.tip)
        self._row = row
        self.percent = QLabel()
        self.valueChanged.connect(lambda value: self.picked.emit(value / 100))

    def show_value(self, value: float) -> None:
        """Show `value` (0-1) without emitting signals."""
        self.show_fraction(value)
        self.percent.setText(f"{self.value()} %" if value else self._row.zero)

    def enable(self, enabled: bool) -> None:
        """Enable or disable the slider and its value."""
        self.setEnabled(enabled)
        self.percent.setEnabled(enabled)

    def add_to(self, form: FormLayout) -> None:
        """Add a row to `form`."""
        form.add(self._row.label, self, self.percent)


class CheckControl(QCheckBox):
    """A check box for two values. `picked(value)` is emitted only for user input."""

    picked = Signal(object)

    def __init__(self, row: Parameter, title: str, on: object, off: object) -> None:
        super().__init__(row.label)
        self._on = on
        self.setAccessibleName(title)
        self.setToolTip(row.tip)
        self.clicked.connect(lambda checked: self.picked.emit(on if checked else off))

    def show_value(self, value: object) -> None:
        """Check the box if `value` is that of the checked state, without emitting signals."""
        self.setChecked(value == self._on)

    def add_to(self, form: FormLayout) -> None:
        """Add a row to `form`."""
        form.add_below(self)


class ListControl(OptionBox):
    """A drop-down list of the row's options."""

    def __init__(self, row: ChoiceParameter) -> None:
        super().__init__(row.title, row.tip)
        self._row = row
        self.set_options(Choice(key, each.title, each.remark) for key, each in row.options.items())

    def show_value(self, value: str) -> None:
        """Show the option with this key, without emitting signals."""
        self.show_choice(value)

    def add_to(self, form: FormLayout) -> None:
        """Add a row to `form`."""
        form.add(self._row.label, self)


class AmountControl(OptionBox):
    """A drop-down list of amounts, and of the automatic one with what it is at the moment."""

    def __init__(self, row: AmountParameter) -> None:
        super().__init__(row.title, row.tip)
        self._row = row
        self._automatic: float | None = None
        self._list(AUTO)

    def show_value(self, value: float | str) -> None:
        """Show `value` (0-1, or AUTO) without emitting signals; one that is not offered is listed
        until another is shown."""
        self._list(value)
        self.show_choice(value)

    def show_automatic(self, amount: float) -> None:
        """Show what the automatic amount is at the moment (0-1)."""
        if amount != self._automatic:
            self._automatic = amount
            self.setItemText(0, self._title(AUTO))

    def _list(self, shown: float | str) -> None:
        others = {0.0, *self._row.offered} | ({float(shown)} if shown != AUTO else set())
        amounts: list[float] = sorted(others)
        self.set_options(Choice(each, self._title(each)) for each in (AUTO, *amounts))

    def _title(self, value: float | str) -> str:
        if value != AUTO:
            return self._named(float(value))
        if self._automatic is None:
            return "Automatic"
        return f"Automatic, {self._named(self._automatic).lower()}"

    def _named(self, amount: float) -> str:
        return f"{round(amount * 100)} %" if amount else self._row.zero

    def add_to(self, form: FormLayout) -> None:
        """Add a row to `form`."""
        form.add(self._row.label, self)


Control = FractionControl | AmountControl | CheckControl | ListControl


def control_of(row: Parameter) -> Control:
    """Return the control for a row of the table."""
    match row:
        case FractionParameter():
            return FractionControl(row)
        case AmountParameter():
            return AmountControl(row)
        case SwitchParameter():
            return CheckControl(row, row.title, on=True, off=False)
        case ChoiceParameter(checked=""):
            return ListControl(row)
        case ChoiceParameter():
            (off,) = (key for key in row.options if key != row.checked)
            return CheckControl(row, row.options[row.checked].title, on=row.checked, off=off)
    raise TypeError(f"no control shows a {type(row).__name__}")
