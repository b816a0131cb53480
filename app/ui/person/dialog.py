"""The choice of person or background, and the brush, in a small window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.options import Option
from app.parameters import PARAMETERS, Group
from app.ui.person.brush_row import BrushRow
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.parameter_controls import ListControl, control_of
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import tr

WIDTH = 460  # pixels


class PersonDialog(ModelessDialog):
    """A modeless dialog whose choices take effect at once.

    Signals:
        picked: The name of a parameter, and its new value.
        step_out: Learn the empty scene.
        file_wanted: Choose a network or a picture of the empty scene.
        forget: Use none of them any more.
    """

    picked = Signal(str, object)
    step_out = Signal()
    file_wanted = Signal()
    forget = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: person and background"), parent)
        rows = {name: row for name, row in PARAMETERS.items() if row.group is Group.PERSON}
        self.controls = {name: control_of(row) for name, row in rows.items()}
        for name, control in self.controls.items():
            control.picked.connect(lambda value, name=name: self.picked.emit(name, value))
        self.state = RemarkLabel()
        self.state.setAccessibleName(tr("How people are found"))
        self.learn = make_button(
            tr("&Step out..."),
            tr("Learn the empty scene while you are out of the picture (Shift+Z)"),
            self.step_out.emit,
        )
        self.choose = make_button(
            tr("&Open a file..."),
            tr("A picture of the empty scene, or a network (ONNX) that finds people"),
            self.file_wanted.emit,
        )
        self.drop = make_button(
            tr("&Forget"), tr("Use no scene, network or mask any more"), self.forget.emit
        )
        self.brush = BrushRow(self)
        self.brush.clear.setAutoDefault(False)
        self._lay_out()
        WindowGeometry(self)

    def show_config(self, config: EngineConfig, parts: dict[str, Option], state: str) -> None:
        """Show a config without emitting signals.

        Args:
            parts: What each value of `paint` does.
            state: How people are found, as a sentence.
        """
        paint = self.controls["paint"]
        assert isinstance(paint, ListControl)
        paint.show_options(parts)
        for name, control in self.controls.items():
            control.show_value(getattr(config, name))
        self.state.show_text(state)
        self.drop.setEnabled(bool(config.matte))

    def _lay_out(self) -> None:
        content = QWidget()
        form = FormLayout(content)
        for control in self.controls.values():
            control.add_to(form)
        self.brush.add_to(form)
        form.add_below(self.state, whole=True)
        form.add_stretch_row()
        buttons = self.learn, self.choose, self.drop, self.close_button(tr("&Close"))
        for button in buttons:
            button.setAutoDefault(False)
        lay_out_dialog(self, content, *buttons)
        self.setMinimumWidth(WIDTH)
