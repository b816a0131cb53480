"""The lists of devices, engines and precisions, with remarks on the chosen ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.painting_devices import painting_devices
from app.live.session import Session
from app.ui.speed.device_limits import UNKNOWN, DeviceLimits, limits_of
from app.ui.speed.kernel_words import kernel_words
from app.ui.speed.one_line import OneLineRemark
from app.ui.speed.tested_input import TestedInput
from app.ui.widgets.option_box import Choice, OptionBox
from models.families.table import FAMILIES
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import ALL_VARIANTS
from utils.devices import DeviceChoice
from utils.text import capitalized
from utils.translation.joints import sentences
from utils.translation.texts import mark, tr

ONLY_HERE = mark("In this test only")
LONG_TITLE = 20  # letters; a longer title of a device may not fit its list


class EngineControls(QObject):
    """Fills the lists in the background, writes the session's config, and follows it.

    Devices and their limits are queried in jobs, since that may wake a GPU.

    Signals:
        fast_found: The fastest precision in which the chosen device computes well.
    """

    fast_found = Signal(Precision)

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._limits = UNKNOWN
        self._options_of = ""  # the family whose precisions and kernels are listed
        self._listed_for: object = None  # what the listed precisions belong to
        self._offered: dict[str, dict[Precision, str]] = {}  # refusals of available runtimes
        self._runtimes: dict[str, str] = {}  # available runtimes, with their devices
        self.runtimes_asked = False
        self.test = TestedInput(session, self)
        self.precision = OptionBox(
            tr("Precision"), tr("Precision of the network: FP16 is faster on most GPUs")
        )
        self.kernels = OptionBox(tr("Engine"), tr("Which implementation of the network runs"))
        self.device = OptionBox(tr("Device"), tr("Where the network runs"))
        self.device.set_options([Choice("auto", tr("Automatic"))])
        self.boxes = {"precision": self.precision, "kernels": self.kernels, "device": self.device}
        self.precision_remark, self.kernels_remark, self.device_remark = (
            OneLineRemark() for _ in range(3)
        )
        for name, box in self.boxes.items():
            box.picked.connect(lambda value, name=name: self._choose(name, value))
        self.kernels.focused.connect(self._query_runtimes)
        self.test.changed.connect(lambda: self.show_config(session.config))
        session.kernels_changed.connect(lambda _: self._query_limits(session.config.device))
        session.styles_changed.connect(self._follow_family)

    def show_config(self, config: EngineConfig) -> None:
        """Show `config` without emitting signals."""
        self._follow_family()
        if self._listed_for != (self._kernels, self.test.active):
            self._set_precision_options()
        self.precision.show_choice(self._precision)
        self.kernels.show_choice(self._kernels)
        if self._kernels in RUNTIMES:
            self._query_runtimes()
        if self.device.currentData() != config.device:
            self.device.show_choice(config.device)
            self._query_limits(config.device)
        self._show_remarks()

    def query_devices(self) -> None:
        """List the devices of this machine, and the limits of the chosen one."""

        def done(found: tuple[DeviceChoice, ...]) -> None:
            self.device.set_options(Choice(device.key, tr(device.title)) for device in found)
            self.device.show_choice(self._session.config.device)
            self._query_limits(self._session.config.device)

        look = partial(painting_devices, self._session.config.device)
        self._session.run(look, done, failure="Could not look for devices")

    @property
    def _family(self) -> str:
        return self._session.catalog.family_of(self._session.config.style)

    @property
    def _precision(self) -> Precision:
        """The precision of the speed test, or else the stream's."""
        return self.test.precision if self.test.active else self._session.config.precision

    @property
    def _kernels(self) -> str:
        """The engine of the speed test, or else the stream's."""
        return self.test.kernels if self.test.active else self._session.config.kernels

    def _choose(self, name: str, value: object) -> None:
        if self.test.active and isinstance(value, Precision):
            self.test.choose_precision(value)
            return
        if self.test.active and name == "kernels":
            self.test.choose_kernels(str(value))
            return
        self._session.config = replace(self._session.config, **{name: value})

    def _follow_family(self) -> None:
        """List what the style's family has, after a style of another one was chosen."""
        if self._family != self._options_of:
            first = not self._options_of  # `query_devices` queries the limits then
            self._set_family_options()
            if not first:
                self._query_limits(self._session.config.device)

    def _set_family_options(self) -> None:
        """List precisions and kernels; disable those that the family does not have."""
        self._options_of = self._family
        self._set_precision_options()
        family, current = FAMILIES[self._family], self._kernels
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
        """List precisions; disable those that the family, the device or the runtime lacks.

        A speed test measures slow ones too, and their remark says that they are.
        """
        family, limits = FAMILIES[self._family], self._limits
        self._listed_for = self._kernels, self.test.active
        absent = family.unavailable_options.get("precision", {})
        remarks, refusals = limits.remarks, dict[Precision, str]()
        if family.variant(self._kernels).runtime is not None:
            refusals = self._offered.get(self._kernels, refusals)
        elif limits.family == self._family and self.test.active:
            refusals = limits.absences
            remarks = {each: limits.refusals[each] or limits.remarks[each] for each in Precision}
        elif limits.family == self._family:
            refusals = limits.refusals
        self.precision.set_options(
            Choice(
                member,
                member.title,
                capitalized(tr(remarks.get(member, ""))),
                capitalized(tr(absent.get(member.name, "") or refusals.get(member, ""))),
            )
            for member in Precision
        )
        self.precision.show_choice(self._precision)

    def _query_limits(self, device: str) -> None:
        def done(found: DeviceLimits) -> None:
            if found.family != self._family:
                return  # a newer query is under way
            self._limits = found
            self.fast_found.emit(found.fast)
            self._set_family_options()
            self._show_remarks()

        look = partial(limits_of, device, self._family)
        self._session.run(look, done, failure="Could not query the device")

    def _query_runtimes(self) -> None:
        """Find other runtimes, once.

        Querying imports them, which takes seconds of CPU time, so it waits until the user opens the
        list or uses a runtime.
        """
        if self.runtimes_asked:
            return
        self.runtimes_asked = True

        def work() -> dict[str, tuple[str, dict[Precision, str]]]:
            found = {key: each for key, each in RUNTIMES.items() if not each.refusal()}
            return {
                key: (each.device_title(), {member: each.refusal(member) for member in Precision})
                for key, each in found.items()
            }

        def done(found: dict[str, tuple[str, dict[Precision, str]]]) -> None:
            self._runtimes = {key: title for key, (title, _) in found.items()}
            self._offered = {key: refusals for key, (_, refusals) in found.items()}
            self._set_family_options()
            self._show_remarks()

        self._session.run(work, done, failure="Could not look for runtimes")

    def _show_remarks(self) -> None:
        found = self._limits.statuses
        in_test = tr(ONLY_HERE) if self.test.active else ""
        self.precision_remark.show_text(self.precision.remark or in_test)
        words = kernel_words(self._kernels, self._family, self._runtimes, found)
        self.kernels_remark.show_text(sentences(in_test, words) if in_test else words)
        title = self.device.currentText()
        self.device_remark.show_text(title if len(title) > LONG_TITLE else "")
