"""The panel of all controls that change the picture, bound to the session's config."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.live.session import Session
from app.parameters import AUTO, PARAMETERS, Group
from app.ui.layouts import fill
from app.ui.panel.brushwork import BrushworkRow
from app.ui.panel.detail import DetailSlider
from app.ui.panel.group import ROW, PanelGroup, widest_value
from app.ui.panel.mixing import MixControls
from app.ui.panel.sources import SourceRows
from app.ui.panel.stroke_width import TIP as WIDTH_TIP
from app.ui.panel.stroke_width import StrokeWidthSlider, changes_for
from app.ui.speed.bar import SpeedBar
from app.ui.speed.controller import SpeedController
from app.ui.theme.tokens import SPACE
from app.ui.widgets.form_layout import FormLayout, align_labels
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.parameter_controls import (
    AmountControl,
    CheckControl,
    Control,
    DirectionControl,
    FractionControl,
    HandlesControl,
    control_of,
    show_available,
)
from app.ui.widgets.toolbar import tool_button
from models.families.table import FAMILIES
from utils.translation.texts import tr

WIDTH = 300  # px, for the default font
WIDE = 40  # letters; a label, a slider and its value fit in any font
GROUPS = (Group.STYLE, Group.STROKES, Group.COLORS, Group.MOTION)  # with rows of the table


class ControlPanel(QScrollArea):
    """Writes session.config and follows config_changed.

    `mix_picked(key)` carries the style to mix in or, in a mix of three or more, to take out; None
    stops mixing. `folds_changed` tells that a group was folded or opened.

    Args:
        actions: All actions of the window by key. Undo, redo and reset have buttons beside the
            first heading, and another button opens the window of person and background.
    """

    mix_picked = Signal(object)
    folds_changed = Signal()

    def __init__(
        self, session: Session, actions: Mapping[str, QAction], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make_widgets()
        self._make_groups(actions)
        self._lay_out()
        self._connect()
        self.speed_control = SpeedController(session, self.speed, self)
        self.show_config(session.config)

    # Building

    def _make_widgets(self) -> None:
        self.sources = SourceRows(self)
        self.speed = SpeedBar()
        self.stroke_width = StrokeWidthSlider()
        self.controls: dict[str, Control] = {
            name: self.stroke_width if name == "strokes" else control_of(row)
            for name, row in PARAMETERS.items()
            if row.group in GROUPS and name != "keep_strokes"
        }
        brushwork, remove = (self.controls[f"strokes_{part}"] for part in ("direction", "handles"))
        assert isinstance(brushwork, DirectionControl)
        assert isinstance(remove, HandlesControl)
        self.brushwork, self.remove_handles = brushwork, remove
        self._brushwork_row = BrushworkRow(brushwork, remove)
        share = self.controls["mix_amount"]
        assert isinstance(share, FractionControl)
        self.mixing = MixControls(self._session, share, self)
        self.mix, self.wheel = self.mixing.list, self.mixing.wheel
        self.detail = DetailSlider(self._session.config.size)
        self.others = {"size": self.detail}  # not in the table

    def _make_groups(self, actions: Mapping[str, QAction]) -> None:
        self.undo_button, self.redo_button = (
            tool_button(actions[key], self) for key in ("undo", "redo")
        )
        self.reset_button = _button(actions["reset"], tr("Reset"))
        self.reset_button.setProperty("role", "small")
        beside = {Group.STYLE: (self.undo_button, self.redo_button, self.reset_button)}
        self.groups = {each: PanelGroup(tr(each), *beside.get(each, ())) for each in GROUPS}
        for group, part in self.groups.items():
            self._fill(part.form, group)
        self.mixing.add_wheel(self.groups[Group.STYLE].form)
        self._brushwork_row.add_button(self.groups[Group.STROKES].form)
        QWidget.setTabOrder(self.brushwork.angle, self.remove_handles)
        part = self.groups[Group.PERSON] = PanelGroup(tr("Person"))
        self.person_button = _button(actions["person"], actions["person"].text())
        part.form.add_check(self.person_button)

    def _fill(self, form: FormLayout, group: Group) -> None:
        """Add the controls of a group; its check boxes come last."""
        names = [name for name in self.controls if PARAMETERS[name].group is group]
        found = {name: self.controls[name] for name in names}
        if group is Group.STROKES:
            found["strokes"] = found.pop("strokes")  # below brushwork and length
        for name in sorted(found, key=lambda n: isinstance(found[n], CheckControl)):
            if name == "mix_amount":
                form.add(tr("Mi&x with"), self.mix)
            found[name].add_to(form)
            if name == "strokes":
                self.detail.add_to(form)

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        top = QWidget()
        form = FormLayout(top, row=ROW, value=widest_value())
        form.setContentsMargins(0, 0, 0, 0)
        form.add(tr("S&ource"), self.sources.list)
        form.add_below(self.sources.address_row, whole=True)
        align_labels(form, *(group.form for group in self.groups.values()))
        parts = top, self.speed, *self.groups.values(), None
        margins = (2 * SPACE, SPACE, 2 * SPACE, SPACE // 2)
        fill(QVBoxLayout(content), *parts, margins=margins, spacing=SPACE // 2)
        self.setWidget(content)
        self.setFixedWidth(max(WIDTH, WIDE * self.fontMetrics().averageCharWidth()))

    def _connect(self) -> None:
        session = self._session
        session.config_changed.connect(self.show_config)
        session.styled.connect(self._on_styled)
        session.styles_changed.connect(self._show_styles)
        self.mixing.picked.connect(self.mix_picked)
        for group in self.groups.values():
            group.head.toggled.connect(lambda _: self.folds_changed.emit())
        self.detail.picked.connect(lambda size: self._choose(size=size))
        self.stroke_width.picked.connect(lambda width: self._choose(**changes_for(width)))
        for name, control in self.controls.items():
            if control is not self.stroke_width:
                control.picked.connect(lambda value, name=name: self._choose(**{name: value}))

    # From config to controls and back

    def _choose(self, **changes: Any) -> None:
        self._session.config = replace(self._session.config, **changes)

    def show_config(self, config: EngineConfig) -> None:
        """Show `config` without emitting signals."""
        for name, control in self.controls.items():
            if control is not self.stroke_width:
                control.show_value(getattr(config, name))
        self.stroke_width.show_config(config)
        self._brushwork_row.show_config(config)
        self._enable_for_family()
        self.mixing.show_config(config)
        self.detail.show_size(config.size)

    def _show_styles(self) -> None:
        self._enable_for_family()
        self.mixing.set_options()

    def _enable_for_family(self) -> None:
        """Disable controls that do not apply to the style's family, with the reason as tooltip."""
        family = self._session.catalog.family_of(self._session.config.style)
        unavailable = FAMILIES[family].unavailable
        for name, control in self.controls.items():
            tip = WIDTH_TIP if control is self.stroke_width else PARAMETERS[name].tip
            own = name == "mix_amount"  # whether it can be used depends on the mix
            show_available(control, unavailable.get(name, ""), tip, enable=not own)

    def _on_styled(self, styled: StyledFrame) -> None:
        if styled.config.texture == AUTO:
            texture = self.controls["texture"]
            assert isinstance(texture, AmountControl)
            texture.show_automatic(styled.texture)
        if styled.config.strokes_length == AUTO and styled.comb is not None:
            length = self.controls["strokes_length"]
            assert isinstance(length, AmountControl)
            length.show_automatic(styled.comb.length)
        self.detail.show_painted(styled)

    # Folded groups

    @property
    def folded(self) -> list[str]:
        """The names of the folded groups."""
        return [group.name for group, part in self.groups.items() if not part.head.isChecked()]

    def fold(self, names: Collection[str]) -> None:
        """Fold the named groups, and open all others."""
        for group, part in self.groups.items():
            part.head.setChecked(group.name not in names)

    # Controls opened by keys

    def reveal(self, control: QWidget) -> None:
        """Unfold the control's group, scroll to the control and focus it."""
        for group in self.groups.values():
            if group.isAncestorOf(control):
                group.unfold()
        self._lay_out_now()
        control.setFocus()
        self.ensureWidgetVisible(control)

    def ask_address(self) -> None:
        """Show the address field, scroll to it and focus it."""
        self.sources.open_address()
        self.reveal(self.sources.address)
        self.sources.address.selectAll()

    def _lay_out_now(self) -> None:
        whole = self.widget()
        assert whole is not None
        layout = whole.layout()
        assert layout is not None
        layout.activate()
        whole.resize(whole.width(), whole.sizeHint().height())


def _button(action: QAction, text: str) -> QPushButton:
    """Return a button with words of its own that triggers an action."""
    button = make_button(text, action.toolTip(), action.trigger)
    button.setAccessibleName(action.text().rstrip("."))
    return button
