"""The panel: every choice that changes the picture, bound to the session's config."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.engine import SIZES
from app.session import Session
from app.styled import EngineConfig, Styled
from app.ui.choice_box import Choice, ChoiceBox
from app.ui.problem_bar import button
from app.ui.tokens import SPACE
from kernels.registry import KernelStatus, statuses
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import DeviceChoice, devices, resolve


class StillSlider(QSlider):
    """Leaves the wheel to the panel, whose scrolling must not change what it passes over."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Panel(QScrollArea):
    """Writes session.config and follows config_changed. `source_picked(value)` is one of the
    values given to `offer_sources`; `address_entered(text)` what was typed as an address."""

    source_picked = Signal(object)
    address_entered = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._statuses: tuple[KernelStatus, ...] = ()
        self._automatic = ""  # the automatic size now, "288x208"
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
        self.source = ChoiceBox("Source", "What to style: a camera, a file, a folder, the scene")
        self.source.setPlaceholderText("Nothing is open")
        self.address = QLineEdit()
        self.address.setPlaceholderText("http://... or rtsp://...")
        self.address.setAccessibleName("Network address")
        self.address.setToolTip("The address of a network camera: http:// (MJPEG) or rtsp://")
        self.connect_button = button("Co&nnect", "Open this address (Enter)", self._enter_address)
        self.strength = StillSlider(Qt.Orientation.Horizontal)
        self.strength.setRange(0, 100)
        self.strength.setPageStep(10)
        self.strength.setAccessibleName("Strength")
        self.strength.setToolTip("How much of the style: 0 % is the original")
        self.keep_colors = QCheckBox("Keep &colors")
        self.keep_colors.setAccessibleName("Keep colors")
        self.keep_colors.setToolTip("Take the brightness of the style and the colors of the source")
        self.network_size = ChoiceBox(
            "Size", "Long side of the picture the network sees; smaller is faster"
        )
        self.precision = ChoiceBox("Precision", "The numbers the network computes with")
        self.precision.offer(Choice(member, member.title) for member in Precision)
        self.kernels = ChoiceBox("Kernels", "Which implementation of the network runs")
        self.kernels.offer(Choice(key, network.title) for key, network in VARIANTS.items())
        self.device = ChoiceBox("Device", "Where the network runs")
        self.device.offer([Choice("auto", "Automatic")])
        self.percent, self.precision_remark, self.kernels_remark, self.device_remark = (
            _muted() for _ in range(4)
        )
        self._offer_sizes()

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, 2 * SPACE)
        column.setSpacing(SPACE // 2)
        self.address_row = QWidget()
        row = QHBoxLayout(self.address_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.address, 1)
        row.addWidget(self.connect_button)
        self.address_row.hide()
        _titled(column, "S&ource", self.source)
        column.addWidget(self.address_row)
        _titled(column, "S&trength", self.strength, self.percent)
        column.addSpacing(SPACE // 2)
        column.addWidget(self.keep_colors)
        _titled(column, "Si&ze", self.network_size)
        _titled(column, "&Precision", self.precision)
        column.addWidget(self.precision_remark)
        _titled(column, "&Kernels", self.kernels)
        column.addWidget(self.kernels_remark)
        _titled(column, "&Device", self.device)
        column.addWidget(self.device_remark)
        column.addStretch(1)
        self.setWidget(content)
        # Wide enough for "Automatic (now 1280x720)" in any font.
        letters = self.fontMetrics().horizontalAdvance("Automatic (now 1920x1080) ")
        self.setFixedWidth(max(264, letters + 10 * SPACE))

    def _connect(self) -> None:
        session = self._session
        session.config_changed.connect(self.follow)
        session.kernels_changed.connect(lambda _: self._ask_remarks(session.config.device))
        session.styled.connect(self._follow_result)
        self.source.picked.connect(self.source_picked)
        self.address.returnPressed.connect(self._enter_address)
        self.strength.valueChanged.connect(lambda value: self._choose(strength=value / 100))
        self.keep_colors.clicked.connect(lambda on: self._choose(keep_colors=on))
        self.network_size.picked.connect(lambda size: self._choose(size=size))
        self.precision.picked.connect(lambda precision: self._choose(precision=precision))
        self.kernels.picked.connect(lambda kernels: self._choose(kernels=kernels))
        self.device.picked.connect(lambda device: self._choose(device=device))

    # Config in both directions

    def _choose(self, **changes: Any) -> None:
        self._session.config = replace(self._session.config, **changes)

    def follow(self, config: EngineConfig) -> None:
        """Show `config`; silent, so nothing comes back from it."""
        blocked = self.strength.blockSignals(True)
        self.strength.setValue(round(config.strength * 100))
        self.strength.blockSignals(blocked)
        self.percent.setText(f"{round(config.strength * 100)} %")
        self.keep_colors.setChecked(config.keep_colors)
        self.network_size.show_choice(config.size)
        self.precision.show_choice(config.precision)
        self.kernels.show_choice(config.kernels)
        if self.device.currentData() != config.device:
            self.device.show_choice(config.device)
            self._ask_remarks(config.device)
        self._show_remarks()

    def _follow_result(self, styled: Styled) -> None:
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
        return f"Automatic (now {self._automatic})" if self._automatic else "Automatic"

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
            remarks = [Choice(p, p.title, p.remark(where)) for p in Precision]
            return remarks, statuses(where)

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
            if not status.ready:
                missing.setdefault(status.reason, []).append(status.name)
        if not missing:
            return "Native kernels: ready" if self._statuses else ""
        return "\n".join(f"{', '.join(names)}: {reason}" for reason, names in missing.items())

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

    def _enter_address(self) -> None:
        if text := self.address.text().strip():
            self.address_entered.emit(text)


def _muted() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setProperty("role", "muted")
    return label


def _say(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def _titled(
    column: QVBoxLayout, title: str, control: QWidget, beside: QLabel | None = None
) -> None:
    """A heading above its control, whose mnemonic leads to it; `beside` stands right of it."""
    label = QLabel(title)
    label.setBuddy(control)
    label.setProperty("role", "heading")
    column.addSpacing(SPACE)
    row = QHBoxLayout()
    row.addWidget(label)
    if beside is not None:
        row.addStretch(1)
        row.addWidget(beside)
    column.addLayout(row)
    column.addWidget(control)
