"""The panel of all controls that change the picture, bound to the session's config."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.live.session import Session
from app.parameters import AUTO, PARAMETERS, Group
from app.ui.panel.brushwork import BrushworkRow
from app.ui.panel.detail import DetailSlider
from app.ui.panel.mixing import MixControls
from app.ui.panel.sources import SourceRows
from app.ui.panel.stroke_width import TIP as WIDTH_TIP
from app.ui.panel.stroke_width import StrokeWidthSlider, changes_for
from app.ui.speed.bar import SpeedBar
from app.ui.speed.controller import SpeedController
from app.ui.speed.engine_controls import EngineControls
from app.ui.widgets.form_layout import FormLayout, align_labels
from app.ui.widgets.parameter_controls import (
    AmountControl,
    CheckControl,
    Control,
    DirectionControl,
    FractionControl,
    HandlesControl,
    control_of,
)
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.widgets.toolbar import tool_button
from models.families.table import FAMILIES
from utils.text import capitalized
from utils.translation.texts import tr

WIDTH = 300  # px, for the default font
WIDE = 40  # letters; a label, a slider and its value fit in any font


class ControlPanel(QScrollArea):
    """Writes session.config and follows config_changed.

    `mix_picked(key)` carries the style to mix in or, in a mix of three or more, to take out; None
    stops mixing. The action `advanced` is checked while the panel should show the advanced
    settings.
    """

    mix_picked = Signal(object)

    def __init__(self, session: Session, advanced: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._unfold = advanced
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.speed_control = SpeedController(session, self.speed, self)
        self.engine.fast_found.connect(self.speed_control.set_fast_precision)
        self.show_config(session.config)
        self.engine.query_devices()

    # Building

    def _make_widgets(self) -> None:
        self.sources = SourceRows(self)
        self.speed = SpeedBar()
        self.advanced_button = tool_button(self._unfold, self)
        self.advanced_button.setText(tr("Advanced"))
        self.advanced_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._unfold.toggled.connect(self._show_arrow)
        self._show_arrow(self._unfold.isChecked())
        self.stroke_width = StrokeWidthSlider()
        self.controls: dict[str, Control | StrokeWidthSlider] = {
            name: self.stroke_width if name == "strokes" else control_of(row)
            for name, row in PARAMETERS.items()
            if row.group is not Group.PERSON and name != "keep_strokes"
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
        self.engine = EngineControls(self._session, self)
        self.others = {"size": self.detail, **self.engine.boxes}  # not in the table
        self.network_remark = RemarkLabel()

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        form = FormLayout(content)
        form.add(tr("S&ource"), self.sources.list)
        form.add_below(self.sources.address_row, whole=True)
        form.add_below(self.speed, whole=True)
        self.advanced = QWidget()
        inner = FormLayout(self.advanced)
        inner.setContentsMargins(0, 0, 0, 0)
        for group in (each for each in Group if each is not Group.PERSON):
            if group is Group.ENGINE:
                form.add(tr("Dev&ice"), self.engine.device)
                form.add_below(self.engine.device_remark, whole=True)
                form.add_below(self.advanced_button, whole=True)
                self._add_group(inner, group)
            else:
                form.add_heading(tr(group))
                self._add_group(form, group)
        self.mixing.add_wheel(form)
        self._brushwork_row.add_button(form)
        QWidget.setTabOrder(self.brushwork.angle, self.remove_handles)
        inner.add(tr("&Precision"), self.engine.precision)
        inner.add_below(self.engine.precision_remark, whole=True)
        inner.add(tr("En&gine"), self.engine.kernels)
        inner.add_below(self.engine.kernels_remark, whole=True)
        form.add_below(self.advanced, whole=True)
        self.advanced.hide()
        align_labels(form, inner)
        form.add_stretch_row()
        self.setWidget(content)
        letters = self.fontMetrics().averageCharWidth()
        self.setFixedWidth(max(WIDTH, WIDE * letters))

    def _add_group(self, rows: FormLayout, group: Group) -> None:
        """Add the controls of a group; its check boxes come last."""
        found = {
            name: each for name, each in self.controls.items() if PARAMETERS[name].group is group
        }
        if group is Group.STROKES:
            found["strokes"] = found.pop("strokes")  # below brushwork and length
        for name in sorted(found, key=lambda n: isinstance(found[n], CheckControl)):
            if name == "mix_amount":
                rows.add(tr("Mi&x with"), self.mix)
            found[name].add_to(rows)
            if name == "strokes":
                self.detail.add_to(rows)
            if name == "network":
                rows.add_below(self.network_remark)

    def _connect(self) -> None:
        session = self._session
        session.config_changed.connect(self.show_config)
        session.styled.connect(self._on_styled)
        session.styles_changed.connect(self._show_styles)
        self.mixing.picked.connect(self.mix_picked)
        self.detail.picked.connect(lambda size: self._choose(size=size))
        self.stroke_width.picked.connect(lambda width: self._choose(**changes_for(width)))
        for name, control in self.controls.items():
            if control is not self.stroke_width:
                control.picked.connect(lambda value, name=name: self._choose(**{name: value}))

    def _show_arrow(self, unfolded: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if unfolded else Qt.ArrowType.RightArrow
        self.advanced_button.setArrowType(arrow)

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
        self.engine.show_config(config)

    def _show_styles(self) -> None:
        self._enable_for_family()
        self.mixing.set_options()

    def _enable_for_family(self) -> None:
        """Disable controls that do not apply to the style's family, with the reason as tooltip."""
        family = self._session.catalog.family_of(self._session.config.style)
        unavailable = FAMILIES[family].unavailable
        tips = {name: PARAMETERS[name].tip for name in self.controls} | {"strokes": WIDTH_TIP}
        for name, control in self.controls.items():
            reason = unavailable.get(name, "")
            for part in control.parts:
                if name != "mix_amount":  # it depends on the mix
                    part.setEnabled(not reason)
                part.setToolTip(capitalized(tr(reason)) or tr(tips[name]))

    def _on_styled(self, styled: StyledFrame) -> None:
        lite = styled.running.lite and styled.config.network == "auto"
        self.network_remark.show_text(tr("Fast version in use") if lite else "")
        if styled.config.texture == AUTO:
            texture = self.controls["texture"]
            assert isinstance(texture, AmountControl)
            texture.show_automatic(styled.texture)
        if styled.config.strokes_length == AUTO and styled.comb is not None:
            length = self.controls["strokes_length"]
            assert isinstance(length, AmountControl)
            length.show_automatic(styled.comb.length)
        self.detail.show_painted(styled)

    # Controls opened by keys

    def reveal(self, control: QWidget) -> None:
        """Scroll to a control and focus it."""
        self._lay_out_now()
        control.setFocus()
        self.ensureWidgetVisible(control)

    def reveal_advanced(self) -> None:
        """Scroll to the advanced settings and focus the first control.

        Do nothing if the pointer is on the button that shows them, which would move away.
        """
        if self.advanced_button.underMouse():
            return
        self._lay_out_now()
        self.ensureWidgetVisible(self.advanced)
        controls = [each for each in self.advanced.findChildren(QWidget) if _is_reached(each)]
        self.reveal(min(controls, key=lambda each: each.mapTo(self.advanced, QPoint()).y()))

    def ask_address(self) -> None:
        """Show the address field, scroll to it and focus it."""
        self.sources.open_address()
        self.reveal(self.sources.address)
        self.sources.address.selectAll()

    def _lay_out_now(self) -> None:
        whole = self.widget()
        assert whole is not None
        for part in (self.advanced, whole):
            layout = part.layout()
            assert layout is not None
            layout.activate()
        whole.resize(whole.width(), whole.sizeHint().height())


def _is_reached(control: QWidget) -> bool:
    """Return whether the Tab key reaches a control."""
    tabs = Qt.FocusPolicy.TabFocus
    return control.isVisible() and control.isEnabled() and control.focusPolicy() & tabs == tabs
