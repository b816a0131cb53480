"""What is to be trained: picture, photographs, quality, and what hardly anybody changes."""

from __future__ import annotations

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
from app.training.dataset_scan import DatasetScan, scan_dataset
from app.training.request import TrainingRequest
from app.training.run_store import RunDirectory
from app.ui.file_dialogs import FOLDER, PICTURE, WEIGHTS, FileDialogs
from app.ui.theme.tokens import SPACE
from app.ui.training.fields import PathLabel, PictureField, path_row
from app.ui.widgets.form_layout import NoWheelSlider
from app.ui.widgets.message_bars import button
from app.ui.widgets.option_box import Choice, OptionBox
from models.training.download import SIZE_MB, vgg_cache
from models.training.presets import PRESETS, STROKES, STYLE_WEIGHT, STYLE_WEIGHTS, Preset
from models.training.run import fit
from utils.images.opening import ImageError
from utils.images.reading import read_pixels

SHOWN_SIDE = 560  # pixels of the style picture on screen, for scaled displays too
STEPS_PER_UNIT = 4  # of the slider of the style's weight


class Form(QScrollArea):
    """`changed` follows everything the user does to the order; what is chosen and how good it is
    shows beside each field. `run` is session.run, `picker` asks for files."""

    changed = Signal()

    def __init__(self, run: RunJob, picker: FileDialogs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run, self._picker = run, picker
        self._picture: Path | None = None
        self._shown = QImage()  # the picture, small
        self._title = ""  # the one typed, while that of a run is shown
        self._titled_by_user = False
        self._survey: DatasetScan | None = None
        self._surveys = 0  # counts them; only the newest is wanted
        self.setObjectName("panelScroll")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make()
        self._lay_out()
        self.show_vgg(None)
        self._follow_choices()

    def _make(self) -> None:
        self.picture = PictureField(
            "Style picture",
            "Choose the picture whose style is to be learned (Alt+P)",
            "Drop a painting here, or click to choose one",
        )
        self.picture.clicked.connect(self.ask_picture)
        self.title = QLineEdit()
        self.title.setAccessibleName("Title")
        self.title.setToolTip("What the style is called in the gallery (Alt+T)")
        self.title.setMaxLength(80)
        self.title.textEdited.connect(self._title_edited)
        self.folder = PathLabel("No folder chosen")
        self.choose_folder = button(
            "C&hoose...", "Choose a folder of photographs to practise on", self.ask_folder
        )
        self.choose_folder.setAccessibleName("Choose the folder of photographs")
        self.preset = OptionBox("Quality", "How long and how finely to train (Alt+Q)")
        self.preset.offer(Choice(row, row.title, row.words) for row in PRESETS)
        self.preset.show_choice(next(row for row in PRESETS if row.key == "draft"))
        self.preset.picked.connect(lambda _: self._follow_choices())
        self.more = QToolButton()
        self.more.setText("&Advanced")
        self.more.setAccessibleName("Advanced")
        self.more.setToolTip("Show or hide strokes, weight and the judging network (Alt+A)")
        self.more.setCheckable(True)
        self.more.setAutoRaise(True)
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.more.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more.toggled.connect(self._show_more)
        self.stroke = OptionBox("Strokes", "How large the strokes become (Alt+K)")
        self.stroke.offer(Choice(row, row.title, row.words) for row in STROKES)
        self.stroke.show_choice(STROKES[1])
        self.stroke.picked.connect(lambda _: self._follow_choices())
        self.weight = NoWheelSlider(
            "Style weight", "How much the style counts against the photograph (Alt+W)"
        )
        low, high = (round(value * STEPS_PER_UNIT) for value in STYLE_WEIGHTS)
        self.weight.setRange(low, high)
        self.weight.setPageStep(STEPS_PER_UNIT)
        self.weight.setValue(round(STYLE_WEIGHT * STEPS_PER_UNIT))
        self.weight.valueChanged.connect(lambda _: self._follow_choices())
        self.vgg = PathLabel("")
        self.choose_vgg = button(
            "Choose &file...", "Choose a file of VGG-19's weights", self.ask_vgg
        )
        self.forget_vgg = button(
            "Fo&rget", "Use torchvision's weights instead of this file", lambda: self._take_vgg("")
        )

    def _lay_out(self) -> None:
        content = QFrame()
        content.setObjectName("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(2 * SPACE, SPACE, 2 * SPACE, 2 * SPACE)
        column.setSpacing(SPACE // 2)
        self.picture_remark, self.folder_remark, self.preset_remark = (_muted() for _ in range(3))
        self.stroke_remark, self.weight_remark, self.vgg_remark = (_muted() for _ in range(3))
        _titled(column, "Style &picture", self.picture, self.picture, self.picture_remark)
        _titled(column, "&Title", self.title, self.title)
        row = path_row(self.folder, self.choose_folder)
        _titled(column, "Photographs", row, None, self.folder_remark)
        _titled(column, "&Quality", self.preset, self.preset, self.preset_remark)
        column.addSpacing(SPACE)
        column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.advanced = QWidget()
        inner = QVBoxLayout(self.advanced)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(SPACE // 2)
        _titled(inner, "Stro&kes", self.stroke, self.stroke, self.stroke_remark)
        _titled(inner, "Style &weight", self.weight, self.weight, self.weight_remark)
        row = path_row(self.vgg, self.forget_vgg, self.choose_vgg)
        _titled(inner, "Judging network (VGG-19)", row, None, self.vgg_remark)
        column.addWidget(self.advanced)
        column.addStretch(1)
        self.setWidget(content)
        self._content = content
        self._show_more(False)

    def set_editable(self, on: bool) -> None:
        """While something is trained, its order stays as it is."""
        self._content.setEnabled(on)

    def show_run(self, run: RunDirectory | None) -> None:
        """Show the picture and title of a run of an earlier sitting, whose order is not this
        form's; of None, the form's own again."""
        if run is None:
            self.picture.show_image(self._shown)
            self.title.setText(self._title)
            return
        self._title = self.title.text()
        self.title.setText(run.title)

        def done(found: NDArray[np.uint8] | str) -> None:
            if not isinstance(found, str) and not self._content.isEnabled():
                self.picture.show_image(_image(found))

        self._run(lambda: _read(run.style_picture), done, doing="show the style picture")

    def choose_preset(self, preset: Preset) -> None:
        """Show `preset` as the one chosen."""
        self.preset.show_choice(preset)
        self._follow_choices()

    # The order

    def order(self, init: Path | None, device: str) -> TrainingRequest | None:
        """What is chosen, or None while `lacking` says what is missing."""
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
            init,
            device,
        )

    @property
    def missing_input(self) -> str:
        """What has to be done before training can start; empty when nothing is."""
        if self._picture is None:
            return "Choose a style picture"
        if self.folder.path is None:
            return "Choose a folder of photographs"
        if self._survey is not None and not self._survey.usable:
            return "Choose a folder with photographs in it"
        return ""

    @property
    def style_weight(self) -> float:
        return self.weight.value() / STEPS_PER_UNIT

    @property
    def needs_download(self) -> bool:
        """Whether VGG-19 would have to be downloaded first."""
        return self.vgg.path is None and not vgg_cache().is_file()

    # The style picture

    def ask_picture(self) -> None:
        one = QFileDialog.FileMode.ExistingFile
        self._picker.dialog(
            self,
            "Choose a style picture",
            PICTURE,
            one,
            lambda names: self.take_picture(Path(names[0])),
        ).open()

    def take_picture(self, path: Path) -> None:
        """Learn the style of the picture `path`; it is read in the background."""

        def done(found: NDArray[np.uint8] | str) -> None:
            if isinstance(found, str):
                self._picture, self._shown = None, QImage()
                _say(self.picture_remark, _sentence(found))
            else:
                self._picture, self._shown = path, _image(found)
                _say(self.picture_remark, "")
                if not self._titled_by_user:
                    self.title.setText(path.stem.replace("_", " ").replace("-", " ").title())
            self.picture.show_image(self._shown)
            self.changed.emit()

        self._run(lambda: _read(path), done, doing=f"read {path.name}")

    def _title_edited(self, text: str) -> None:
        self._titled_by_user = bool(text.strip())
        self.changed.emit()

    # The photographs

    def ask_folder(self) -> None:
        one = QFileDialog.FileMode.Directory
        dialog = self._picker.dialog(
            self,
            "Choose a folder of photographs",
            FOLDER,
            one,
            lambda names: self.take_folder(Path(names[0])),
        )
        if self.folder.path is not None:
            dialog.setDirectory(str(self.folder.path.parent))
        dialog.open()

    def take_folder(self, folder: Path) -> None:
        """Practise on the photographs in `folder`; they are counted in the background."""
        self.folder.show_path(folder)
        self._survey = None
        _say(self.folder_remark, "Counting...")
        self._surveys += 1
        number = self._surveys

        def done(found: DatasetScan) -> None:
            if number == self._surveys:
                self._survey = found
                _say(self.folder_remark, found.words)
                self.changed.emit()

        self._run(
            lambda: scan_dataset(folder, lambda: number == self._surveys),
            done,
            doing="count photographs",
        )
        self.changed.emit()

    # The judging network

    def ask_vgg(self) -> None:
        """Ask for a file of VGG-19's weights."""
        one = QFileDialog.FileMode.ExistingFile
        self._picker.dialog(
            self, "Choose VGG-19's weights", WEIGHTS, one, lambda names: self._take_vgg(names[0])
        ).open()

    def show_vgg(self, path: Path | None) -> None:
        """Judge with the weights in `path`, or with torchvision's."""
        here = vgg_cache().is_file()
        nothing = "torchvision's" if here else f"torchvision's, {SIZE_MB} MB to download"
        self.vgg.show_path(path, nothing)
        self.forget_vgg.setVisible(path is not None)
        missing = path is not None and not path.is_file()
        _say(self.vgg_remark, "This file does not exist any more" if missing else "")

    def _take_vgg(self, name: str) -> None:
        self.show_vgg(Path(name) if name else None)
        self.changed.emit()

    # The rest

    def _follow_choices(self) -> None:
        _say(self.preset_remark, self.preset.remark)
        _say(self.stroke_remark, self.stroke.remark)
        words = "as in the built-in styles" if self.style_weight == STYLE_WEIGHT else ""
        if not words:
            more = self.style_weight > STYLE_WEIGHT
            words = "more style, less photograph" if more else "more photograph, less style"
        _say(self.weight_remark, f"{self.style_weight:g}: {words}")
        self.changed.emit()

    def _show_more(self, on: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow
        self.more.setArrowType(arrow)
        self.advanced.setVisible(on)


def _read(path: Path) -> NDArray[np.uint8] | str:
    """The picture, made small, or the sentence on why it is none."""
    try:
        pixels = read_pixels(path)
    except ImageError as exc:
        return str(exc)
    return fit(pixels, min(SHOWN_SIDE, max(pixels.shape[:2])))


def _image(pixels: NDArray[np.uint8]) -> QImage:
    """A QImage of its own, of (H, W, 3) uint8 RGB."""
    height, width = pixels.shape[:2]
    pixels = np.ascontiguousarray(pixels)
    form = QImage.Format.Format_RGB888
    return QImage(pixels.data, width, height, pixels.strides[0], form).copy()


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _muted() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("role", "muted")
    label.hide()
    return label


def _say(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def _titled(
    column: QVBoxLayout,
    title: str,
    control: QWidget,
    buddy: QWidget | None,
    remark: QLabel | None = None,
) -> None:
    """A heading above its control, whose mnemonic leads to `buddy`, and a remark below it."""
    label = QLabel(title)
    label.setProperty("role", "heading")
    if buddy is not None:
        label.setBuddy(buddy)
    column.addSpacing(SPACE)
    column.addWidget(label)
    column.addWidget(control)
    if remark is not None:
        column.addWidget(remark)
