"""The form of a training request: picture, photographs, quality, and advanced options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.background_jobs import RunJob
from app.styles.pack import Style
from app.training.dataset_scan import DatasetScan, scan_dataset
from app.training.request import TrainingRequest
from app.training.run_store import RunDirectory
from app.ui.file_dialogs import OPEN_FOLDER, OPEN_PICTURE, OPEN_WEIGHTS, FileDialogs
from app.ui.layouts import described, fill
from app.ui.theme.tokens import SPACE
from app.ui.training.fields import PathLabel, PictureField, add_titled, path_row
from app.ui.training.formatting import scan_text
from app.ui.viewport.frame_painter import as_image
from app.ui.widgets.form_layout import NoWheelSlider
from app.ui.widgets.message_bars import make_button
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.remark_label import RemarkLabel
from models.training.download import present_vgg
from models.training.download.published import PART_MB
from models.training.presets import PRESETS, STROKES, STYLE_WEIGHT, STYLE_WEIGHTS, Preset
from models.training.run import fit
from utils.images.opening import ImageError
from utils.images.reading import read_pixels
from utils.text import capitalized
from utils.translation.numbers import significant
from utils.translation.texts import mark, tr

SHOWN_SIDE = 560  # pixels of the displayed style picture, enough for scaled displays
GOOD_SIDE = 512  # minimum long side of the painting in pixels, as used by the presets
_PAINTING = mark(
    "Choose a sharp picture of the painting without its frame, of 512 pixels or more. Training "
    "learns its strokes and colors, not its subject"
)
_SMALL = mark("This picture is small: from 512 pixels or more, training learns finer strokes")
_PHOTOGRAPHS = mark(
    "The style practices on these photographs, which stay on this machine. Any subject will do. "
    "Several hundred make a style that works on everything; a few dozen are enough to try"
)
STEPS_PER_UNIT = 4  # slider steps per unit of the style weight


class TrainingForm(QScrollArea):
    """The form of a training request; each field shows a remark on its value.

    The photographs are the only required decision; fields under *Advanced* have defaults.
    `changed` is emitted after every change by the user. `run` is session.run, `picker` creates
    file dialogs.
    """

    changed = Signal()
    own_pictures_wanted = Signal()  # train on the pictures folder

    def __init__(self, run: RunJob, picker: FileDialogs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run, self._picker = run, picker
        self._picture: Path | None = None
        self._shown = QImage()  # the style picture, scaled down
        self._title = ""  # the typed title, while a run's title is shown
        self._title_edited_by_user = False
        self._scan: DatasetScan | None = None
        self._scan_count = 0  # counts the scans; only the newest is used
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make()
        self._lay_out()
        self.show_vgg(None)
        self._update_remarks()

    def _make(self) -> None:
        self.picture = PictureField(
            tr("Painting"),
            tr("Choose the painting whose style to learn (Alt+P)"),
            tr("Drop a painting here, or click to choose one"),
        )
        self.picture.clicked.connect(self.ask_picture)
        self.title = described(
            QLineEdit(), tr("Title"), tr("Name of the style in the gallery (Alt+T)")
        )
        self.title.setMaxLength(80)
        self.title.textEdited.connect(self._title_edited)
        self.folder = PathLabel(tr("Nothing chosen"))
        self.own_pictures = make_button(
            tr("&My pictures"),
            tr("Train on the photographs in your pictures folder"),
            lambda: self.own_pictures_wanted.emit(),
        )
        self.choose_folder = make_button(
            tr("A &folder..."), tr("Choose another folder of photographs"), self.ask_folder
        )
        self.choose_folder.setAccessibleName(tr("Choose the folder of photographs"))
        self.preset = OptionBox(tr("Quality"), tr("Quality and training time (Alt+Q)"))
        self.preset.set_options(Choice(row, tr(row.title), tr(row.words)) for row in PRESETS)
        self.preset.show_choice(next(row for row in PRESETS if row.key == "draft"))
        self.preset.picked.connect(lambda _: self._update_remarks())
        self.advanced_button = described(
            QToolButton(),
            tr("Advanced"),
            tr("Show or hide title, quality, strokes and the helper network (Alt+A)"),
        )
        self.advanced_button.setText(tr("&Advanced"))
        self.advanced_button.setCheckable(True)
        self.advanced_button.setAutoRaise(True)
        self.advanced_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.advanced_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.advanced_button.toggled.connect(self._show_advanced)
        self.stroke = OptionBox(tr("Strokes"), tr("Size of the strokes (Alt+K)"))
        self.stroke.set_options(Choice(row, tr(row.title), tr(row.words)) for row in STROKES)
        self.stroke.show_choice(STROKES[1])
        self.stroke.picked.connect(lambda _: self._update_remarks())
        self.weight = NoWheelSlider(
            tr("Strength of the style"), tr("How strongly the style follows the painting (Alt+R)")
        )
        low, high = (round(value * STEPS_PER_UNIT) for value in STYLE_WEIGHTS)
        self.weight.setRange(low, high)
        self.weight.setPageStep(STEPS_PER_UNIT)
        self.weight.setValue(round(STYLE_WEIGHT * STEPS_PER_UNIT))
        self.weight.valueChanged.connect(lambda _: self._update_remarks())
        self.vgg = PathLabel("")
        self.choose_vgg = make_button(
            tr("Choose fil&e..."), tr("Choose a file of VGG-19's weights"), lambda: self.ask_vgg()
        )
        self.clear_vgg = make_button(
            tr("Use the &default"),
            tr("Use torchvision's weights instead of this file"),
            lambda: self._set_vgg(None),
        )

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("form")
        margins = (2 * SPACE, SPACE, 2 * SPACE, 2 * SPACE)
        column = fill(QVBoxLayout(content), margins=margins, spacing=SPACE // 2)
        self.picture_remark, self.folder_remark, self.preset_remark = (
            RemarkLabel() for _ in range(3)
        )
        self.stroke_remark, self.weight_remark, self.vgg_remark = (RemarkLabel() for _ in range(3))
        add_titled(column, tr("&Painting"), self.picture, self.picture, self.picture_remark)
        add_titled(column, tr("Photographs to train on"), self.folder, None)
        column.addWidget(path_row(QLabel(), self.own_pictures, self.choose_folder))
        column.addWidget(self.folder_remark)
        self.folder_remark.show_text(tr(_PHOTOGRAPHS))
        self.picture_remark.show_text(tr(_PAINTING))
        column.addSpacing(SPACE)
        column.addWidget(self.advanced_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.advanced = QWidget()
        inner = fill(QVBoxLayout(self.advanced), margins=(0, 0, 0, 0), spacing=SPACE // 2)
        add_titled(inner, tr("&Title"), self.title, self.title)
        add_titled(inner, tr("&Quality"), self.preset, self.preset, self.preset_remark)
        add_titled(inner, tr("Stro&kes"), self.stroke, self.stroke, self.stroke_remark)
        strength = tr("St&rength of the style")
        add_titled(inner, strength, self.weight, self.weight, self.weight_remark)
        row = path_row(self.vgg, self.clear_vgg, self.choose_vgg)
        add_titled(inner, tr("Helper network (VGG-19)"), row, None, self.vgg_remark)
        column.addWidget(self.advanced)
        column.addStretch(1)
        self.setWidget(content)
        self._content = content
        self._show_advanced(False)

    def set_editable(self, on: bool) -> None:
        self._content.setEnabled(on)

    def show_run(self, run: RunDirectory | None) -> None:
        """Show picture and title of a run from an earlier session; None restores the form's own."""
        if run is None:
            self.picture.show_image(self._shown)
            self.title.setText(self._title)
            return
        self._title = self.title.text()
        self.title.setText(run.title)

        def done(found: NDArray[np.uint8] | str) -> None:
            if not isinstance(found, str) and not self._content.isEnabled():
                self.picture.show_image(as_image(np.ascontiguousarray(found)).copy())

        self._run(
            lambda: _read(run.style_picture), done, failure="Could not show the style picture"
        )

    def choose_preset(self, preset: Preset) -> None:
        self.preset.show_choice(preset)
        self._update_remarks()

    # The request

    def request(self, start: Style | None, device: str) -> TrainingRequest | None:
        """Return the request; None if `missing_input` is not empty.

        Args:
            start: The style whose weights training starts from, which is much faster than random
                weights. None uses random weights and trains no fast version.
            device: A key of utils.devices.
        """
        if self.missing_input or self._picture is None or self.folder.path is None:
            return None
        return TrainingRequest(
            self.title.text().strip() or self._picture.stem,
            self._picture,
            self.folder.path,
            self.preset.currentData(),
            self.stroke.currentData(),
            self.style_weight,
            self.vgg.path,
            start.weights if start else None,
            device,
            start.lite if start else None,
        )

    @property
    def missing_input(self) -> str:
        """The next step required from the user before training can start, or ""."""
        if self._picture is None:
            return tr("Choose a painting")
        if self.folder.path is None:
            return tr("Choose the photographs to train on")
        if self._scan is not None and not self._scan.usable:
            return tr("Choose a folder that contains photographs")
        return ""

    @property
    def style_weight(self) -> float:
        return self.weight.value() / STEPS_PER_UNIT

    @property
    def needs_download(self) -> bool:
        return self.vgg.path is None and present_vgg() is None

    # The style picture

    def ask_picture(self) -> None:
        self._picker.ask(self, tr("Choose a painting"), OPEN_PICTURE, self.set_picture)

    def set_picture(self, path: Path, title: str = "") -> None:
        """Set the style picture, which is read in the background.

        Args:
            title: Title of the style; "" uses the picture's name unless the user typed a title.
        """

        def done(found: NDArray[np.uint8] | str) -> None:
            if isinstance(found, str):
                self._picture, self._shown = None, QImage()
                self.picture_remark.show_text(capitalized(found))
            else:
                self._picture, self._shown = path, as_image(np.ascontiguousarray(found)).copy()
                small = max(found.shape[:2]) < GOOD_SIDE
                self.picture_remark.show_text(tr(_SMALL) if small else "")
                if title:
                    self.title.setText(title)
                elif not self._title_edited_by_user:
                    self.title.setText(path.stem.replace("_", " ").replace("-", " ").title())
            self.picture.show_image(self._shown)
            self.changed.emit()

        self._run(lambda: _read(path), done, failure=tr("Could not read {name}", name=path.name))

    def _title_edited(self, text: str) -> None:
        self._title_edited_by_user = bool(text.strip())
        self.changed.emit()

    # The photographs

    def ask_folder(self) -> None:
        one = QFileDialog.FileMode.Directory
        dialog = self._picker.dialog(
            self,
            tr("Choose a folder of photographs"),
            OPEN_FOLDER,
            one,
            lambda names: self.set_folder(Path(names[0])),
        )
        if self.folder.path is not None:
            dialog.setDirectory(str(self.folder.path.parent))
        dialog.open()

    def set_folder(self, folder: Path) -> None:
        """Set the folder of photographs, which is scanned in the background."""
        self.folder.show_path(folder)
        self._scan = None
        self.folder_remark.show_text(tr("Counting..."))
        self._scan_count += 1
        number = self._scan_count

        def done(found: DatasetScan) -> None:
            if number == self._scan_count:
                self._scan = found
                self.folder_remark.show_text(scan_text(found))
                self.changed.emit()

        self._run(
            lambda: scan_dataset(folder, lambda: number == self._scan_count),
            done,
            failure="Could not count the photographs",
        )
        self.changed.emit()

    # The loss network

    def ask_vgg(self, then: Callable[[], object] = lambda: None) -> None:
        """Ask for a file with VGG-19's weights; call `then` once the user has chosen one."""

        def chosen(path: Path) -> None:
            self._set_vgg(path)
            then()

        self._picker.ask(self, tr("Choose VGG-19's weights"), OPEN_WEIGHTS, chosen)

    def show_vgg(self, path: Path | None) -> None:
        """Set the file with VGG-19's weights; None uses torchvision's."""
        here = present_vgg() is not None
        nothing = tr("torchvision's") if here else tr("{size} MB to download", size=PART_MB)
        self.vgg.show_path(path, nothing)
        self.clear_vgg.setVisible(path is not None)
        missing = path is not None and not path.is_file()
        self.vgg_remark.show_text(tr("This file no longer exists") if missing else "")

    def _set_vgg(self, path: Path | None) -> None:
        self.show_vgg(path)
        self.changed.emit()

    # Remarks

    def _update_remarks(self) -> None:
        self.preset_remark.show_text(self.preset.remark)
        self.stroke_remark.show_text(self.stroke.remark)
        weight = significant(self.style_weight, 6)
        if self.style_weight == STYLE_WEIGHT:
            words = tr("{weight}: as in the built-in styles", weight=weight)
        elif self.style_weight > STYLE_WEIGHT:
            words = tr("{weight}: more style, less photograph", weight=weight)
        else:
            words = tr("{weight}: more photograph, less style", weight=weight)
        self.weight_remark.show_text(words)
        self.changed.emit()

    def _show_advanced(self, on: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow
        self.advanced_button.setArrowType(arrow)
        self.advanced.setVisible(on)


def _read(path: Path) -> NDArray[np.uint8] | str:
    """Return the picture, scaled down, or a sentence on why it cannot be read."""
    try:
        pixels = read_pixels(path)
    except ImageError as exc:
        return str(exc)
    return fit(pixels, min(SHOWN_SIDE, max(pixels.shape[:2])))
