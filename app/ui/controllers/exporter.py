"""Exports the picture: snapshot, save as, copy, record."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from app.engine.result import StyledFrame
from app.errors import Problem
from app.export.picture_file import write_result
from app.export.video_recorder import Recording, RecordingError
from app.live.display_copy import full_size
from app.live.session import Session
from app.ui.file_dialogs import SAVE_PICTURE as SAVED_AS
from app.ui.file_dialogs import FileDialogs, suggested_name
from app.ui.viewport.viewport import as_image
from app.ui.widgets.prompt_bar import PromptBar
from utils.images.writing import SAVED

Pixels = NDArray[np.uint8]

STILL_SOURCE = "Only a camera or a video can be recorded; press S to save this picture"
NOTHING_MOVED = "The picture did not change, so nothing was recorded; press S to save it"
QUIT_QUESTION = "A recording is in progress. Stop, save it and quit?"


def pictures_folder() -> Path:
    """Folder for snapshots; it may not exist yet."""
    return _folder(QStandardPaths.StandardLocation.PicturesLocation)


def films_folder() -> Path:
    """Folder for recordings; it may not exist yet."""
    return _folder(QStandardPaths.StandardLocation.MoviesLocation)


def _folder(standard: QStandardPaths.StandardLocation) -> Path:
    return Path(QStandardPaths.writableLocation(standard)) / "StyleForge"


class Exporter:
    """Saves, copies and records results; encoding runs on background jobs.

    Args:
        session: the live session.
        current: returns the result on screen.
        say: shows a notice.
        picker: makes file dialogs.
        recording: called when a recording starts and ends.
    """

    def __init__(
        self,
        session: Session,
        current: Callable[[], StyledFrame | None],
        say: Callable[[str], None],
        picker: FileDialogs,
        recording: Callable[[bool], None] = lambda on: None,
    ) -> None:
        self._session, self._current, self._say = session, current, say
        self._picker = picker
        self._folder, self._recordings_folder = pictures_folder, films_folder
        self._on_recording = recording
        self._path: Path | None = None  # path of the recording under way
        self._first: tuple[Pixels, float] | None = None  # its first picture, and when it was shown
        self._recording: Recording | None = None  # from its second picture on
        session.styled.connect(self._record)

    def snapshot(self) -> None:
        """Save the picture at once, named after the style and the time."""
        if styled := self._current_or_notice():
            moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
            self._write(styled, self._folder() / f"{styled.config.style}_{moment}.png")

    def save_as(self, parent: QWidget) -> None:
        """Ask for a file name without stopping the stream.

        The picture that was on screen when the dialog opened is saved.
        """
        styled = self._current_or_notice()
        if styled is None:
            return
        any_file = QFileDialog.FileMode.AnyFile
        dialog = self._picker.dialog(
            parent,
            "Save the picture",
            SAVED_AS,
            any_file,
            lambda names: self.save(styled, Path(names[0])),
            self._folder(),
        )
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        info = self._session.info
        style = styled.running.style or styled.config.style
        dialog.selectFile(suggested_name(info.title if info else "", style))
        dialog.open()

    def save(self, styled: StyledFrame, path: Path) -> None:
        """Write `styled` to `path`; .png is appended unless the extension is a picture format."""
        if path.suffix.lower() not in SAVED:
            path = path.with_name(path.name + ".png")
        self._write(styled, path)

    def copy(self) -> None:
        """Copy the picture to the clipboard."""
        if styled := self._current_or_notice():
            # The clipboard outlives the frame, so it needs its own copy of the pixels.

            def work() -> QImage:
                return as_image(full_size(styled)).copy()

            self._session.run(work, self._copied, doing="copy the picture")

    def _copied(self, image: QImage) -> None:
        QGuiApplication.clipboard().setImage(image)
        self._say("Copied the picture")

    @property
    def recording(self) -> bool:
        """Whether a recording is under way."""
        return self._path is not None

    def record(self) -> None:
        """Start a recording, or finish it and show its path."""
        if self._path is None:
            self._begin()
        elif self._recording is None:
            self._stop()
            self._say(NOTHING_MOVED)
        else:
            recording = self._recording
            self._stop()
            lost = f"; {recording.dropped} frames were dropped" if recording.dropped else ""
            self._session.run(
                recording.finish,
                lambda written: self._say(f"Saved {written}{lost}"),
                doing="record",
            )
        self._on_recording(self.recording)

    def finish(self) -> None:
        """Finish a recording and wait for it; errors are shown."""
        recording = self._recording
        self._stop()
        self._on_recording(False)
        if recording is not None:
            try:
                recording.finish()
            except RecordingError as exc:
                self._session.problem.emit(Problem.of(exc, doing="record"))

    def may_quit(self, questions: PromptBar, quit: Callable[[], object]) -> bool:
        """Whether the program may quit.

        During a recording it asks first; a second request to quit counts as yes.

        Args:
            questions: asks the user.
            quit: called once the user agreed and the recording is complete.
        """
        asked = questions.isVisible() and questions.accessibleDescription() == QUIT_QUESTION
        if not self.recording or asked:
            return True

        def quit_now(_: str) -> None:
            self.finish()
            quit()

        questions.ask(QUIT_QUESTION, "&Save and quit", quit_now, no="&Keep recording")
        return False

    def _begin(self) -> None:
        styled = self._current_or_notice()
        if styled is None:
            return
        if self._session.still:
            self._say(STILL_SOURCE)
            return
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
        self._path = self._recordings_folder() / f"{styled.config.style}_{moment}.mp4"
        # All pictures of a recording have the size of the frames, not of the display.
        self._session.hold(True)
        if styled.captured is None:
            self._first = styled.frame.pixels, time.perf_counter()
        self._say(f"Recording to {self._path}")

    def _stop(self) -> None:
        self._path = self._recording = self._first = None
        self._session.hold(False)

    def _record(self, styled: StyledFrame) -> None:
        if self._path is None or styled.captured is not None:
            return
        try:
            if self._recording is None:
                self._recording = Recording(self._path)
            if self._first is not None:
                self._recording.add(*self._first)
                self._first = None
            self._recording.add(styled.frame.pixels, time.perf_counter())
        except RecordingError:
            self.finish()

    def _current_or_notice(self) -> StyledFrame | None:
        styled = self._current()
        if styled is None:
            self._say("There is no picture yet")
        return styled

    def _write(self, styled: StyledFrame, path: Path) -> None:
        def work() -> list[str]:
            path.parent.mkdir(parents=True, exist_ok=True)
            return write_result(path, styled, full_size(styled))

        def done(lost: list[str]) -> None:
            self._say("; ".join([f"Saved {path}", *lost]))

        self._session.run(work, done, doing=f"save {path.name}")
