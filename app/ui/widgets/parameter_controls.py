"""Controls for the parameter table: slider, check box or drop-down list."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QWidget

from app.options import DEFAULT_ANGLE, ONE_WAY, STROKE_DIRECTIONS, Option
from app.parameters import (
    AUTO,
    AmountParameter,
    ChoiceParameter,
    DirectionParameter,
    FractionParameter,
    HandlesParameter,
    Parameter,
    SwitchParameter,
)
from app.ui.widgets.end_stop import AUTOMATIC, EndStopSlider, StopSlider
from app.ui.widgets.form_layout import FormLayout, NoWheelSlider
from app.ui.widgets.option_box import Choice, OptionBox
from utils.stroke_directions import HALF_TURN
from utils.text import capitalized
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

END_STOP = 12  # percent between the end stop of an amount and 0 %


class FractionControl(NoWheelSlider):
    """A slider with its value. `picked(fraction)` (0-1) is emitted only for user input."""

    picked = Signal(object)

    def __init__(self, row: FractionParameter) -> None:
        super().__init__(tr(row.title), tr(row.tip))
        self._row = row
        self.percent = QLabel()
        self.valueChanged.connect(lambda value: self.picked.emit(value / 100))

    def show_value(self, value: float) -> None:
        """Show `value` (0-1) without emitting signals."""
        self.show_fraction(value)
        self.percent.setText(f"{self.value()} %" if value else tr(self._row.zero))

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return self, self.percent

    def add_to(self, form: FormLayout) -> None:
        form.add(tr(self._row.label), self, self.percent)


class CheckControl(QCheckBox):
    """A check box for two values. `picked(value)` is emitted only for user input."""

    picked = Signal(object)

    def __init__(self, row: Parameter, title: str, on: object, off: object) -> None:
        super().__init__(tr(row.label))
        self._on = on
        self.setAccessibleName(tr(title))
        self.setToolTip(tr(row.tip))
        self.clicked.connect(lambda checked: self.picked.emit(on if checked else off))

    def show_value(self, value: object) -> None:
        """Check the box if `value` means checked, without emitting signals."""
        self.setChecked(value == self._on)

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return (self,)

    def add_to(self, form: FormLayout) -> None:
        form.add_check(self)


class ListControl(OptionBox):
    """A drop-down list of the row's options."""

    def __init__(self, row: ChoiceParameter) -> None:
        super().__init__(tr(row.title), tr(row.tip))
        self._row = row
        self._options: Mapping[str, Option] = {}
        self.show_options(row.options)

    def show_options(self, options: Mapping[str, Option]) -> None:
        """Show other titles and remarks of the row's keys."""
        if options != self._options:
            self._options = options
            self.set_options(
                Choice(key, tr(each.title), tr(each.remark)) for key, each in options.items()
            )

    def show_value(self, value: str) -> None:
        """Show the option with this key, without emitting signals."""
        self.show_choice(value)

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return (self,)

    def add_to(self, form: FormLayout) -> None:
        form.add(tr(self._row.label), self)


