"""Paints a frame of a film and measures samples of it in the background, before its export."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtCore import QObject, Signal

from app.background_jobs import RunJob
from app.engine.config import EngineConfig
from app.engine.resolution import MAX_SIZE, unhurried_size
from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.codecs import PLACES
from app.export.film.info import FilmFrame, FilmInfo
from app.export.film.job import Styling
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.export.film.sample import (
    EncodedSample,
    FilmEstimate,
    PaintedSample,
    copied_rate,
    encode_sample,
    estimate,
    frame_at,
    paint_sample,
)
from app.export.film.selection import selected
from app.styles.catalog import Catalog
from app.ui.film.options import FAST, FINE, FilmOptions, Hardware
from utils.stop_flag import StopFlag, Stopped, stopped_by

AUTO, CPU_PLACE, _ = PLACES
SHOWN_SIDE = 960  # px, the long side of a preview: enough for a dense screen
SOFT_SIDE = 64  # px, the long side of the softened frame until the painted one is there


@dataclass(frozen=True, slots=True)
class Wish:
    """A film to preview and to measure.

    Attributes:
        part: Begin and end in seconds; None for the whole film.
        seconds: The time of the frame to preview.
    """

    source: Path
    config: EngineConfig
    options: FilmOptions
    part: tuple[float, float] | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A frame for the screen, [H, W, 3] uint8 RGB: painted, or softened until it is."""

    pixels: NDArray[np.uint8]
    painted: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """An estimate for a version of the style; None if the film's length is unknown."""

    wish: Wish
    network: str
    estimate: FilmEstimate | None


@dataclass(frozen=True, slots=True)
class Measuring:
    """The progress of a sample.

    Attributes:
        done: Number of painted frames.
        seconds: The time to paint the film, without encoding it; None if not known yet.
    """

    wish: Wish
    network: str
    done: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """A frame to preview in the version `network`; `key` stands for its preview."""

    film: FilmFrame
    network: str
    key: Hashable


