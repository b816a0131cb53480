"""Asks how to export a film, and shows how it will look, how long it takes and how large it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.ui.film.estimates import size_words, time_words
from app.ui.film.hardware_details import HardwareDetails
from app.ui.film.options import (
    DEFAULTS,
    FilmOptions,
    Hardware,
    codec_choices,
    encoder_choices,
    quality_choices,
    size_choices,
)
from app.ui.film.part_picker import FilmFacts, PartPicker
from app.ui.film.preview_picture import PreviewPicture
from app.ui.film.trial import Measured, Measuring
from app.ui.film.version_cards import VersionCards
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.viewport.text_painting import breakable
from app.ui.widgets.dialogs import lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from utils.translation.texts import mark, tr, trn

FORM_WIDTH = 50 * SPACE
_LOSSLESS = mark("This codec is lossless at every quality")
_MEASURING = mark("Measuring on this machine...")


class FilmDialog(QDialog):
    """The options of an export.

    `chosen` receives them when the user continues to the file.

    Signals:
        changed: Another choice or frame, which needs another preview or estimate.
    """

    changed = Signal()

    def __init__(self, parent: QWidget, chosen: Callable[[FilmOptions], object]) -> None:
        super().__init__(parent)
        self.chosen = chosen
        self._hardware: Mapping[str, Hardware] | None = None
        self._where = DEFAULTS.where
        self._lines, self._network, self._sound = DEFAULTS.lines, DEFAULTS.network, DEFAULTS.sound
        self._film_has_sound = True
        self.setWindowTitle(tr("Export the film"))
        self.setAccessibleName(tr("Options of the exported film"))
        self.preview, self.part_picker = PreviewPicture(self), PartPicker(self)
        self.versions = VersionCards(self)
        self.size_box = OptionBox(tr("Frame size"), tr("Size of the painted frames"), self)
        self.codec = OptionBox(tr("Codec"), tr("Codec and file format of the film"), self)
        self.encoder = OptionBox(
            tr("Encoder"), tr("Hardware or software that encodes the film"), self
        )
        self.quality = OptionBox(tr("Quality"), tr("How much detail the film keeps"), self)
        self.sound = described(
            QCheckBox(tr("Keep the so&und")),
            tr("Keep the sound"),
            tr("Copy the sound of the film, or leave it out"),
        )
        self.details = HardwareDetails(self)
        self._remarks = {box: RemarkLabel() for box in (self.codec, self.encoder, self.quality)}
        self._fault = RemarkLabel(reserved=False)
        self.codec.set_options(codec_choices())
        self.quality.set_options(quality_choices())
        self._connect()
        self._lay_out()
        self.accepted.connect(lambda: self.chosen(self.options))

    def _connect(self) -> None:
        self.codec.picked.connect(lambda _: self._pick(self._show_rest))
        self.encoder.picked.connect(self._pick_encoder)
        self.quality.picked.connect(lambda _: self._pick(self._show_remarks))
        self.size_box.picked.connect(self._pick_size)
        self.sound.clicked.connect(self._pick_sound)
        self.versions.picked.connect(self._pick_version)
        self.details.button.toggled.connect(lambda _: self.adjustSize())
        self.part_picker.moved.connect(self._look_elsewhere)
        self.part_picker.picked.connect(lambda: self._pick(lambda: None))

    def _lay_out(self) -> None:
        column = QWidget(self)
        column.setMinimumWidth(FORM_WIDTH)
        right = fill(QVBoxLayout(column), self.versions, margins=(0, 0, 0, 0), spacing=SPACE)
        fields = QWidget(column)
        form = FormLayout(fields, value="")
        form.setContentsMargins(0, SPACE, 0, 0)
        form.add(tr("Frame &size"), self.size_box)
        form.add(tr("&Quality"), self.quality)
        form.add_below(self._remarks[self.quality])
        form.add(tr("Co&dec"), self.codec)
        form.add_below(self._remarks[self.codec])
        form.add(tr("&Encoder"), self.encoder)
        form.add_below(self._remarks[self.encoder])
        form.add_below(self.details)
        form.add_below(self.sound)
        form.add_stretch_row()
        right.addWidget(fields, 1)
        left = fill(QVBoxLayout(), self.preview, self.part_picker, self._fault, None, spacing=SPACE)
        content = QWidget(self)
        margins = (2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE)
        fill(QHBoxLayout(content), left, (column, 1), margins=margins, spacing=3 * SPACE)
        cancel = make_button(tr("&Cancel"), tr("Export nothing (Esc)"), self.reject)
        self.go_on = make_button(
            tr("E&xport..."), tr("Choose the file, and export (Enter)"), self.accept
        )
        self.go_on.setProperty("role", "primary")
        self.go_on.setDefault(True)
        lay_out_dialog(self, content, cancel, self.go_on)

    @property
    def options(self) -> FilmOptions:
        return FilmOptions(
            self.codec.currentData(),
            self.encoder.currentData(),
            self.quality.currentData(),
            self.versions.network,
            self._lines,
            self._sound,
        )

    @property
    def part(self) -> tuple[float, float] | None:
        """Begin and end of the part in seconds; None for the whole film."""
        return self.part_picker.part

    @property
    def seconds(self) -> float:
        """The time of the frame to preview."""
        return self.part_picker.seconds

    def show_film(self, film: FilmFacts) -> None:
        """Show a film that is not measured yet."""
        self._film_has_sound = film.sound
        self.size_box.set_options(size_choices(film.width, film.height))
        self.part_picker.show_film(film)
        self.preview.clear()
        self.versions.show_fast_exists(True)
        self._forget_estimates()

    def show_options(self, options: FilmOptions) -> None:
        self._where, self._lines = options.where, options.lines
        self._network, self._sound = options.network, options.sound
        self.codec.show_choice(options.codec)
        self.quality.show_choice(options.quality)
        self.versions.show_choice(options.network)
        self.size_box.show_choice(options.lines)
        if self.size_box.currentIndex() < 0:  # the film is smaller
            self.size_box.show_choice(0)
        self._show_rest()
        self.go_on.setFocus()

    def show_hardware(self, hardware: Mapping[str, Hardware]) -> None:
        """Show which codecs the graphics hardware encodes, and why not the others."""
        self._hardware = hardware
        self._show_rest()

    def show_fast_exists(self, exists: bool) -> None:
        self.versions.show_fast_exists(exists)
        if exists:
            self.versions.show_choice(self._network)

    def show_measuring(self, measuring: Measuring) -> None:
        card = self.versions.cards[measuring.network]
        if card.isEnabled():
            known = measuring.seconds
            time = tr(_MEASURING) if known is None else time_words(known)
            n = measuring.done
            card.show_lines(time, trn("{n} frame measured", "{n} frames measured", n))

    def show_measured(self, measured: Measured) -> None:
        card, found = self.versions.cards[measured.network], measured.estimate
        if found is None:
            card.show_lines(tr("The film does not tell its length"), "")
        else:
            card.show_lines(time_words(found.seconds), size_words(found.size))

    def show_failure(self, sentence: str) -> None:
        """Say why the film cannot be made like this."""
        self._fault.show_text(breakable(sentence))
        if not self.preview.painted:
            self.preview.show_failure()
        for card in self.versions.cards.values():
            if card.isEnabled():
                card.show_lines(tr("Not measured"), "")

    def _forget_estimates(self) -> None:
        self._fault.show_text("")
        for card in self.versions.cards.values():
            if card.isEnabled():
                card.show_lines(tr(_MEASURING), "")

    def _pick(self, show: Callable[[], object]) -> None:
        """Show a choice of the user, which makes the estimates old."""
        show()
        self._forget_estimates()
        self.preview.wait()
        self.changed.emit()

    def _look_elsewhere(self) -> None:
        """Paint another frame; the estimates stay."""
        self.preview.wait()
        self.changed.emit()

    def _pick_version(self) -> None:
        self._network = self.versions.network
        self._pick(lambda: None)

    def _pick_size(self, lines: int) -> None:
        self._lines = lines
        self._pick(lambda: None)

    def _pick_sound(self, on: bool) -> None:
        self._sound = on
        self._pick(lambda: None)

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the height to the letters, whose size the style sets only now."""
        super().showEvent(event)
        self.adjustSize()

    def _pick_encoder(self, where: str) -> None:
        self._where = where
        self._pick(self._show_remarks)

    def _show_rest(self) -> None:
        choices = encoder_choices(self.codec.currentData(), self._hardware)
        self.encoder.set_options(choices)
        usable = [choice.value for choice in choices if not choice.reason]
        self.encoder.show_choice(self._where if self._where in usable else usable[0])
        self.quality.setEnabled(not self.options.lossless)
        silent = self.options.animated or not self._film_has_sound
        self.sound.setEnabled(not silent)
        self.sound.setChecked(self._sound and not silent)
        self._show_remarks()

    def _show_remarks(self) -> None:
        for box, label in self._remarks.items():
            label.show_text(box.remark)
        if self.options.lossless:
            self._remarks[self.quality].show_text(tr(_LOSSLESS))
        found = (self._hardware or {}).get(self.codec.currentData(), Hardware())
        self.details.show_details(found.details)
        self.adjustSize()
