"""Creates styles from pictures: chosen as a file, dropped on the gallery, or pasted into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from app.errors import Problem
from app.live.session import Session
from app.ui.actions import set_available, tip_of
from app.ui.controllers.drop_handler import accept_as_copy, drop_advice, nothing_to_paste
from app.ui.controllers.drop_parser import parse_style_drop
from app.ui.file_dialogs import OPEN_PICTURE, FileDialogs
from app.ui.gallery.style_gallery import StyleGallery
from utils.translation.joints import sentences
from utils.translation.texts import mark, tr

MAKERS = ("style_picture", "paste_style")  # actions that create a style from a picture
PASTED_SIDE = 1024  # maximum long side of a pasted picture in pixels; a pack stores less
NO_NETWORK_ADVICE = mark("Use a style of the gallery, or press Ctrl+T to train one from a picture.")
PASTED = mark("Pasted picture")  # title of a style from a picture without a name


class PictureStyles(QObject):
    """Handles drops on `gallery` and pastes into it; `install` asks about a checkpoint or pack."""

    train_wanted = Signal(object)  # Path of a picture that needs training to become a style

    def __init__(
        self,
        session: Session,
        gallery: StyleGallery,
        install: Callable[[Path], object],
        picker: FileDialogs,
        actions: Mapping[str, QAction],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._gallery, self._install = session, gallery, install
        self._picker, self._actions, self._window = picker, actions, parent
        self._pasted = QTemporaryDir()  # deleted with this object
        self._count = 0  # of pasted pictures
        self._looks = 0  # searches for a network
        self._reason = ""  # why a picture cannot become a style
        gallery.drag_entered.connect(self._enter)
        gallery.drag_left.connect(gallery.hide_drop_hint)
        gallery.dropped.connect(self._drop)
        session.styles_changed.connect(self._look_for_network)
        self._look_for_network()

    @property
    def unavailable_reason(self) -> str:
        """Why a picture cannot become a style, as a sentence; "" if it can."""
        return self._reason

    def ask_picture(self) -> None:
        """Ask for pictures and create a style from each; the stream continues."""
        self._picker.dialog(
            self._window,
            tr("Style from a picture"),
            OPEN_PICTURE,
            QFileDialog.FileMode.ExistingFiles,
            lambda names: self.take(*map(Path, names)),
        ).open()

    def take(self, *pictures: Path) -> None:
        """Create a style per picture and choose the last; without a network, offer training."""
        if self._reason:
            self.train_wanted.emit(pictures[0])
            return
        for picture in pictures:
            self._session.user_styles.install_picture(picture)

    def paste(self) -> None:
        clipboard = QGuiApplication.clipboard()
        data = clipboard.mimeData() or QMimeData()  # None for an empty clipboard
        if not (data.hasImage() or data.hasUrls() or data.hasText()):
            self._session.problem.emit(nothing_to_paste())
        else:
            self._take_data(data, clipboard.image())

    def _enter(self, event: QDragEnterEvent) -> None:
        drop = parse_style_drop(event.mimeData())
        if self._reason and drop.pictures:
            self._gallery.show_drop_hint(
                tr("Drop to train a style from this painting"), self._reason
            )
        elif self._reason and drop.image:
            self._gallery.show_drop_hint(
                tr("No style can be made from it"), self._reason, accepted=False
            )
        else:
            self._gallery.show_drop_hint(drop.title, drop.detail, accepted=drop.accepted)
        if drop.accepted:
            accept_as_copy(event)
        else:  # accepted anyway, to receive the leave and drop events
            event.setDropAction(Qt.DropAction.IgnoreAction)
            event.accept()

    def _drop(self, event: QDropEvent) -> None:
        self._gallery.hide_drop_hint()
        accept_as_copy(event)
        data = event.mimeData()
        image = data.imageData() if data.hasImage() else None
        self._take_data(data, image if isinstance(image, QImage) else QImage())

    def _take_data(self, data: QMimeData, image: QImage) -> None:
        drop = parse_style_drop(data)
        if drop.weights is not None:
            self._install(drop.weights)
        elif drop.styles:
            self._session.user_styles.install_all(drop.styles)
        elif drop.pictures:
            self.take(*drop.pictures)
        elif drop.image and not image.isNull():
            self._take_image(image)
        else:
            self._session.problem.emit(
                Problem(f"{sentences(drop.title, drop.detail)}.", advice=drop_advice())
            )

    def _take_image(self, image: QImage) -> None:
        """Create a style from a picture that is not a file; a job writes it to one."""
        if self._reason:
            self._session.problem.emit(Problem(self._reason, advice=tr(NO_NETWORK_ADVICE)))
            return
        self._count += 1
        path = Path(self._pasted.path()) / f"Pasted {self._count}.png"

        def work() -> Path:
            small = image
            if max(image.width(), image.height()) > PASTED_SIDE:
                keep, smooth = (
                    Qt.AspectRatioMode.KeepAspectRatio,
                    Qt.TransformationMode.SmoothTransformation,
                )
                small = image.scaled(PASTED_SIDE, PASTED_SIDE, keep, smooth)
            if not small.save(str(path)):
                raise OSError(f"the picture could not be written to {path}")
            return path

        def done(written: Path) -> None:
            self._session.user_styles.install_picture(written, tr(PASTED))

        self._session.run(work, done, failure="Could not paste the picture")

    def _look_for_network(self) -> None:
        self._looks += 1
        number, networks = self._looks, self._session.catalog.networks

        def done(reason: str) -> None:
            if number == self._looks:  # only the newest search reflects the current state
                self._show_reason(reason)

        self._session.run(
            lambda: networks.unavailable_reason, done, failure="Could not look for a network"
        )

    def _show_reason(self, reason: str) -> None:
        self._reason = f"{reason[:1].upper()}{reason[1:]}"
        for key in MAKERS:
            set_available(self._actions[key], tip_of(key), self._reason)
