"""The size, rate and exposure of the camera, in a small window that can stay open."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.frame import SourceInfo
from app.sources.camera import Mode
from app.sources.camera_modes.offers import Offers
from app.ui.widgets.dialogs import ModelessDialog, lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from app.ui.widgets.status_bar import source_text
from app.ui.window_geometry import WindowGeometry
from utils.translation.numbers import significant
from utils.translation.texts import mark, tr

WIDTH = 420  # pixels
EXPOSURES = {  # in stops, see FrameSource.set_exposure
    None: mark("Automatic"),
    -2.0: mark("Much darker"),
    -1.0: mark("Darker"),
    0.0: mark("As it is now"),
    1.0: mark("Brighter"),
    2.0: mark("Much brighter"),
}
NETWORK = mark("A network camera sets its own size and rate: change them on its web page")
NO_CAMERA = mark("Open a camera first")


class CameraModeDialog(ModelessDialog):
    """A modeless dialog whose choices take effect at once.

    Signals:
        mode_picked: Width and height in pixels, and frames a second.
        exposure_picked: Exposure in stops; None for automatic.
    """

    mode_picked = Signal(int, int, float)
    exposure_picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("StyleForge: camera"), parent)
        self._mode = Mode()
        self._offers: Offers | None = None
        self.size_box = OptionBox(tr("Size"), tr("Picture size to request from the camera"))
        self.rate = OptionBox(tr("Rate"), tr("Frame rate to request from the camera"))
        self.exposure = OptionBox(
            tr("Exposure"),
            tr("How long each picture is exposed: longer is brighter, and may be slower"),
        )
        self.exposure.set_options(Choice(stops, tr(title)) for stops, title in EXPOSURES.items())
        self.offer_remark, self.exposure_remark = RemarkLabel(), RemarkLabel()
        self.delivers = RemarkLabel()
        self.delivers.setAccessibleName(tr("What the camera delivers"))
        self.size_box.picked.connect(self._pick_size)
        self.rate.picked.connect(self._pick_rate)
        self.exposure.picked.connect(self.exposure_picked)
        self._lay_out()
        WindowGeometry(self)

    def show_camera(self, mode: Mode, offers: Offers) -> None:
        """Show the options of the open camera.

        Args:
            mode: The requested mode, listed even if the driver does not offer it.
            offers: The options offered by the driver.
        """
        self._mode, self._offers = mode, offers
        sizes = sorted({*offers.sizes, (mode.width, mode.height)})
        self.size_box.set_options(Choice(f"{w}x{h}", tr("{w} x {h}", w=w, h=h)) for w, h in sizes)
        self.size_box.show_choice(f"{mode.width}x{mode.height}")
        rates = sorted({*offers.rates((mode.width, mode.height)), mode.fps})
        self.rate.set_options(
            Choice(rate, tr("{rate} per second", rate=significant(rate, 6))) for rate in rates
        )
        self.rate.show_choice(mode.fps)
        self.offer_remark.show_text(tr(offers.remark))
        self._set_available(True)
        self._fit()

    def show_none(self, reason: str) -> None:
        self._offers = None
        self.offer_remark.show_text(reason)
        self._set_available(False)
        self._fit()

    def show_source(self, info: SourceInfo | None) -> None:
        """Show the delivered format, and whether the exposure can be set."""
        self.delivers.show_text(tr("Delivers {what}", what=source_text(info)) if info else "")
        reason = info.exposure if info else None
        self.exposure_row(shown=reason == "")
        self.exposure_remark.show_text(tr(reason) if reason else "")
        self._fit()

    def show_exposure(self, stops: float | None) -> None:
        """Show the exposure without emitting a signal."""
        self.exposure.show_choice(stops)

    def exposure_row(self, *, shown: bool) -> None:
        self.exposure.setVisible(shown)
        self._exposure_label.setVisible(shown)

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the height to the text."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Grow for remarks of several lines, whose height depends on the width."""
        layout = self.layout()
        assert layout is not None
        layout.activate()
        needed = layout.totalHeightForWidth(self.width())
        if self.height() < needed:
            self.resize(self.width(), needed)

    def _set_available(self, available: bool) -> None:
        for box in (self.size_box, self.rate):
            box.setEnabled(available)

    def _pick_size(self, text: str) -> None:
        assert self._offers is not None
        width, height = map(int, text.split("x"))
        rates = self._offers.rates((width, height))
        # Keep the rate, or use the nearest one available at this size.
        rate = min(rates, key=lambda each: abs(each - self._mode.fps))
        self.mode_picked.emit(width, height, rate)

    def _pick_rate(self, rate: float) -> None:
        self.mode_picked.emit(self._mode.width, self._mode.height, rate)

    def _lay_out(self) -> None:
        content = QWidget()
        form = FormLayout(content)
        form.add(tr("&Size"), self.size_box)
        form.add(tr("&Rate"), self.rate)
        form.add_below(self.offer_remark)
        form.add(tr("&Exposure"), self.exposure)
        labels = content.findChildren(QLabel)
        self._exposure_label = next(each for each in labels if each.buddy() is self.exposure)
        form.add_below(self.exposure_remark)
        form.add_below(self.delivers, whole=True)
        form.add_stretch_row()
        lay_out_dialog(self, content, self.close_button(tr("&Close")))
        self.setMinimumWidth(WIDTH)
