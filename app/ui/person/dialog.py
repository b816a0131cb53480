"""The choice of person or background, and the brush, in a small window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.config import EngineConfig
from app.options import EVERYTHING, GREEN, Option
from app.parameters import PARAMETERS, Group
from app.ui.layouts import fill
from app.ui.person.brush_row import BrushRow
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.parameter_controls import ListControl, control_of
from app.ui.widgets.roles import show_role
from app.ui.widgets.status_line import StatusLine
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import mark, tr

WIDTH = 460  # pixels
NEEDED = mark(
    "Everything is painted, since nobody can be found yet: step out of the picture once, so that "
    "StyleForge learns the empty scene"
)


class PersonDialog(ModelessDialog):
    """A modeless dialog whose choices take effect at once.

    Signals:
        picked: The name of a parameter, and its new value.
        step_out: Learn the empty scene.
        scene_wanted: Choose a picture of the empty scene.
        network_wanted: Choose a network that finds people.
        forget: Use none of them any more.
    """

    picked = Signal(str, object)
    step_out = Signal()
    scene_wanted = Signal()
    network_wanted = Signal()
    forget = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: person and background"), parent)
        rows = {name: row for name, row in PARAMETERS.items() if row.group is Group.PERSON}
        self.controls = {name: control_of(row) for name, row in rows.items()}
        for name, control in self.controls.items():
            control.picked.connect(lambda value, name=name: self.picked.emit(name, value))
        self.state = StatusLine()
        self.state.setAccessibleName(tr("How people are found"))
        self.learn = make_button(
            tr("&Step out..."),
            tr("Learn the empty scene while you are out of the picture (Shift+Z)"),
            self.step_out.emit,
        )
        self.choose_scene = make_button(
            tr("A p&icture of the empty scene..."),
            tr("Open a picture that the same camera took of the scene without people"),
            self.scene_wanted.emit,
        )
        self.choose_network = make_button(
            tr("A &network that finds people..."),
            tr("Open a network in the format ONNX, which needs no empty scene"),
            self.network_wanted.emit,
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
        needed = not config.matte and (config.paint != EVERYTHING or config.rest == GREEN)
        show_role(self.learn, "primary" if needed else "")
        if not needed:
            self.state.show_text(state)
        elif self.state.text() != tr(NEEDED):  # screen readers read it once
            self.state.show_fault(tr(NEEDED))
        self.make_room()
        self.drop.setEnabled(bool(config.matte))

    def showEvent(self, event: QShowEvent) -> None:
        """Make room again: the theme shapes texts and buttons when they are first shown."""
        super().showEvent(event)
        self.make_room()

    def _lay_out(self) -> None:
        content = QWidget()
        form = FormLayout(content)
        for name, control in self.controls.items():
            control.add_to(form)
            if name == "rest":  # what both choices need stands below them
                form.add_below(self.state, whole=True)
                form.add_below(self._ways(), whole=True)
        self.brush.add_to(form)
        form.add_stretch_row()
        ways = self.learn, self.choose_scene, self.choose_network
        feet = self.drop, self.close_button(tr("&Close"))
        for button in (*ways, *feet):
            button.setAutoDefault(False)
        lay_out_dialog(self, content, *feet)
        self.setMinimumWidth(WIDTH)

    def _ways(self) -> QWidget:
        """Return the ways to find people."""
        ways, margins = QWidget(), (0, SPACE, 0, SPACE)
        row = fill(QHBoxLayout(), self.choose_scene, self.choose_network, None, spacing=SPACE)
        first = fill(QHBoxLayout(), self.learn, None)
        fill(QVBoxLayout(ways), first, row, margins=margins, spacing=SPACE)
        return ways
