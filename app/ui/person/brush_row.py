"""The controls of the brush in the window of person and background."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.ui.layouts import fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.brushing import LARGEST, SMALLEST
from app.ui.widgets.form_layout import FormLayout, NoWheelSlider
from app.ui.widgets.message_bars import make_button
from utils.translation.texts import mark, tr

BRUSH = mark("Paint only where you drag over the picture (Shift+E)")
ERASER = mark("Drag over what not to paint; the right mouse button does so too")
SIZE = mark("Size of the brush; comma and period change it over the picture")
CLEAR = mark("Paint nothing until the next stroke")
NO_MASK = mark("There is no mask yet: drag the brush over the picture first")


class BrushRow(QObject):
    """Buttons for brush, eraser and an empty mask, and a slider for the brush's size.

    Signals:
        wanted: Whether to erase, and whether to turn the tool on.
        resized: The radius, in shares of the picture's long side.
        cleared: Empty the mask.
    """

    wanted = Signal(bool, bool)
    resized = Signal(float)
    cleared = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.brush, self.eraser = (
            self._tool(tr("&Brush"), erases=False),
            self._tool(tr("E&raser"), erases=True),
        )
        self.clear = make_button(tr("Clear &mask"), tr(CLEAR), self.cleared.emit)
        self.size = NoWheelSlider(tr("Brush size"), tr(SIZE))
        self.size.setRange(round(200 * SMALLEST), round(200 * LARGEST))
        self.percent = QLabel()
        self.size.valueChanged.connect(self._resize)

    def add_to(self, form: FormLayout) -> None:
        """Add the controls below the others; the diameter is shown in percent."""
        buttons = QWidget()
        row = self.brush, self.eraser, self.clear, None
        fill(QHBoxLayout(buttons), *row, margins=(0, 0, 0, 0), spacing=SPACE)
        form.add_below(buttons)
        form.add(tr("Brush si&ze"), self.size, self.percent)

    def show_tool(self, *, on: bool, erases: bool, radius: float) -> None:
        """Show which tool is on, and its size, without emitting signals."""
        self.brush.setChecked(on and not erases)
        self.eraser.setChecked(on and erases)
        self.size.show_fraction(2 * radius)
        self._show_percent()

    def show_available(self, refusal: str, *, masked: bool) -> None:
        """Disable what is of no use, with the reason in its tooltip.

        Args:
            refusal: Why the tools cannot be used, as a sentence; "" if they can.
            masked: Whether there is a mask to clear.
        """
        unmasked = "" if masked else tr(NO_MASK)
        for button, tip, reason in (
            (self.brush, BRUSH, refusal),
            (self.eraser, ERASER, refusal),
            (self.clear, CLEAR, refusal or unmasked),
        ):
            button.setEnabled(not reason)
            button.setToolTip(reason or tr(tip))

    def _tool(self, text: str, *, erases: bool) -> QPushButton:
        def use() -> None:
            self.wanted.emit(erases, made.isChecked())

        made = make_button(text, tr(ERASER if erases else BRUSH), use)
        made.setCheckable(True)
        made.setProperty("role", "tool")
        made.setAutoDefault(False)
        return made

    def _resize(self, diameter: int) -> None:
        self._show_percent()
        self.resized.emit(diameter / 200)

    def _show_percent(self) -> None:
        self.percent.setText(f"{self.size.value()} %")
