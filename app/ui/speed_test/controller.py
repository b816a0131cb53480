"""Runs the speed test: fills its sheet, measures in a job, copies and saves the result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFont, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.engine.post.blending import fit_to
from app.engine.resolution import fit
from app.engine.result import StyledFrame
from app.speed_test.machine import this_machine
from app.speed_test.measuring import USUAL, Effort, Progress, Task, measure
from app.speed_test.result import SpeedResult, live_result
from app.speed_test.text import as_text, conditions
from app.ui.file_dialogs import SAVE_PICTURE, suggested_name
from app.ui.speed_test.card import card_of, paint_card
from app.ui.speed_test.sheet import SpeedSheet
from app.ui.theme.icons import application_icon
from app.ui.theme.theme import Theme
from app.ui.viewport.frame_painter import as_image
from app.ui.window_context import WindowContext
from utils.images.writing import SAVED, write_pixels
from utils.stop_flag import StopFlag, Stopped
from utils.translation.texts import mark, tr

LOGO = 128  # pixels; the card shows it smaller
NO_TIMES = mark("There are no times yet; wait for the first pictures of the speed test")


class SpeedTestController(QObject):
    """Owns the sheet. The stream rests while engines are measured.

    Attributes:
        effort: How long each engine is measured.
        result: The newest complete measurement; None before the first.
    """

    _progressed = Signal(object)  # Progress
    _ended = Signal()

    def __init__(
        self, context: WindowContext, theme: Theme, saved: Callable[[Path, str], None]
    ) -> None:
        super().__init__(context.window)
        self._context, self._session, self._theme = context, context.session, theme
        self._saved = saved
        self.effort: Effort = USUAL
        self.result: SpeedResult | None = None
        self.sheet = sheet = SpeedSheet(context.window)
        self._stop: StopFlag | None = None  # of the measurement under way
        self._was_paused = False
        self._lock, self._closed = threading.Lock(), False
        sheet.measure_wanted.connect(self.measure)
        sheet.canceled.connect(self.cancel)
        sheet.text_wanted.connect(self.copy_text)
        sheet.picture_wanted.connect(self.copy_picture)
        sheet.file_wanted.connect(self.ask_file)
        self._progressed.connect(self._show_progress)
        self._ended.connect(self._end)
        self._session.styled.connect(self._on_styled)
        self._session.ending.connect(self._close)

    @property
    def measuring(self) -> bool:
        return self._stop is not None

    def set_testing(self, testing: bool) -> None:
        """Show the sheet while the speed test is the view; leaving it ends a measurement."""
        self.sheet.set_shown(testing)
        if not testing:
            self.cancel()
            self.sheet.curve.clear()

    def measure(self) -> None:
        """Measure all engines on the picture on screen, at the size and precision of the test."""
        styled, test = self._context.styled_or_notice(), self._session.choice.test
        if styled is None or test is None or self._stop is not None:
            return
        stop = self._stop = StopFlag()
        self._rest(True)
        config, catalog, effort = self._session.choice.shown, self._session.catalog, self.effort
        frame, lite = styled.captured or styled.source, styled.running.lite
        size = fit(frame.width, frame.height, test.size)

        def work() -> SpeedResult | None:
            try:
                pixels = fit_to(frame.pixels, size, np.empty((0, 0, 3), np.uint8))
                task = Task(config, lite, pixels, test.precision)
                return measure(catalog, task, stop, self._tell, effort)
            except Stopped:
                return None
            finally:
                with self._lock:
                    if not self._closed:
                        self._ended.emit()

        self._session.run(work, self._take, failure="Could not measure the engines")

    def cancel(self) -> None:
        """End a measurement after the picture under way; the result before it stays."""
        if self._stop is not None:
            self._stop.set()

    def _tell(self, progress: Progress) -> None:
        """Pass progress to the window, from the job's thread."""
        with self._lock:
            if not self._closed:
                self._progressed.emit(progress)

    def _show_progress(self, progress: Progress) -> None:
        if self._stop is not None:
            self.sheet.show_progress(progress)

    def _end(self) -> None:
        self._stop = None
        self._rest(False)
        self.sheet.show_result(self.result)

    def _take(self, result: SpeedResult | None) -> None:
        if result is not None:
            self.result = result
            self.sheet.show_result(result)

    def _rest(self, on: bool) -> None:
        """Pause the stream, which would share the machine, or continue it."""
        if on:
            self._was_paused = self._session.paused
            self._session.paused = self._was_paused or self._session.streaming
        self._session.rest(on)
        if not on:
            self._session.paused = self._was_paused

    def _close(self) -> None:
        with self._lock:
            self._closed = True
        self.cancel()

    def _on_styled(self, styled: StyledFrame) -> None:
        if styled.comparison is not None:
            self.sheet.curve.add(styled.comparison)

    # Sharing

    def copy_text(self) -> None:
        said = self._copied_words()

        def copied(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            self._context.say(said)

        if (result := self._shared_result()) is not None:
            self._session.run(
                lambda: as_text(result()), copied, failure="Could not copy the result"
            )

    def _copied_words(self) -> str:
        """Return the notice; it names the conditions of a table, which the test may have left."""
        if self.result is None:
            return tr("Copied the result")
        return tr("Copied the result, measured at {conditions}", conditions=conditions(self.result))

    def copy_picture(self) -> None:
        def copied(card: QImage) -> None:
            QGuiApplication.clipboard().setImage(card)
            self._context.say(tr("Copied the result as a picture"))

        if (card := self._card()) is not None:
            self._session.run(card, copied, failure="Could not copy the result")

    def ask_file(self) -> None:
        """Ask where to save the card; it shows the picture that is on screen now."""
        if (card := self._card()) is None:
            return
        dialog = self._context.dialogs.saving(
            self._context.window,
            tr("Save the result as a picture"),
            SAVE_PICTURE,
            lambda path: self.save(path, card),
        )
        dialog.setDefaultSuffix("png")
        dialog.selectFile(suggested_name("", tr("Speed test")))
        dialog.open()

    def save(self, path: Path, card: Callable[[], QImage]) -> None:
        """Write a card to `path`; append .png unless the extension is a picture format."""
        if path.suffix.lower() not in SAVED:
            path = path.with_name(f"{path.name}.png")

        def work() -> None:
            picture = card().convertToFormat(QImage.Format.Format_RGB888)
            rows = np.frombuffer(picture.constBits(), np.uint8)
            rows = rows.reshape(picture.height(), picture.bytesPerLine())
            pixels = rows[:, : 3 * picture.width()].reshape(picture.height(), picture.width(), 3)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_pixels(path, np.ascontiguousarray(pixels))

        self._session.write(
            work,
            lambda _: self._saved(path, tr("Saved {path}", path=path)),
            failure=tr("Could not save {name}", name=path.name),
        )

    def _shared_result(self) -> Callable[[], SpeedResult] | None:
        """Return what makes the result to share, for a job; tell the user if there is none.

        Before the first measurement of all engines, it is the comparison on screen.
        """
        styled, measured = self._context.styled(), self.result
        if measured is not None:
            return lambda: measured
        if styled is None or styled.comparison is None or not styled.comparison.settled:
            self._context.say(tr(NO_TIMES))
            return None
        return lambda: live_result(styled, this_machine())

    def _card(self) -> Callable[[], QImage] | None:
        """Return what paints the card, for a job; tell the user if there is no result."""
        result, styled = self._shared_result(), self._context.styled_or_notice()
        if result is None or styled is None:
            return None
        logo = application_icon().pixmap(LOGO, LOGO).toImage()
        tokens, font = self._theme.tokens, QFont(QApplication.font())

        def work() -> QImage:
            picture = as_image(styled.frame.pixels)
            return paint_card(card_of(result()), picture, logo, tokens, font)

        return work
