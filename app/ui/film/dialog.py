"""Asks for codec, encoder and quality of an exported film."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtWidgets import QDialog, QWidget

from app.ui.film.options import (
    DEFAULTS,
    FilmOptions,
    Hardware,
    codec_choices,
    encoder_choices,
    quality_choices,
)
from app.ui.theme.tokens import SPACE
from app.ui.widgets.dialogs import lay_out_dialog
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from utils.translation.joints import sentences
from utils.translation.texts import mark, tr

WIDTH = 62 * SPACE
_LOSSLESS = mark("This codec is lossless at every quality")


class FilmDialog(QDialog):
    """The options of an export; `chosen` receives them when the user continues to the file."""

    def __init__(self, parent: QWidget, chosen: Callable[[FilmOptions], object]) -> None:
        super().__init__(parent)
        self.chosen = chosen
        self._hardware: Mapping[str, Hardware] | None = None
        self._where = DEFAULTS.where
        self.setWindowTitle(tr("Export the film"))
        self.setAccessibleName(tr("Options of the exported film"))
        self.codec = OptionBox(tr("Codec"), tr("Codec and file format of the film"), self)
        self.encoder = OptionBox(
            tr("Encoder"), tr("Hardware or software that encodes the film"), self
        )
        self.quality = OptionBox(tr("Quality"), tr("How much detail the film keeps"), self)
        self._remarks = {box: RemarkLabel() for box in (self.codec, self.encoder, self.quality)}
        content = QWidget(self)
        form = FormLayout(content)
        for title, box in (
            (tr("Co&dec"), self.codec),
            (tr("&Encoder"), self.encoder),
            (tr("&Quality"), self.quality),
        ):
            form.add(title, box)
            form.add_below(self._remarks[box])
        form.add_stretch_row()
        self.codec.set_options(codec_choices())
        self.quality.set_options(quality_choices())
        self.codec.picked.connect(lambda _: self._show_rest())
        self.encoder.picked.connect(self._pick_encoder)
        self.quality.picked.connect(lambda _: self._show_remarks())
        cancel = make_button(tr("&Cancel"), tr("Export nothing (Esc)"), self.reject)
        self.go_on = make_button(
            tr("&File..."), tr("Choose the file, and export (Enter)"), self.accept
        )
        self.go_on.setProperty("role", "primary")
        self.go_on.setDefault(True)
        lay_out_dialog(self, content, cancel, self.go_on)
        self.setMinimumWidth(WIDTH)
        self.accepted.connect(lambda: self.chosen(self.options))

    @property
    def options(self) -> FilmOptions:
        return FilmOptions(
            self.codec.currentData(), self.encoder.currentData(), self.quality.currentData()
        )

    def show_options(self, options: FilmOptions) -> None:
        self._where = options.where
        self.codec.show_choice(options.codec)
        self.quality.show_choice(options.quality)
        self._show_rest()
        self.codec.setFocus()

    def show_hardware(self, hardware: Mapping[str, Hardware]) -> None:
        """Show which codecs the graphics hardware encodes, and why not the others."""
        self._hardware = hardware
        self._show_rest()

    def _pick_encoder(self, where: str) -> None:
        self._where = where
        self._show_remarks()

    def _show_rest(self) -> None:
        choices = encoder_choices(self.codec.currentData(), self._hardware)
        self.encoder.set_options(choices)
        usable = [choice.value for choice in choices if not choice.reason]
        self.encoder.show_choice(self._where if self._where in usable else usable[0])
        self.quality.setEnabled(not self.options.lossless)
        self._show_remarks()

    def _show_remarks(self) -> None:
        for box, label in self._remarks.items():
            label.show_text(box.remark)
        if self.options.lossless:
            self._remarks[self.quality].show_text(tr(_LOSSLESS))
        reason = next(
            (
                choice.reason
                for choice in encoder_choices(self.codec.currentData(), self._hardware)
                if choice.reason
            ),
            "",
        )
        if reason and self._hardware is not None:
            self._remarks[self.encoder].show_text(sentences(self.encoder.remark, reason))
        self.adjustSize()
