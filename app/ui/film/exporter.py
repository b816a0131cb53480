"""Exports every frame of the open film or animation, styled, with its sound, into a file."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.resolution import MAX_SIZE, unhurried_size
from app.engine.result import StyledFrame
from app.export.film.codecs import CODECS
from app.export.film.job import FilmCancelled, FilmJob, FilmProgress, Styling
from app.export.film.plan import film_request
from app.export.film.reader import FilmInfo, film_info
from app.export.film.report import FilmReport
from app.export.film.selection import selected
from app.export.film.store import store_folder
from app.export.film.styling import FilmStyling
from app.live.display_copy import with_previews
from app.styles.catalog import Catalog
from app.ui.file_dialogs import SAVE_FILM, name_filter, suggested_name
from app.ui.film.dialog import FilmDialog
from app.ui.film.options import DEFAULTS, FilmOptions, Hardware, find_hardware
from app.ui.film.order import ExportOrder
from app.ui.film.part_picker import FilmFacts
from app.ui.film.trial import FilmTrial, Wish, soft_preview
from app.ui.window_context import WindowContext
from app.version import styleforge_version
from utils.text import printable
from utils.translation.joints import clauses
from utils.translation.numbers import number
from utils.translation.texts import mark, tr, trn

NO_FILM = mark(
    "Open a video or an animation first: cameras and pictures cannot be exported as films"
)
UNDER_WAY = mark("A film is being exported already")
_USUAL_FPS = 25.0  # if a film does not tell
SHOWN_EVERY_S = 0.5  # progress and the newest frame

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class ExportShown:
    """Progress of an export in words, its fraction from 0 to 1, and its newest frame."""

    text: str
    share: float
    styled: StyledFrame


class FilmExporter(QObject):
    """Exports one film at a time, in a background job with its own engine.

    The stream is paused meanwhile, since both would take turns on one device.

    Args:
        saved: Receives the saved path and one sentence.
        marks: Returns the times of the frames A and B in the player; None without a mark.
        styling: Creates the frame styling on the job's thread; for tests.
    """

    progressed = Signal(object)  # ExportShown
    ended = Signal()

    def __init__(
        self,
        context: WindowContext,
        saved: Callable[[Path, str], None],
        marks: Callable[[], tuple[float | None, float | None]] = lambda: (None, None),
        styling: Callable[[Catalog, EngineConfig], Styling] | None = None,
    ) -> None:
        super().__init__(context.window)
        self._session, self._say, self._picker = context.session, context.say, context.dialogs
        self._shown = context.styled
        self._options, self._keep = FilmOptions.stored(context.settings()), context.keep
        self._dialog: FilmDialog | None = None
        self._marks = marks
        self._trial: FilmTrial | None = None
        self._hardware: Mapping[str, Hardware] | None = None
        self._styling = styling or _styling
        self._saved = saved
        self._lock = threading.Lock()
        self._job: FilmJob | None = None
        self._under_way = self._cancelled = self._discards = self._closed = False
        self._was_paused = self._paused_before = False
        self._shown_at = 0.0
        self._target = Path()
        self.ended.connect(self._end)

    @property
    def under_way(self) -> bool:
        return self._under_way

    @property
    def name(self) -> str:
        return printable(self._target.name)

    @property
    def folder(self) -> Path:
        """The folder that stores running exports; it may not exist."""
        return self._session.catalog.user.parent / "exports"

    def ask(self, parent: QWidget, folder: Path) -> None:
        if self._under_way:
            self._say(tr(UNDER_WAY))
            return
        source = self._source()
        if source is None:
            self._say(tr(NO_FILM))
            return
        self._dialog = dialog = self._dialog or self._made_dialog(parent)
        dialog.chosen = lambda options: self._ask_file(parent, folder, source, options, dialog.part)
        dialog.show_film(self._facts())
        dialog.show_options(self._options)
        if (styled := self._shown()) is not None:
            dialog.preview.show_preview(soft_preview(styled.source.pixels))
        self._try(dialog, source)
        dialog.open()

    def _made_dialog(self, parent: QWidget) -> FilmDialog:
        dialog = FilmDialog(parent, lambda options: None)
        dialog.finished.connect(lambda _: self._end_trial())
        return dialog

    def _facts(self) -> FilmFacts:
        session, info = self._session, self._session.info
        assert info is not None
        return FilmFacts(
            info.width,
            info.height,
            info.fps or _USUAL_FPS,
            info.duration,
            session.silence is not None,
            self._marks(),
            session.position,
        )

    def _try(self, dialog: FilmDialog, source: Path) -> None:
        """Preview and measure the film while its dialog is open, with the stream paused."""
        session = self._session
        catalog = session.catalog
        self._paused_before, session.paused = session.paused, True
        trial = FilmTrial(
            catalog, lambda config: self._styling(catalog, config), self._look_up, self
        )
        config = replace(session.config, compare=False)

        def ask() -> None:
            trial.ask(Wish(source, config, dialog.options, dialog.part, dialog.seconds))

        def current(wish: Wish) -> bool:
            return wish == Wish(source, config, dialog.options, dialog.part, dialog.seconds)

        def shown(wish: Wish, show: Callable[[], object]) -> None:
            """Show a result unless another choice has made it old."""
            if self._trial is trial and current(wish):
                show()

        def equipped(hardware: Mapping[str, Hardware]) -> None:
            self._hardware = hardware
            dialog.show_hardware(hardware)

        trial.hardware_found.connect(equipped)

        def found(fast: bool) -> None:
            dialog.show_fast_exists(fast)
            ask()  # again, if the chosen version does not exist

        trial.versions_found.connect(lambda wish, fast: shown(wish, lambda: found(fast)))
        trial.previewed.connect(
            lambda wish, preview: shown(wish, lambda: dialog.preview.show_preview(preview))
        )
        trial.measuring.connect(lambda made: shown(made.wish, lambda: dialog.show_measuring(made)))
        trial.measured.connect(lambda made: shown(made.wish, lambda: dialog.show_measured(made)))
        trial.failed.connect(lambda wish, why: shown(wish, lambda: dialog.show_failure(why)))
        self._asking = dialog.changed.connect(ask)
        self._trial = trial
        trial.begin(session.run)
        ask()

    def _look_up(self) -> Mapping[str, Hardware]:
        """Find the graphics hardware, once for each program run."""
        return self._hardware or find_hardware()

    def _end_trial(self) -> None:
        """Stop measuring, and let the stream go on as before."""
        trial, self._trial = self._trial, None
        if trial is None:
            return
        trial.close()
        trial.deleteLater()
        if self._dialog is not None:
            self._dialog.changed.disconnect(self._asking)
        self._session.paused = self._paused_before

    def _source(self) -> Path | None:
        """Return the open film or animation; None for any other source."""
        spec, info = self._session.spec, self._session.info
        if info is None or self._session.still or not isinstance(spec, str) or "://" in spec:
            return None
        path = Path(spec)
        return path if path.is_file() else None

    def _ask_file(
        self,
        parent: QWidget,
        folder: Path,
        source: Path,
        options: FilmOptions,
        part: tuple[float, float] | None,
    ) -> None:
        self._options = options
        self._keep(**options.settings)
        dialog = self._picker.saving(
            parent,
            tr("Export the film"),
            SAVE_FILM,
            lambda path: self.export(source, path, options, part),
            folder,
        )
        title, usual = CODECS[options.codec].title, options.endings[0]
        dialog.setNameFilters([name_filter(title, *options.endings)])
        dialog.setDefaultSuffix(usual.removeprefix("."))
        info = self._session.info
        name = suggested_name(info.title if info else "", self._session.config.style)
        dialog.selectFile(f"{name.removesuffix('.png')}{usual}")
        dialog.open()

    def export(
        self,
        source: Path,
        target: Path,
        options: FilmOptions = DEFAULTS,
        part: tuple[float, float] | None = None,
    ) -> None:
        """Export a film to `target`, with the codec's usual extension unless it has one.

        Args:
            part: Begin and end in seconds; None for the whole film.
        """
        if self._under_way:
            self._say(tr(UNDER_WAY))
            return
        if target.suffix.lower() not in options.endings:
            target = target.with_name(f"{target.name}{options.endings[0]}")
        if target.resolve() == source.resolve():
            self._say(
                tr("'{name}' is the open film; choose another name", name=printable(target.name))
            )
            return
        config = replace(self._session.config, compare=False, network=options.network)
        self._begin(ExportOrder(source.absolute(), target.absolute(), config, options, part))

    def resume(self, order: ExportOrder) -> None:
        if self._under_way:
            self._say(tr(UNDER_WAY))
        else:
            self._begin(order)

    def _begin(self, order: ExportOrder) -> None:
        self._end_trial()
        self._under_way, self._cancelled, self._discards = True, False, False
        self._was_paused, self._session.paused = self._session.paused, True
        catalog, folder = self._session.catalog, self.folder
        self._target = order.target

        def work() -> FilmReport | str:
            try:
                _keep(order, folder)
                return self._make(order, catalog)
            except FilmCancelled as exc:
                return str(exc)
            finally:
                self._job = None
                quits = self._cancelled and not self._discards
                if not quits and not store_folder(order.target).exists():
                    order.file(folder).unlink(missing_ok=True)
                with self._lock:
                    if not self._closed:
                        self.ended.emit()

        self._session.run(
            work, lambda made: self._tell(order.target, made), failure="Could not export the film"
        )

    def pause(self, paused: bool) -> None:
        if job := self._job:
            (job.pause if paused else job.resume)()

    def cancel(self) -> None:
        """End the export soon and delete its parts."""
        self._end_soon(keep=False)

    def leave(self) -> None:
        """End the export soon and keep its finished parts."""
        self._end_soon(keep=True)

    def close(self) -> None:
        """End the export, keep its finished parts, and show nothing more."""
        if self._trial is not None:
            self._trial.close()
        with self._lock:
            self._closed = True
        self._end_soon(keep=True)

    def _end_soon(self, *, keep: bool) -> None:
        self._cancelled = True
        self._discards = self._discards or not keep
        if job := self._job:
            job.cancel(keep=not self._discards)

    def _make(self, order: ExportOrder, catalog: Catalog) -> FilmReport:
        target, config, options = order.target, order.config, order.options
        info = selected(
            film_info(order.source), part=order.part, lines=options.lines, sound=options.sound
        )
        sized = replace(config, size=unhurried_size(config, info.width, info.height, MAX_SIZE))
        styles = {key: catalog.get(key).weights.stat() for key in sized.styles}
        identity = {
            "program": styleforge_version(),
            "config": repr(sized),
            "styles": str({key: (each.st_size, each.st_mtime_ns) for key, each in styles.items()}),
        }
        request = film_request(
            info,
            target,
            options.codec,
            quality=options.quality,
            where=options.where,
            identity=identity,
        )
        job = FilmJob(
            request,
            self._styling(catalog, sized),
            lambda progress: self._show(target, info, progress),
        )
        self._job = job
        if self._cancelled:  # canceled before the job existed
            job.cancel(keep=not self._discards)
        return job.run()

    def _show(self, target: Path, info: FilmInfo, progress: FilmProgress) -> None:
        """Pass progress to the window, from the job's thread."""
        now = time.monotonic()
        if now - self._shown_at < SHOWN_EVERY_S and progress.done < info.count:
            return
        self._shown_at = now
        assert progress.styled is not None  # the job runs in this process
        share = min(1.0, progress.done / progress.count) if progress.count else 0.0
        shown = ExportShown(progress_text(target, progress), share, with_previews(progress.styled))
        with self._lock:
            if not self._closed:
                self.progressed.emit(shown)

    def _end(self) -> None:
        self._under_way = False
        self._session.paused = self._was_paused

    def _tell(self, target: Path, made: FilmReport | str) -> None:
        if isinstance(made, str):
            self._say(made)
            return
        said = [tr("Saved {path}", path=target), *made.faults, *made.remarks]
        self._saved(target, clauses(said))


def _keep(order: ExportOrder, folder: Path) -> None:
    """Store an export while it runs; if that fails, export anyway."""
    try:
        order.write(folder)
    except OSError as exc:
        log.warning("an export cannot be offered at the next start: %s", exc)


def progress_text(target: Path, progress: FilmProgress) -> str:
    text = tr(
        "Exporting {name}: {fps} frames a second",
        name=printable(target.name),
        fps=number(progress.fps, 1),
    )
    left = progress.seconds_left
    if left is None:
        return trn("{text}, {n} frame", "{text}, {n} frames", progress.done, text=text)
    return tr("{text}, {duration} left", text=text, duration=_duration(left))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return tr("{n} s", n=number(seconds))
    if seconds < 5400:
        return tr("{seconds} min", seconds=number(seconds / 60))
    return tr("{n} h", n=number(seconds / 3600, 1))


def _styling(catalog: Catalog, config: EngineConfig) -> Styling:
    engine = Engine(catalog)
    engine.configure(config)
    return FilmStyling(engine)