class FilmTrial(QObject):
    """Serves the newest wish in one background job, which ends with `close`.

    Samples stay until the film or the look changes, so that most choices are estimated at once.

    Args:
        styling: Creates a styler on the job's thread.
        look_up: Finds the graphics hardware for each codec.

    Signals:
        hardware_found: The result of `look_up`.
        versions_found: A Wish, and whether all its styles have a fast version.
        previewed: A Wish and its Preview.
        measuring: A Measuring.
        measured: A Measured.
        failed: A Wish, and one sentence on why it cannot be made.
    """

    hardware_found = Signal(object)
    versions_found = Signal(object, bool)
    previewed = Signal(object, object)
    measuring = Signal(object)
    measured = Signal(object)
    failed = Signal(object, str)

    def __init__(
        self,
        catalog: Catalog,
        styling: Callable[[EngineConfig], Styling],
        look_up: Callable[[], Mapping[str, Hardware]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._look_up = look_up
        self._hardware: Mapping[str, Hardware] = {}
        self._catalog, self._styling = catalog, styling
        self._changed = threading.Condition()
        self._wish: Wish | None = None
        self._closed = False
        self._stop = StopFlag()
        self._known: dict[Hashable, Any] = {}  # results by what they depend on

    def begin(self, run: RunJob) -> None:
        """Start the background job; it rests until there is a wish."""
        run(self._work, lambda _: None, failure="Could not measure the film")

    def ask(self, wish: Wish) -> None:
        """Serve a wish instead of the one before."""
        with self._changed:
            if wish == self._wish:
                return
            self._wish = wish
            self._stop.set()
            self._changed.notify()

    def close(self) -> None:
        """End the job soon; it emits nothing more."""
        with self._changed:
            self._closed = True
            self._stop.set()
            self._changed.notify()

    def _work(self) -> None:
        self._hardware = self._look_up()
        self._emit(self.hardware_found, self._hardware)
        served: Wish | None = None
        with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
            while (wish := self._next(served)) is not None:
                if served is None or (wish.source, wish.config) != (served.source, served.config):
                    self._known.clear()
                served = wish
                try:
                    with stopped_by(self._stop):
                        self._serve(wish, Path(folder))
                except Stopped:
                    continue
                except (StyleForgeError, OSError) as exc:
                    self._emit(self.failed, wish, str(exc))
        self._known.clear()

    def _next(self, served: Wish | None) -> Wish | None:
        """Wait for a wish that is not served yet; None ends the job."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._wish != served)
            self._stop.clear()
            return None if self._closed else self._wish

    def _emit(self, signal: Any, *values: object) -> None:
        with self._changed:
            if not self._closed:
                signal.emit(*values)

    def _serve(self, wish: Wish, folder: Path) -> None:
        whole = self._once(("film", wish.source), lambda: film_info(wish.source))
        styles = wish.config.styles
        fast = self._once("fast", lambda: all(map(self._catalog.has_lite, styles)))
        self._emit(self.versions_found, wish, fast)
        chosen = wish.options.network if fast else FINE
        info = selected(whole, lines=wish.options.lines)
        wanted = self._soften(wish, info, chosen)
        self._measure(wish, whole, wanted, chosen, folder)
        self._paint_preview(wish, info, wanted)
        if fast:
            (other,) = {FINE, FAST} - {chosen}
            self._measure(wish, whole, wanted, other, folder)

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, or its earlier one for this key."""
        if key not in self._known:
            self._stop.check()
            self._known[key] = make()
        return self._known[key]

    def _styler(self, wish: Wish, info: FilmInfo, network: str) -> Styling:
        size = unhurried_size(wish.config, info.width, info.height, MAX_SIZE)
        return self._styling(replace(wish.config, size=size, network=network))

    def _soften(self, wish: Wish, info: FilmInfo, network: str) -> _Wanted:
        """Read the frame to preview, and show it painted if it is, otherwise softened."""
        last = max(0.0, info.seconds - float(1 / info.rate)) if info.seconds else wish.seconds
        seconds = min(wish.seconds, last)
        film = frame_at(info, seconds)
        wanted = _Wanted(film, network, ("preview", network, wish.options.lines, film.pts))
        shown = self._known.get(wanted.key) or soft_preview(film.frame.pixels)
        self._emit(self.previewed, wish, shown)
        return wanted

    def _paint_preview(self, wish: Wish, info: FilmInfo, wanted: _Wanted) -> None:
        """Paint the frame to preview, unless the sample began with it."""
        if wanted.key not in self._known:
            styler = self._styler(wish, info, wanted.network)
            (painted, *_) = [*styler.begin([wanted.film.frame]), *styler.complete_all()]
            self._keep_preview(wish, wanted, painted)

    def _keep_preview(self, wish: Wish, wanted: _Wanted, painted: StyledFrame) -> None:
        self._stop.check()
        shown = Preview(_reduced(painted.frame.pixels, SHOWN_SIDE), painted=True)
        self._known[wanted.key] = shown
        self._emit(self.previewed, wish, shown)

    def _measure(
        self, wish: Wish, whole: FilmInfo, wanted: _Wanted, network: str, folder: Path
    ) -> None:
        """Measure a version by a sample that begins with the frame to preview."""
        options = wish.options
        scaled = selected(whole, lines=options.lines)
        made = selected(whole, part=wish.part, lines=options.lines, sound=options.sound)
        begin = whole.start + round((wish.part or (0.0,))[0] / whole.time_base)

        done = 0

        def told(film: FilmFrame, painted: StyledFrame, each: float | None) -> None:
            nonlocal done
            done += 1
            if network == wanted.network and film.pts == wanted.film.pts:
                self._keep_preview(wish, wanted, painted)
            seconds = each * made.count if each and made.count else None
            self._emit(self.measuring, Measuring(wish, network, done, seconds))
            self._stop.check()

        def paint() -> PaintedSample:
            styler = self._styler(wish, scaled, network)
            return paint_sample(scaled, wanted.film.pts, styler, told)

        def encode() -> EncodedSample:
            found = self._hardware.get(options.codec, Hardware())
            where = CPU_PLACE if options.where == AUTO and not found.device else options.where
            target = folder / f"{wish.source.stem}{options.endings[0]}"
            request = film_request(
                replace(scaled, sound=options.sound),
                target,
                options.codec,
                quality=options.quality,
                where=where,
                identity={},
            )
            return encode_sample(painted, request, folder)

        key = (network, options.lines)
        coding = (options.codec, options.quality, options.where, options.sound)
        painted = self._once(("painted", *key), paint)
        encoded = self._once(("encoded", *key, *coding), encode)
        copied = self._once(("copied", options.sound), lambda: copied_rate(made, begin))
        if options.animated:
            copied = 0.0
        self._emit(self.measured, Measured(wish, network, estimate(made, painted, encoded, copied)))


def soft_preview(pixels: NDArray[np.uint8]) -> Preview:
    """Return a frame so small that it is soft when it is scaled up again."""
    return Preview(_reduced(pixels, SOFT_SIDE), painted=False)


def _reduced(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Scale a picture down so that its longer side is at most `side`."""
    image = Image.fromarray(pixels)
    image.thumbnail((side, side), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(image)
