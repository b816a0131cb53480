"""Takes the picture out of the window: snapshot, save as, copy, record."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from app.metadata import metadata
from app.problems import Problem
from app.recording import Recording, RecordingError
from app.session import Session
from app.styled import Styled
from app.ui.viewport import as_image
from utils.image_utils import SAVED, save_image

FILTER = "PNG (*.png);;JPEG (*.jpg *.jpeg);;WebP (*.webp)"


def pictures_folder() -> Path:
    """Where snapshots go; need not exist yet."""
    return _folder(QStandardPaths.StandardLocation.PicturesLocation)


def films_folder() -> Path:
    """Where recordings go; need not exist yet."""
    return _folder(QStandardPaths.StandardLocation.MoviesLocation)


def _folder(standard: QStandardPaths.StandardLocation) -> Path:
    return Path(QStandardPaths.writableLocation(standard)) / "StyleForge"


class Exporter:
    """Encodes on a job. `current` gives the result on screen, `say` shows where it went, and
    `recording` is told when a recording begins and ends."""

    def __init__(
        self,
        session: Session,
        current: Callable[[], Styled | None],
        say: Callable[[str], None],
        recording: Callable[[bool], None] = lambda on: None,
    ) -> None:
        self._session, self._current, self._say = session, current, say
        self._folder, self._films_folder = pictures_folder, films_folder
        self._tell, self._film = recording, None
        session.styled.connect(self._record)

    _film: Recording | None

    def snapshot(self) -> None:
        """Save the picture at once, under a name made of the style and the time."""
        if styled := self._something():
            moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
            self._write(styled, self._folder() / f"{styled.config.style}_{moment}.png")

    def save_as(self, parent: QWidget) -> None:
        """Ask for a name, without stopping the stream; what is saved is the picture that was
        on screen when the question was asked."""
        styled = self._something()
        if styled is None:
            return
        dialog = QFileDialog(parent, "Save the picture", str(self._folder()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{styled.config.style}.png")
        dialog.fileSelected.connect(lambda name: self.save(styled, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, styled: Styled, path: Path) -> None:
        """Write `styled` to `path`; an ending that is no picture format becomes .png."""
        if path.suffix.lower() not in SAVED:
            path = path.with_name(path.name + ".png")
        self._write(styled, path)

    def copy(self) -> None:
        """Put the picture on the clipboard."""
        if styled := self._something():
            # The clipboard outlives the frame, so it gets its own copy of the pixels.
            self._session.run(
                lambda: as_image(styled.frame).copy(), self._copied, doing="copy the picture"
            )

    def _copied(self, image: QImage) -> None:
        QGuiApplication.clipboard().setImage(image)
        self._say("Copied the picture")

    def record(self) -> None:
        """Begin a film of the stream, or end it and say where it is."""
        if self._film is None:
            styled = self._something()
            if styled is not None:
                moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
                name = f"{styled.config.style}_{moment}.mp4"
                self._film = Recording(self._films_folder() / name)
                self._say(f"Recording to {self._film.path}")
                self._record(styled)
        else:
            film, self._film = self._film, None
            lost = f"; {film.dropped} frames were dropped" if film.dropped else ""
            self._session.run(
                film.finish,
                lambda written: self._say(f"Saved {written}{lost}"),
                doing="record",
            )
        self._tell(self._film is not None)

    def end(self) -> None:
        """Complete a film under way, waiting for it; what goes wrong is shown."""
        if self._film is not None:
            film, self._film = self._film, None
            self._tell(False)
            try:
                film.finish()
            except RecordingError as exc:
                self._session.problem.emit(Problem.of(exc, doing="record"))

    def _record(self, styled: Styled) -> None:
        if self._film is not None:
            try:
                self._film.add(styled.frame.pixels, time.perf_counter())
            except RecordingError:
                self.end()

    def _something(self) -> Styled | None:
        styled = self._current()
        if styled is None:
            self._say("There is no picture yet")
        return styled

    def _write(self, styled: Styled, path: Path) -> None:
        def work() -> Path:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_image(path, styled.frame.pixels, metadata(styled))
            return path

        def done(written: Path) -> None:
            self._say(f"Saved {written}")

        self._session.run(work, done, doing=f"save {path.name}")
