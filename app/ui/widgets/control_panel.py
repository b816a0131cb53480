"""The panel: every choice that changes the picture, bound to the session's config."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from app.engine.config import EngineConfig
from app.engine.engine import SIZES
from app.engine.result import StyledFrame
from app.live.session import Session
from app.options import NETWORKS
from app.parameters import PARAMETERS, Group
from app.ui.theme.tokens import SPACE
from app.ui.widgets.form_layout import Form
from app.ui.widgets.message_bars import button
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.parameter_controls import CheckControl, FractionControl, control_of
from kernels.ops.registry import KernelStatus, statuses
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import DeviceChoice, devices, resolve

FEW = 2  # kernels that are named; of more, the count says as much


class Panel(QScrollArea):
    """Writes session.config and follows config_changed. `source_picked(value)` is one of the
    values given to `offer_sources`; `address_entered(text)` what was typed as an address;
    `address_left` says that its field has gone and taken the focus along."""

    source_picked = Signal(object)
    address_entered = Signal(str)
    address_left = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._statuses: tuple[KernelStatus, ...] = ()
        self._automatic = ""  # the automatic size now, "288x208"
        self._style = ""  # the one that is not offered as the second
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make_widgets()
        self._lay_out()
        self._connect()
        self.follow(session.config)
        self._ask_devices()

    # Building

    def _make_widgets(self) -> None:
        self.source = OptionBox("Source", "What to style: a camera, a file, a folder, the scene")
        self.source.setPlaceholderText("Nothing is open")
        self.address = QLineEdit()
        self.address.setPlaceholderText("http://... or rtsp://...")
        self.address.setAccessibleName("Network address")
        self.address.setToolTip("The address of a network camera: http:// (MJPEG) or rtsp://")
        self.connect_button = button("Co&nnect", "Open this address (Enter)", self._enter_address)
        self.controls = {name: control_of(row) for name, row in PARAMETERS.items()}
        self.mix = OptionBox(
            "Mix with", "A second style to mix in (M); also Shift-click one in the gallery"
        )
        self.network_size = OptionBox(
            "Size",
            "Long side of the picture the network sees: smaller is faster, larger has narrower "
            "strokes. Automatic keeps their width",
        )
        self.precision = OptionBox("Precision", "The numbers the network computes with")
        self.precision.offer(Choice(member, member.title) for member in Precision)
        self.kernels = OptionBox("Kernels", "Which implementation of the network runs")
        self.kernels.offer(Choice(key, network.title) for key, network in VARIANTS.items())
        self.device = OptionBox("Device", "Where the network runs")
        self.device.offer([Choice("auto", "Automatic")])
        self.network_remark, self.precision_remark, self.kernels_remark, self.device_remark = (
            _muted() for _ in range(4)
        )
        self._offer_sizes()
        self._offer_styles()

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        form = Form(content)
        self.address_row = QWidget()
        row = QHBoxLayout(self.address_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.address, 1)
        row.addWidget(self.connect_button)
        self.address_row.hide()
        form.add("S&ource", self.source)
        form.below(self.address_row, whole=True)
        above = {"mix_amount": ("Mi&x with", self.mix), "strokes": ("Si&ze", self.network_size)}
        for group in Group:
            form.heading(group)
            names = [name for name, row in PARAMETERS.items() if row.group is group]
            for name in sorted(names, key=lambda n: isinstance(self.controls[n], CheckControl)):
                if name in above:
                    form.add(*above[name])
                self.controls[name].add_to(form)
                if name == "network":
                    form.below(self.network_remark)
        form.add("&Precision", self.precision)
        form.below(self.precision_remark, whole=True)
        form.add("&Kernels", self.kernels)
        form.below(self.kernels_remark, whole=True)
        form.add("&Device", self.device)
        form.below(self.device_remark, whole=True)
        form.end()
        self.setWidget(content)
        # Wide enough for "Automatic, 1920x1080" beside its label in any font.
        letters = self.fontMetrics().horizontalAdvance("Smoothing Automatic, 1920x1080")
        self.setFixedWidth(max(288, letters + 12 * SPACE))

    def _connect(self) -> None:
        session = self._session
        session.config_changed.connect(self.follow)
        session.kernels_changed.connect(lambda _: self._ask_remarks(session.config.device))
        session.styled.connect(self._follow_result)
        session.styles_changed.connect(self._offer_styles)
        self.source.picked.connect(self.source_picked)
        self.address.returnPressed.connect(self._enter_address)
        self.mix.picked.connect(lambda key: self._choose(mix=key))
        for name, control in self.controls.items():
            control.picked.connect(lambda value, name=name: self._choose(**{name: value}))
        self.network_size.picked.connect(lambda size: self._choose(size=size))
        self.precision.picked.connect(lambda precision: self._choose(precision=precision))
        self.kernels.picked.connect(lambda kernels: self._choose(kernels=kernels))
        self.device.picked.connect(lambda device: self._choose(device=device))

    # Config in both directions

    def _choose(self, **changes: Any) -> None:
        self._session.config = replace(self._session.config, **changes)

    def follow(self, config: EngineConfig) -> None:
        """Show `config`; silent, so nothing comes back from it."""
        for name, control in self.controls.items():
            control.show_value(getattr(config, name))
        if config.style != self._style:
            self._offer_styles()
        self.mix.show_choice(config.mix)
        share = self.controls["mix_amount"]
        assert isinstance(share, FractionControl)
        share.enable(config.mix is not None)
        self.network_size.show_choice(config.size)
        self.precision.show_choice(config.precision)
        self.kernels.show_choice(config.kernels)
        if self.device.currentData() != config.device:
            self.device.show_choice(config.device)
            self._ask_remarks(config.device)
        self._show_remarks()

    def _offer_styles(self) -> None:
        """The second style may be any but the first."""
        config = self._session.config
        self._style = config.style
        others = (s for s in self._session.library.styles if s.key != config.style)
        self.mix.offer([Choice(None, "Nothing"), *(Choice(s.key, s.title) for s in others)])
        self.mix.show_choice(config.mix)

    def _follow_result(self, styled: StyledFrame) -> None:
        lite = styled.running.lite and styled.config.network == "auto"
        _say(self.network_remark, f"{NETWORKS['lite'].title} now" if lite else "")
        if styled.config.size is not None:
            return
        now = f"{styled.size[0]}x{styled.size[1]}"
        if now != self._automatic:
            self._automatic = now
            self.network_size.setItemText(0, self._automatic_title())

    def _offer_sizes(self) -> None:
        sizes = dict.fromkeys((*SIZES, self._session.config.size))  # and one set by hand
        self.network_size.offer(
            Choice(size, f"{size} px" if size else self._automatic_title()) for size in sizes
        )

    def _automatic_title(self) -> str:
        return f"Automatic, {self._automatic}" if self._automatic else "Automatic"

    # Devices and what they are good at: asking may wake a GPU, so it is a job

    def _ask_devices(self) -> None:
        def done(found: tuple[DeviceChoice, ...]) -> None:
            self.device.offer(Choice(device.key, device.title) for device in found)
            self.device.show_choice(self._session.config.device)
            self._ask_remarks(self._session.config.device)

        self._session.run(devices, done, doing="look for devices")

    def _ask_remarks(self, device: str) -> None:
        def work() -> tuple[list[Choice], tuple[KernelStatus, ...]]:
            known = {choice.key for choice in devices()}
            where = resolve(device if device in known else "auto")  # the engine refuses others
            limitations = [Choice(p, p.title, p.remark(where) or p.cost) for p in Precision]
            return limitations, statuses(where)

        def done(found: tuple[list[Choice], tuple[KernelStatus, ...]]) -> None:
            choices, self._statuses = found
            self.precision.offer(choices)
            self.precision.show_choice(self._session.config.precision)
            self._show_remarks()

        self._session.run(work, done, doing="ask the device what it can do")

    def _show_remarks(self) -> None:
        _say(self.precision_remark, self.precision.remark)
        _say(self.kernels_remark, self._kernel_words())
        title = self.device.currentText()
        _say(self.device_remark, title if len(title) > 28 else "")

    def _kernel_words(self) -> str:
        if self._session.config.kernels == "baseline":
            return "Plain PyTorch, to compare with"
        missing: dict[str, list[str]] = {}
        for status in self._statuses:
            if not (status.ready or status.by_choice):
                missing.setdefault(status.reason, []).append(status.name)
        if not missing:
            chosen = sum(status.by_choice for status in self._statuses)
            on_pytorch = f"; {chosen} operations run on PyTorch, which is faster" if chosen else ""
            return f"Native kernels: ready{on_pytorch}" if self._statuses else ""
        if len(missing) == 1 and not any(status.ready for status in self._statuses):
            return f"Native kernels: {next(iter(missing))}"
        return "\n".join(
            f"{', '.join(names) if len(names) <= FEW else f'{len(names)} kernels'}: {reason}"
            for reason, names in missing.items()
        )

    # Sources

    def offer_sources(self, choices: list[Choice], current: object) -> None:
        """What the source box lists, and which of it is open."""
        self.source.offer(choices)
        self.source.show_choice(current)

    def ask_address(self) -> None:
        """Show the address field and put the cursor in it."""
        self.address_row.show()
        self.address.setFocus()
        self.address.selectAll()

    def correct_address(self) -> None:
        """Back to the address that failed, unless the user is elsewhere by now."""
        if self._in_address_row:
            self.address.setFocus()

    def close_address(self, *, in_use: bool = True) -> None:
        """Hide the address field; with `in_use` False only where the focus is not in it."""
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


def _muted() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setProperty("role", "muted")
    label.hide()  # until there is something to say
    return label


def _say(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))
