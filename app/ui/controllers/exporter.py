"""Exports the picture: snapshot, save as, copy, record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.errors import Problem
from app.export.picture_file import write_result
from app.export.video_recorder import Recording, RecordingError
from app.live.display_copy import full_size
from app.sound.device import Heard, Input, Listener, SoundError
from app.sound.portaudio import PortAudioInput
from app.training.request import OWN_RESULTS
from app.ui.controllers.full_quality import FullQuality
from app.ui.file_dialogs import SAVE_PICTURE as SAVED_AS
from app.ui.file_dialogs import suggested_name
from app.ui.viewport.frame_painter import as_image
from app.ui.window_context import WindowContext
from utils.images.writing import SAVED
from utils.stop_flag import Stopped
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr, trn

Pixels = NDArray[np.uint8]

STILL_SOURCE = mark("Only a camera or a video can be recorded; press S to save this picture")
NOTHING_MOVED = mark("The picture did not change, so nothing was recorded; press S to save it")
MICROPHONE_LOST = mark(
    "The microphone was unplugged or failed; the recording continues without sound"
)
RECORDED = {  # sound of recordings, in the order of the key
    mark("none", "sound"): mark("Recordings have no sound"),
    mark("film", "sound"): mark("Recordings have the sound of the film"),
    mark("microphone", "sound"): mark("Recordings have the sound of the microphone"),
}


def pictures_folder() -> Path:
    """Return the folder for snapshots, which may not exist yet."""
    return _folder(QStandardPaths.StandardLocation.PicturesLocation)


def films_folder() -> Path:
    """Return the folder for recordings, which may not exist yet."""
    return _folder(QStandardPaths.StandardLocation.MoviesLocation)


def _folder(standard: QStandardPaths.StandardLocation) -> Path:
    return Path(QStandardPaths.writableLocation(standard)) / OWN_RESULTS


class Exporter:
    """Saves, copies and records results; background jobs encode them.

    Args:
        recording: Called when a recording starts or ends.
        saved: Receives the path of a saved file and a sentence.
        full_quality: Renders what is saved.
    """

    def __init__(
        self,
        context: WindowContext,
        recording: Callable[[bool], None],
        saved: Callable[[Path, str], None],
        full_quality: FullQuality,
        microphone: Callable[[Listener, Callable[[], None]], Input] = PortAudioInput,
    ) -> None:
        session = self._session = context.session
        self._current, self._say, self._picker = (
            context.styled_or_notice,
            context.say,
            context.dialogs,
        )
        self._settings, self._saved, self._full_quality = context.settings, saved, full_quality
        self._folder, self._recordings_folder = pictures_folder, films_folder
        self._on_recording = recording
        self._open_microphone = microphone
        self._recording: Recording | None = None
        self._opening: object | None = None  # token of a recording that waits for the microphone
        self._microphone: Input | None = None
        self._first: tuple[Pixels, float] | None = None  # the first picture and its moment
        self._moved = False  # whether another picture followed
        # The picture on screen at the start.
        self._began_with: tuple[int, EngineConfig] | None = None
        session.styled.connect(self._record)
        session.ending.connect(self._end)

    def snapshot(self) -> None:
        """Save the picture at once, named after the style and the time."""
        if styled := self._current():
            moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
            self._write(styled, self._folder() / f"{styled.config.style}_{moment}.png")

    def save_as(self, parent: QWidget) -> None:
        """Ask for a file name while streaming; the picture saved is the one now on screen."""
        styled = self._current()
        if styled is None:
            return
        dialog = self._picker.saving(
            parent,
            tr("Save the picture"),
            SAVED_AS,
            lambda path: self.save(styled, path),
            self._folder(),
        )
        dialog.setDefaultSuffix("png")
        info = self._session.info
        style = styled.running.style or styled.config.style
        dialog.selectFile(suggested_name(info.title if info else "", style))
        dialog.open()

    def save(self, styled: StyledFrame, path: Path) -> None:
        """Write `styled` to `path`; append .png unless the extension is a picture format."""
        if path.suffix.lower() not in SAVED:
            path = path.with_name(path.name + ".png")
        self._write(styled, path)

    def copy(self) -> None:
        if styled := self._current():
            # The clipboard outlives the frame, so it needs its own copy of the pixels.

            def work() -> tuple[QImage, list[str]] | None:
                with suppress(Stopped):
                    whole, lost = self._full_quality.render(styled)
                    return as_image(full_size(whole)).copy(), lost
                return None

            self._session.run(work, self._copied, failure="Could not copy the picture")

    def _copied(self, copied: tuple[QImage, list[str]] | None) -> None:
        if copied is None:
            return  # canceled
        image, lost = copied
        QGuiApplication.clipboard().setImage(image)
        self._say(clauses([tr("Copied the picture"), *lost]))

    @property
    def recording(self) -> bool:
        """Whether a recording is running or waits for the microphone."""
        return self._recording is not None or self._opening is not None

    @property
    def recorded(self) -> tuple[float, int] | None:
        """Seconds and bytes recorded so far; None without a recording."""
        recording = self._recording
        return None if recording is None else (recording.seconds, recording.bytes)

    def record(self) -> None:
        """Start a recording, or finish it and show its path."""
        if not self.recording:
            self._begin()
        else:
            recording, moved = self._recording, self._moved
            microphone = self._stop()
            if microphone is not None:
                self._session.run(
                    microphone.close, lambda _: None, failure="Could not close the microphone"
                )
            if recording is not None and moved:
                dropped = recording.dropped
                self._session.write(
                    recording.finish,
                    lambda written: self._saved(written, _saved_words(written, dropped)),
                    failure="Could not record",
                )
            elif recording is not None:
                recording.discard()
                self._say(tr(NOTHING_MOVED))
        self._on_recording(self.recording)

    def _end(self) -> None:
        """End a recording whose window did not close; its thread completes the file."""
        if self._recording is not None:
            self._recording.end()
        if self._microphone is not None:
            self._microphone.close()

    def _begin(self) -> None:
        styled = self._current()
        if styled is None:
            return
        if self._session.still:
            self._say(tr(STILL_SOURCE))
            return
        sound = self._settings().record_sound
        if sound == "microphone":
            self._begin_with_microphone(styled)
        else:
            self._start(styled, with_sound=sound == "film")

    def _begin_with_microphone(self, styled: StyledFrame) -> None:
        """Open the microphone, then start, unless the user presses R again before."""
        self._opening = opening = object()

        def hear(heard: Heard) -> None:
            if (recording := self._recording) is not None:
                recording.hear(heard)

        def lost() -> None:
            self._session.notice.emit(tr(MICROPHONE_LOST))

        def opened(microphone: Input) -> None:
            if self._opening is not opening:
                self._session.run(
                    microphone.close, lambda _: None, failure="Could not close the microphone"
                )
                return
            self._microphone = microphone
            self._start(styled, with_sound=True)

        def work() -> Input | SoundError:
            try:
                return self._open_microphone(hear, lost)
            except SoundError as exc:
                return exc

        def done(result: Input | SoundError) -> None:
            if not isinstance(result, SoundError):
                opened(result)
            elif self._opening is opening:
                self._stop()
                self._on_recording(False)
                self._session.problem.emit(
                    Problem.of(result, failure="Could not record the microphone")
                )

        self._session.run(work, done, failure="Could not record the microphone")

    def _start(self, styled: StyledFrame, *, with_sound: bool) -> None:
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
        path = self._recordings_folder() / f"{styled.config.style}_{moment}.mp4"
        self._opening, self._moved, self._began_with = None, False, _shows(styled)
        words = tr("Recording to {path}", path=path)
        if with_sound and self._microphone is None and self._session.silence is None:
            with_sound = False
            words = tr("Recording to {path}, without sound, since the source has none", path=path)
        self._recording = Recording(path, sound=with_sound)
        if with_sound and self._microphone is None:
            self._session.listen(self._recording.hear)
        # All pictures of a recording have the size of the frames, not of the display.
        self._session.hold(True)
        if styled.captured is None:
            self._first = styled.frame.pixels, styled.source.moment
        self._on_recording(True)
        self._say(words)

    def _stop(self) -> Input | None:
        """End everything except the file and the microphone; return the microphone."""
        microphone, self._microphone = self._microphone, None
        self._recording = self._first = self._opening = None
        self._session.listen(None)
        self._session.hold(False)
        return microphone

    def _record(self, styled: StyledFrame) -> None:
        recording = self._recording
        if recording is None or styled.captured is not None:
            return
        if not self._moved and _shows(styled) == self._began_with:
            return  # a refined version of the initial picture
        self._moved = True
        try:
            if self._first is not None:
                recording.add(*self._first)
                self._first = None
            recording.add(styled.frame.pixels, styled.source.moment)
        except RecordingError:
            self.record()

    def _write(self, styled: StyledFrame, path: Path) -> None:
        def write(whole: StyledFrame) -> list[str]:
            pixels = full_size(whole)
            height, width = pixels.shape[:2]
            lost = write_result(path, whole, pixels)
            return [tr("{width}x{height} pixels", width=width, height=height), *lost]

        self._full_quality.save(styled, path, write)


def _shows(styled: StyledFrame) -> tuple[int, EngineConfig]:
    """Return the values that identify a picture across refinements."""
    return styled.source.index, styled.config


def _saved_words(path: Path, dropped: int) -> str:
    if not dropped:
        return tr("Saved {path}", path=path)
    return trn(
        "Saved {path}; {n} frame was dropped",
        "Saved {path}; {n} frames were dropped",
        dropped,
        path=path,
    )
