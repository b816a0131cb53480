"""The panel of all controls that change the picture, bound to the session's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QScrollArea, QWidget

from app.engine.config import EngineConfig
from app.engine.engine import SIZES
from app.engine.painting_devices import painting_device, painting_devices
from app.engine.result import StyledFrame
from app.live.session import Session
from app.parameters import AUTO, PARAMETERS, Group
from app.styles.pack import Style
from app.ui.layouts import described, fill
from app.ui.speed.bar import SpeedBar
from app.ui.speed.controller import SpeedController
from app.ui.theme.tokens import SPACE
from app.ui.widgets.form_layout import FormLayout, align_labels
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.mix_wheel import MixWheel, WheelStyle
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.parameter_controls import (
    AmountControl,
    CheckControl,
    DirectionControl,
    HandlesControl,
    control_of,
)
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.widgets.style_list import load_thumbnail
from app.ui.widgets.toolbar import tool_button
from kernels.table.registry import STYLE, KernelStatus, statuses
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import ALL_VARIANTS
from models.webgpu_devices import is_webgpu
from utils.devices import DeviceChoice
from utils.stroke_directions import HAND
from utils.text import capitalized
from utils.translation.joints import enumerated, labeled
from utils.translation.texts import tr

_SEVERAL = object()  # a mix of several styles: the list shows its placeholder
MAX_NAMED_KERNELS = 2  # more missing kernels are listed as a count


class _Limitations(NamedTuple):
    """The limits of a device for one family of networks.

    Attributes:
        remarks: A sentence next to a precision; "" for none.
        refusals: Why a precision is not offered; "" if it is.
        fast: The fastest precision in which the device computes well.
    """

    family: str
    remarks: Mapping[Precision, str]
    refusals: Mapping[Precision, str]
    statuses: tuple[KernelStatus, ...]
    fast: Precision


_UNKNOWN = _Limitations("", {}, {}, (), Precision.fp32)


class ControlPanel(QScrollArea):
    """Writes session.config and follows config_changed.

    `mix_picked(key)` carries the style to mix in or, in a mix of three or more, to take out; None
    stops mixing. `source_picked(value)` carries one of the values from `set_sources`,
    `address_entered(text)` the typed address. The panel emits `address_left` when the address
    field is hidden while focused. The action `advanced` is checked while the panel should show the
    advanced settings.
    """

    source_picked = Signal(object)
    mix_picked = Signal(object)
    address_entered = Signal(str)
    address_left = Signal()

    def __init__(self, session: Session, advanced: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._unfold = advanced
        self._limits = _UNKNOWN
        self._automatic_size = ""  # the current automatic size, "288x208"
        self._listed: tuple[str, ...] = ()  # the mixed styles when the options were listed
        self._pictures: dict[Path, QPixmap] = {}  # thumbnails of the wheel's styles
        self._family = FEED_FORWARD  # of the styles
        self._options_of = ""  # the family whose precisions and kernels are listed
        self._has_runtime = False  # True if the listed precisions belong to a runtime
        self._runtimes: dict[str, str] = {}  # available runtimes, with their devices
        self._runtimes_asked = False
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.speed_control = SpeedController(session, self.speed, self)
        self.show_config(session.config)
        self._query_devices()

    # Building

    def _make_widgets(self) -> None:
        self.source = OptionBox(
            tr("Source"), tr("The source: a camera, a file, a folder or the scene")
        )
        self.source.setPlaceholderText(tr("Nothing is open"))
        self.address = described(
            QLineEdit(),
            tr("Network address"),
            tr("The address of a network camera: http:// (MJPEG) or rtsp://"),
        )
        self.address.setPlaceholderText(tr("http://... or rtsp://..."))
        self.connect_button = make_button(
            tr("Co&nnect"), tr("Open this address (Enter)"), self._enter_address
        )
        self.speed = SpeedBar()
        self.advanced_button = tool_button(self._unfold, self)
        self.advanced_button.setText(tr("Advanced"))
        self.advanced_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._unfold.toggled.connect(self._show_arrow)
        self._show_arrow(self._unfold.isChecked())
        self.controls = {
            name: control_of(row)
            for name, row in PARAMETERS.items()
            if row.group is not Group.PERSON
        }
        brushwork, remove = (self.controls[f"strokes_{part}"] for part in ("direction", "handles"))
        assert isinstance(brushwork, DirectionControl)
        assert isinstance(remove, HandlesControl)
        self.brushwork, self.remove_handles = brushwork, remove
        self.mix = OptionBox(
            tr("Mix with"),
            tr("A second style to mix in (M); you can also Shift-click one in the gallery"),
        )
        self.wheel = MixWheel()
        self.network_size = OptionBox(
            tr("Detail"),
            tr(
                "Width of the painting in pixels: a smaller width is faster, a larger one makes "
                "finer strokes. Automatic keeps their width"
            ),
        )
        self.precision = OptionBox(
            tr("Precision"), tr("Precision of the network: FP16 is faster on most GPUs")
        )
        self.kernels = OptionBox(tr("Engine"), tr("Which implementation of the network runs"))
        self.device = OptionBox(tr("Device"), tr("Where the network runs"))
        self.device.set_options([Choice("auto", tr("Automatic"))])
        self.boxes = {  # of fields that are not in the table of parameters
            "size": self.network_size,
            "precision": self.precision,
            "kernels": self.kernels,
            "device": self.device,
        }
        self.network_remark, self.precision_remark, self.kernels_remark = (
            RemarkLabel() for _ in range(3)
        )
        self.device_remark = RemarkLabel(reserved=False)  # it changes only when the user does
        self._set_size_options()

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        form = FormLayout(content)
        self.address_row = QWidget()
        row = QHBoxLayout(self.address_row)
        fill(row, (self.address, 1), self.connect_button, margins=(0, 0, 0, 0))
        self.address_row.hide()
        form.add(tr("S&ource"), self.source)
        form.add_below(self.address_row, whole=True)
        form.add_below(self.speed, whole=True)
        self.advanced = QWidget()
        inner = FormLayout(self.advanced)
        inner.setContentsMargins(0, 0, 0, 0)
        above = {
            "mix_amount": (tr("Mi&x with"), self.mix),
            "network": (tr("&Detail"), self.network_size),
        }
        for group in (each for each in Group if each is not Group.PERSON):
            rows = inner if group is Group.ADVANCED else form
            if group is Group.ADVANCED:
                form.add(tr("Dev&ice"), self.device)
                form.add_below(self.device_remark, whole=True)
                form.add_below(self.advanced_button, whole=True)
            else:
                form.add_heading(tr(group))
            names = [name for name, row in PARAMETERS.items() if row.group is group]
            for name in sorted(names, key=lambda n: isinstance(self.controls[n], CheckControl)):
                if name in above:
                    rows.add(*above[name])
                self.controls[name].add_to(rows)
                if name == "network":
                    rows.add_below(self.network_remark)
        self._share_label = form.add_in_place_of(self.controls["mix_amount"], self.wheel)
        self._angle_label = form.add_in_place_of(self.brushwork.angle, self.remove_handles)
        QWidget.setTabOrder(self.brushwork.angle, self.remove_handles)
        inner.add(tr("&Precision"), self.precision)
        inner.add_below(self.precision_remark, whole=True)
        inner.add(tr("En&gine"), self.kernels)
        inner.add_below(self.kernels_remark, whole=True)
        form.add_below(self.advanced, whole=True)
        self.advanced.hide()
        align_labels(form, inner)
        form.add_stretch_row()
        self.setWidget(content)
        # Wide enough for "Automatic (1920x1080)" next to its label in any font.
        letters = self.fontMetrics().horizontalAdvance(tr("Style version Automatic (1920x1080)"))
        self.setFixedWidth(max(288, letters + 12 * SPACE))

    def _connect(self) -> None:
        session = self._session
        session.config_changed.connect(self.show_config)
        session.kernels_changed.connect(lambda _: self._query_limitations(session.config.device))
        session.styled.connect(self._on_styled)
        session.styles_changed.connect(self._show_styles)
        self.source.picked.connect(self.source_picked)
        self.address.returnPressed.connect(self._enter_address)
        self.mix.picked.connect(self.mix_picked)
        self.wheel.picked.connect(self._choose_shares)
        for name, control in (self.controls | self.boxes).items():
            control.picked.connect(lambda value, name=name: self._choose(**{name: value}))
        self.kernels.focused.connect(self._query_runtimes)

    def _show_arrow(self, unfolded: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if unfolded else Qt.ArrowType.RightArrow
        self.advanced_button.setArrowType(arrow)

    # From config to controls and back

    def _choose(self, **changes: Any) -> None:
        self._session.config = replace(self._session.config, **changes)

    def show_config(self, config: EngineConfig) -> None:
        """Show `config` without emitting signals."""
        for name, control in self.controls.items():
            control.show_value(getattr(config, name))
        self._show_brushwork(config)
        self._enable_for_family()
        if config.styles != self._listed:
            self._set_mix_options()
        self._show_mix(config)
        self.network_size.show_choice(config.size)
        runtime = FAMILIES[self._family].variant(config.kernels).runtime
        if self._has_runtime != (runtime is not None):
            self._set_precision_options()
        self.precision.show_choice(config.precision)
        self.kernels.show_choice(config.kernels)
        if config.kernels in RUNTIMES:
            self._query_runtimes()
        if self.device.currentData() != config.device:
            self.device.show_choice(config.device)
            self._query_limitations(config.device)
        self._show_remarks()

    def _show_brushwork(self, config: EngineConfig) -> None:
        """Show the button for handles in place of the angle while strokes are combed by hand."""
        by_hand = config.strokes_direction == HAND
        if by_hand and self.brushwork.angle.hasFocus():
            self.brushwork.setFocus()
        for part in (self._angle_label, self.brushwork.angle, self.brushwork.degrees):
            part.setVisible(not by_hand)
        if not by_hand and self.remove_handles.hasFocus():
            self.brushwork.setFocus()
        self.remove_handles.setVisible(by_hand)

    def _choose_shares(self, shares: tuple[float, ...]) -> None:
        config = self._session.config
        self._session.config = config.mixed(tuple(zip(config.styles, shares, strict=True)))

    def _show_styles(self) -> None:
        self._enable_for_family()
        self._set_mix_options()

    def _set_mix_options(self) -> None:
        """List every style that can be mixed with the first."""
        config = self._session.config
        self._listed = config.styles
        others = self._session.catalog.mixable_with(config.style)
        many = len(self._listed) > 2
        full = len(self._listed) == FAMILIES[self._family].most_mixed and many
        self.mix.setPlaceholderText(tr("{n} styles", n=len(self._listed)))
        self.mix.set_options(
            [
                Choice(None, tr("None")),
                *(
                    Choice(
                        style.key,
                        style.title,
                        tr("Part of the mix; choose it to take it out") if many and mixed else "",
                        tr("At most {n} styles can be mixed", n=len(self._listed))
                        if full and not mixed
                        else "",
                    )
                    for style in others
                    for mixed in (style.key in self._listed,)
                ),
            ]
        )
        self._show_mix(config)

    def _show_mix(self, config: EngineConfig) -> None:
        """Show the second style and its share.

        For more styles, or styles of pictures, show the wheel instead.
        """
        parts = config.parts
        second = parts[1][0] if len(parts) == 2 else None
        self.mix.show_choice(_SEVERAL if len(parts) > 2 else second)
        share = self.controls["mix_amount"]
        wheel = len(parts) > (2 if self._family == FEED_FORWARD else 1)
        if not wheel and self.wheel.hasFocus():
            self.mix.setFocus()
        for part in share.parts:
            part.setEnabled(len(parts) > 1)
            part.setVisible(not wheel)
        self.wheel.setVisible(wheel)
        self._share_label.setBuddy(self.wheel if wheel else share)
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignVCenter
        self._share_label.setAlignment(top if wheel else middle)
        if wheel:
            find = self._session.catalog.find
            styles = [self._wheel_style(key, find(key)) for key, _ in parts]
            self.wheel.show_mix(styles, [amount for _, amount in parts])

    def _wheel_style(self, key: str, style: Style | None) -> WheelStyle:
        path = style.thumbnail if style else None
        if path is not None and path not in self._pictures:
            self._pictures[path] = QPixmap()

            def done(picture: QPixmap) -> None:
                self._pictures[path] = picture
                self._show_mix(self._session.config)

            load_thumbnail(self._session.run, path, done)
        picture = self._pictures[path] if path else QPixmap()
        return WheelStyle(style.title if style else key, picture)

    def _enable_for_family(self) -> None:
        """Disable controls that do not apply to the style's family, with the reason as tooltip."""
        style = self._session.catalog.find(self._session.config.style)
        self._family = style.family if style else FEED_FORWARD
        unavailable = FAMILIES[self._family].unavailable
        for name, control in self.controls.items():
            reason = unavailable.get(name, "")
            for part in control.parts:
                if name != "mix_amount":  # it depends on the mix
                    part.setEnabled(not reason)
                part.setToolTip(capitalized(tr(reason)) or tr(PARAMETERS[name].tip))
        if self._family != self._options_of:
            first = not self._options_of  # `_query_devices` queries the limitations then
            self._set_family_options()
            if not first:
                self._query_limitations(self._session.config.device)

    def _set_family_options(self) -> None:
        """List precisions and kernels; disable those that the family does not have."""
        self._options_of = self._family
        self._set_precision_options()
        family, current = FAMILIES[self._family], self._session.config.kernels
        kernels = family.unavailable_options.get("kernels", {})
        self.kernels.set_options(
            Choice(
                key,
                family.variants[key].title if key in family.variants else variant.title,
                self._runtimes.get(key, ""),
                capitalized(tr(kernels.get(key, ""))),
            )
            for key, variant in ALL_VARIANTS.items()
            if key not in RUNTIMES or key in self._runtimes or key == current
        )
        self.kernels.show_choice(current)

    def _set_precision_options(self) -> None:
        """List precisions; disable those that the family or, for our kernels, the device lacks."""
        family, config = FAMILIES[self._family], self._session.config
        self._has_runtime = family.variant(config.kernels).runtime is not None
        absent = family.unavailable_options.get("precision", {})
        known = self._limits.family == self._family and not self._has_runtime
        refusals = self._limits.refusals if known else {}
        self.precision.set_options(
            Choice(
                member,
                member.title,
                capitalized(tr(self._limits.remarks.get(member, ""))),
                capitalized(tr(absent.get(member.name, "") or refusals.get(member, ""))),
            )
            for member in Precision
        )
        self.precision.show_choice(config.precision)

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
        if styled.config.size is not None:
            return
        now = f"{styled.size[0]}x{styled.size[1]}"
        if now != self._automatic_size:
            self._automatic_size = now
            self.network_size.setItemText(0, self._automatic_title())

    def _set_size_options(self) -> None:
        # Also one from the settings file.
        sizes = dict.fromkeys((*SIZES, self._session.config.size))
        self.network_size.set_options(
            Choice(size, tr("{size} px", size=size) if size else self._automatic_title())
            for size in sizes
        )

    def _automatic_title(self) -> str:
        return (
            tr("Automatic ({size})", size=self._automatic_size)
            if self._automatic_size
            else tr("Automatic")
        )

    # Devices and their limitations, queried in a job, since that may wake a GPU

    def _query_devices(self) -> None:
        def done(found: tuple[DeviceChoice, ...]) -> None:
            self.device.set_options(Choice(device.key, tr(device.title)) for device in found)
            self.device.show_choice(self._session.config.device)
            self._query_limitations(self._session.config.device)

        look = partial(painting_devices, self._session.config.device)
        self._session.run(look, done, failure="Could not look for devices")

    def _query_limitations(self, device: str) -> None:
        family = FAMILIES[self._family]

        def work() -> _Limitations:
            where = _device_or_automatic(device)
            half = where.type != "cpu" and not Precision.fp16.remark(where)
            return _Limitations(
                family.key,
                {each: each.remark(where) or each.cost for each in Precision},
                # Measures BF16 on a CPU.
                {each: family.refusal("fused", each, where) for each in Precision},
                () if is_webgpu(where) else statuses(where, STYLE),
                Precision.fp16 if half else Precision.fp32,
            )

        def done(found: _Limitations) -> None:
            if found.family != self._family:
                return  # a newer query is under way
            self._limits = found
            self.speed_control.set_fast_precision(found.fast)
            self._set_family_options()
            self._show_remarks()

        self._session.run(work, done, failure="Could not query the device")

    def _query_runtimes(self) -> None:
        """Find other runtimes, once.

        Querying imports them, which takes seconds of CPU time, so it waits until the user opens the
        list or uses a runtime.
        """
        if self._runtimes_asked:
            return
        self._runtimes_asked = True

        def work() -> dict[str, str]:
            found = {key: each for key, each in RUNTIMES.items() if not each.refusal()}
            return {key: each.device_title() for key, each in found.items()}

        def done(found: dict[str, str]) -> None:
            self._runtimes = found
            self._set_family_options()
            self._show_remarks()

        self._session.run(work, done, failure="Could not look for runtimes")

    def _show_remarks(self) -> None:
        self.precision_remark.show_text(self.precision.remark)
        self.kernels_remark.show_text(self._kernel_status_text())
        title = self.device.currentText()
        self.device_remark.show_text(title if len(title) > 28 else "")

    def _kernel_status_text(self) -> str:
        if self._session.config.kernels == "baseline":
            return tr("Plain PyTorch, for comparison")
        if runtime := FAMILIES[self._family].variant(self._session.config.kernels).runtime:
            return self._runtimes.get(runtime.key, "")
        if remark := FAMILIES[self._family].kernels_remark:
            return capitalized(tr(remark))
        missing: dict[str, list[str]] = {}
        for status in self._limits.statuses:
            if not (status.ready or status.by_choice):
                missing.setdefault(status.reason, []).append(status.name)
        if not missing:
            chosen = sum(status.by_choice for status in self._limits.statuses)
            if chosen:
                return tr(
                    "Native kernels: ready; {n} operations run on PyTorch, which is faster",
                    n=chosen,
                )
            return tr("Native kernels: ready") if self._limits.statuses else ""
        if len(missing) == 1 and not any(status.ready for status in self._limits.statuses):
            return tr("Native kernels: {reason}", reason=next(iter(missing)))
        return "\n".join(labeled(_kernels_text(names), reason) for reason, names in missing.items())

    # Controls opened by keys

    def reveal(self, control: QWidget) -> None:
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

    def _lay_out_now(self) -> None:
        whole = self.widget()
        assert whole is not None
        for part in (self.advanced, whole):
            layout = part.layout()
            assert layout is not None
            layout.activate()
        whole.resize(whole.width(), whole.sizeHint().height())

    # Sources

    def set_sources(self, choices: list[Choice], current: object) -> None:
        """Set the options of the source list and the open one."""
        self.source.set_options(choices)
        self.source.show_choice(current)

    def ask_address(self) -> None:
        self.address_row.show()
        self.reveal(self.address)
        self.address.selectAll()

    def focus_failed_address(self) -> None:
        """Focus the failed address, unless the focus has moved elsewhere."""
        if self._in_address_row:
            self.address.setFocus()

    def close_address(self, *, in_use: bool = True) -> None:
        """Hide the address field; if `in_use` is False, only if it is not focused."""
        inside = self._in_address_row
        if in_use or not inside:
            self.address_row.hide()
            if inside:
                self.address_left.emit()

    @property
    def _in_address_row(self) -> bool:
        focused = self.window().focusWidget()
        return focused is not None and self.address_row.isAncestorOf(focused)

    def _enter_address(self) -> None:
        if text := self.address.text().strip():
            self.address_entered.emit(text)


def _device_or_automatic(key: str) -> torch.device:
    """Return a device, or the automatic one for a key that the engine rejects."""
    try:
        return painting_device(key)
    except ValueError:
        return painting_device("auto")


def _is_reached(control: QWidget) -> bool:
    """Return whether the Tab key reaches a control."""
    tabs = Qt.FocusPolicy.TabFocus
    return control.isVisible() and control.isEnabled() and control.focusPolicy() & tabs == tabs


def _kernels_text(names: list[str]) -> str:
    few = len(names) <= MAX_NAMED_KERNELS
    return enumerated(names) if few else tr("{n} kernels", n=len(names))
