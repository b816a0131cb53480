"""The settings of the virtual camera, in a small window that can stay open."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.options import CAMERA_FITS, CAMERA_FORMATS, CAMERA_RATES, CAMERA_SIZES, Option
from app.settings import Settings
from app.ui.layouts import described
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.window_geometry import WindowGeometry
from utils.translation.texts import tr

WIDTH = 420  # pixels; every remark then fits on two lines


class CameraDialog(ModelessDialog):
    """A modeless dialog whose choices take effect at once."""

    picked = Signal(str, object)  # a field of Settings, and its new value

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: virtual camera"), parent)
        sizes = [Choice(size, size.replace("x", " x ")) for size in CAMERA_SIZES]
        rates = [Choice(rate, tr("{rate} per second", rate=rate)) for rate in CAMERA_RATES]
        self.size_box = self._box(
            "camera_size", tr("Size"), tr("Size of the virtual camera"), sizes
        )
        self.rate = self._box(
            "camera_rate", tr("Rate"), tr("Frame rate of the virtual camera"), rates
        )
        self.format = self._box(
            "camera_format",
            tr("Format"),
            tr("Pixel format of the virtual camera"),
            _choices(CAMERA_FORMATS),
        )
        self.fit = self._box(
            "camera_fit",
            tr("Fit"),
            tr("How pictures of another shape fit the frame"),
            _choices(CAMERA_FITS),
        )
        self.device = described(
            QLineEdit(),
            tr("Device"),
            tr("Name of the virtual camera, such as /dev/video2 or OBS Virtual Camera"),
        )
        self.device.setPlaceholderText(tr("The first one found"))
        self.device.editingFinished.connect(self._pick_device)
        self.always = described(
            QCheckBox(tr("&Also send while no program reads it")),
            tr("Also send while no program reads it"),
            tr(
                "Do not pause while no program reads it; StyleForge can see this with "
                "v4l2loopback 0.13 or newer"
            ),
        )
        self.always.clicked.connect(lambda on: self.picked.emit("camera_always", on))
        self.format_remark, self.fit_remark, self.status = (RemarkLabel() for _ in range(3))
        self._lay_out()
        self.show_settings(settings)
        WindowGeometry(self)

    def show_settings(self, settings: Settings) -> None:
        self.size_box.show_choice(settings.camera_size)
        self.rate.show_choice(settings.camera_rate)
        self.format.show_choice(settings.camera_format)
        self.fit.show_choice(settings.camera_fit)
        self.device.setText(settings.camera_device)
        self.always.setChecked(settings.camera_always)
        self.format_remark.show_text(self.format.remark)
        self.fit_remark.show_text(self.fit.remark)

    def show_status(self, text: str) -> None:
        """Show the state of the camera; "" while it is off."""
        self.status.show_text(text)

    def _box(self, field: str, name: str, tip: str, choices: list[Choice]) -> OptionBox:
        box = OptionBox(name, tip)
        box.set_options(choices)
        box.picked.connect(lambda value: self.picked.emit(field, value))
        return box

    def _pick_device(self) -> None:
        self.picked.emit("camera_device", self.device.text().strip())

    def _lay_out(self) -> None:
        content = QWidget()
        form = FormLayout(content)
        form.add(tr("&Size"), self.size_box)
        form.add(tr("&Rate"), self.rate)
        form.add(tr("&Format"), self.format)
        form.add_below(self.format_remark)
        form.add(tr("F&it"), self.fit)
        form.add_below(self.fit_remark)
        form.add(tr("&Device"), self.device)
        form.add_below(self.always)
        form.add_below(self.status, whole=True)
        form.add_stretch_row()
        lay_out_dialog(self, content, self.close_button(tr("&Close")))
        self.setMinimumWidth(WIDTH)


def _choices(options: Mapping[str, Option]) -> list[Choice]:
    return [Choice(key, tr(each.title), tr(each.remark)) for key, each in options.items()]