class DirectionControl(OptionBox):
    """A drop-down list of directions, and a slider with the angle of the last option."""

    def __init__(self, row: DirectionParameter) -> None:
        super().__init__(tr(row.title), tr(row.tip))
        self._row = row
        self._angle = DEFAULT_ANGLE
        self.angle = NoWheelSlider(tr(row.angle_title), tr(row.tip))
        self.angle.setRange(0, HALF_TURN - 1)
        self.degrees = QLabel()
        self._set_angle(self._angle)
        self.angle.valueChanged.connect(self._pick_angle)

    def show_value(self, value: float | str) -> None:
        """Show a direction, without emitting signals; the slider works for an angle alone."""
        if not isinstance(value, str):
            self._set_angle(value)
        self.show_choice(value)
        self._enable_angle()

    def changeEvent(self, event: QEvent) -> None:
        """Disable the angle together with the list."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange:
            self._enable_angle()

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return (self,)

    def add_to(self, form: FormLayout) -> None:
        form.add(tr(self._row.label), self)
        form.add(tr(self._row.angle), self.angle, self.degrees)

    def _set_angle(self, angle: float) -> None:
        self._angle = angle
        blocked = self.angle.blockSignals(True)
        self.angle.setValue(round(angle) % HALF_TURN)
        self.angle.blockSignals(blocked)
        self.degrees.setText(f"{angle:.0f}°")
        titled = {AUTO: self._row.automatic} | STROKE_DIRECTIONS
        self.set_options(
            Choice(angle if key == ONE_WAY else key, tr(each.title), tr(each.remark))
            for key, each in titled.items()
        )

    def _enable_angle(self) -> None:
        turned = self.isEnabled() and isinstance(self.currentData(), float)
        for part in (self.angle, self.degrees):
            part.setEnabled(turned)

    def _pick_angle(self, angle: int) -> None:
        self.picked.emit(float(angle))


class HandlesControl(QPushButton):
    """A button that removes the handles, which are set on the picture.

    Signals:
        picked: No handles, an empty tuple, after a click.
    """

    picked = Signal(object)

    def __init__(self, row: HandlesParameter) -> None:
        super().__init__(tr(row.label))
        self.setAccessibleName(without_mnemonic(tr(row.label)))
        self.setToolTip(tr(row.tip))
        self.clicked.connect(lambda: self.picked.emit(()))

    def show_value(self, value: object) -> None:
        """Do nothing: the picture shows the handles."""

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return (self,)

    def add_to(self, form: FormLayout) -> None:
        """Do nothing: the panel puts the button in place of the angle."""


class AmountControl(EndStopSlider):
    """A slider in percent whose end stop lets the style choose the amount.

    Signals:
        picked: A fraction (0-1), or AUTO; only for user input.
    """

    picked = Signal(object)

    def __init__(self, row: AmountParameter) -> None:
        super().__init__(tr(row.title), tr(row.tip), last=100, apart=END_STOP)
        self._row = row
        self._automatic = ""  # what the style chose last
        self.chosen.connect(lambda value: self.picked.emit(AUTO if value is None else value / 100))

    def show_value(self, value: float | str) -> None:
        """Show `value` (0-1, or AUTO) without emitting signals."""
        if isinstance(value, str):
            self.show_stop(None, tr(AUTOMATIC), self._automatic)
        else:
            self.show_stop(round(value * 100), self._text(value))

    def show_automatic(self, amount: float) -> None:
        """Show in the remark on the end stop which amount (0-1) the style chose."""
        now = tr("Auto, {amount} at the moment", amount=self._text(amount))
        if now != self._automatic:
            self._automatic = now
            if self.at_end_stop:
                self.show_value(AUTO)

    @property
    def parts(self) -> tuple[QWidget, ...]:
        return self, self.reading

    def add_to(self, form: FormLayout) -> None:
        form.add(tr(self._row.label), self, self.reading)

    def _text(self, amount: float) -> str:
        return f"{round(100 * amount)} %" if amount else tr(self._row.zero)


Control = (
    FractionControl
    | AmountControl
    | CheckControl
    | ListControl
    | DirectionControl
    | HandlesControl
    | StopSlider
)


def show_available(control: Control, reason: str, tip: str, *, enable: bool = True) -> None:
    """Disable a control for a reason, "" for none, which becomes its tooltip instead of `tip`.

    Args:
        enable: Whether the reason alone decides if the control is enabled.
    """
    for part in control.parts:
        if enable:
            part.setEnabled(not reason)
        part.setToolTip(capitalized(tr(reason)) or tr(tip))


def control_of(row: Parameter) -> Control:
    match row:
        case FractionParameter():
            return FractionControl(row)
        case AmountParameter():
            return AmountControl(row)
        case DirectionParameter():
            return DirectionControl(row)
        case HandlesParameter():
            return HandlesControl(row)
        case SwitchParameter():
            return CheckControl(row, row.title, on=True, off=False)
        case ChoiceParameter(checked=""):
            return ListControl(row)
        case ChoiceParameter():
            (off,) = (key for key in row.options if key != row.checked)
            return CheckControl(row, row.options[row.checked].title, on=row.checked, off=off)
    raise TypeError(f"no control shows a {type(row).__name__}")
