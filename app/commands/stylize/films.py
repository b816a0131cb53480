"""Stylization of a run's films, one after another."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.batch.manifest import Record
from app.commands.stop_signal import stop_requested
from app.commands.stylize.devices.films import SharedFilms
from app.commands.stylize.devices.requests import Setup, WholeFilm
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job, StylizeError
from app.commands.stylize.limits import Limits
from app.commands.stylize.reporters import FilmOutcome, Reporter, Tally
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import StyleForgeError
from app.export.film.info import FilmInfo
from app.export.film.job import FilmCancelled, FilmJob, FilmProgress
from app.export.film.parts.split import Split
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.export.film.report import FilmReport
from app.export.film.styling import FilmStyling
from app.styles.library import Library
from app.version import styleforge_version
from utils.files.atomic import atomic_write
from utils.text import printable


class Films:
    """A maker of a run's films.

    Args:
        sharing: The team that shares each film; None for the engine alone.
        notices: Where the engine adds its notices; emptied here.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        setup: Setup,
        engine: Engine,
        limits_on: Callable[[str], Limits],
        sharing: SharedFilms | None,
        notices: list[str],
        reporter: Reporter,
        record: Record | None,
    ) -> None:
        self._args, self._setup, self._engine = args, setup, engine
        self._limits_on, self._sharing = limits_on, sharing
        self._notices, self._reporter, self._record = notices, reporter, record
        self._reports: list[dict[str, Any]] = []
        self._whole: dict[Job, WholeFilm] = {}  # made by the processes, one film each

    def run(self, jobs: Sequence[Job], tally: Tally) -> None:
        """Make films, ones that a single device makes whole last; failures do not stop the others.

        Raises:
            StylizeError: If the file of --report cannot be written.
            KeyboardInterrupt: If the run was stopped; finished parts of the current film stay.
        """
        for job in jobs:
            outcome = self._made(job)
            if outcome is not None:
                self._tell(outcome, tally)
        for outcome in self._made_whole():
            self._tell(outcome, tally)
        if self._args.report is not None:
            _write_report(self._args.report, self._reports)

    def _tell(self, outcome: FilmOutcome, tally: Tally) -> None:
        tally.add_film(outcome)
        target = outcome.job.target
        if self._record and outcome.report is None:
            self._record.failed(target, outcome.error)
        elif self._record:
            self._record.done(target)
        if outcome.report is not None:
            files = {"film": str(outcome.job.source), "result": str(target)}
            self._reports.append({**files, **outcome.report.as_dict()})
        self._reporter.film(outcome, tally)

    def _told(self, job: Job, now: FilmProgress) -> None:
        self._reporter.frames(job, now)
        if self._record and now.count:
            self._record.under_way(job.target, min(1.0, now.done / now.count))

    def _made(self, job: Job) -> FilmOutcome | None:
        """Make a film; return None if it is deferred to the films made whole."""
        try:
            report = self._make(job)
        except FilmCancelled as exc:
            raise KeyboardInterrupt(str(exc)) from None
        except StyleForgeError as exc:
            return FilmOutcome(job, None, str(exc), self._taken_notices())
        return report and FilmOutcome(job, report, "", self._taken_notices())

    def _made_whole(self) -> Iterator[FilmOutcome]:
        """Have the processes make whole films, each process one at a time."""
        if not self._whole:
            return
        assert self._sharing is not None
        jobs, count = list(self._whole), 0
        with stop_requested() as asked:
            coming = self._sharing.whole(
                list(self._whole.values()),
                lambda place, now: self._told(jobs[place], now),
                asked.is_set,
            )
            for count, (place, end) in enumerate(coming, 1):  # noqa: B007
                yield FilmOutcome(jobs[place], end.report, end.error, end.notices)
        if count < len(jobs):
            raise KeyboardInterrupt(
                f"Stopped after {count} of {len(jobs)} films painted on one device; finished "
                "parts of the others are kept."
            )

    def _make(self, job: Job) -> FilmReport | None:
        info, args = film_info(job.source), self._args
        how = self._how(job, info)
        sized, batch = how.config, how.batch
        looks = [f"{share} of {_digest(self._setup.library, key)}" for key, share in sized.parts]
        identity = {
            "program": styleforge_version(),
            "config": repr(replace(sized, style="", mix=None, mix_more=())),
            "styles": "; ".join(looks),
            "device": how.device,
            "batch": str(batch),
        }
        request = film_request(
            info,
            job.target,
            args.codec,
            quality=args.quality,
            where=args.encoder,
            identity=identity,
        )
        if how.whole:
            self._whole[job] = WholeFilm(request, sized, batch)
            return None
        with stop_requested() as asked:

            def told(now: FilmProgress) -> None:
                self._told(job, now)

            def told_alone(now: FilmProgress) -> None:
                told(now)
                if asked.is_set():
                    film.cancel()

            if self._sharing is not None and how.parts is not None:
                say = self._notices.append
                return self._sharing.make(request, how.parts, sized, batch, told, say, asked.is_set)
            self._engine.configure(sized)
            self._engine.reset_history()
            film = FilmJob(request, FilmStyling(self._engine, batch), told_alone)
            return film.run()

    def _how(self, job: Job, info: FilmInfo) -> _How:
        """Decide how to paint a film; prepare the engine if it paints alone."""
        name, config, sharing = job.source.name, self._setup.config, self._sharing
        if sharing is not None:
            parts = sharing.split(info)
            if parts.reason:
                self._reporter.note(f"{printable(name)} is painted on one device: {parts.reason}")
            if sharing.takes_whole or not parts.reason:
                size, batch = sharing.sized(name, info)
                shared, kinds = None if parts.reason else parts, ", ".join(sharing.kinds)
                return _How(replace(config, size=size), batch, kinds, shared, shared is None)
            config = replace(config, device=sharing.devices[0])
        limits = self._limits_on(config.device)
        size = limits.size(name, info.width, info.height)
        batch = limits.batch_of(info.width, info.height)
        return _How(replace(config, size=size), batch, str(limits.device))

    def _taken_notices(self) -> tuple[str, ...]:
        taken = tuple(self._notices)
        self._notices.clear()
        return taken


@dataclass(frozen=True, slots=True)
class _How:
    """The way a film is painted.

    Attributes:
        parts: Parts for several devices; None if one device makes it alone.
        whole: Whether that device's process belongs to the team of the run.
    """

    config: EngineConfig
    batch: int
    device: str
    parts: Split | None = None
    whole: bool = False


def _digest(library: Library, key: str) -> str:
    """Return a digest of a style's weights, for a run that resumes later."""
    style = library.get(key)
    files = [path for path in (style.weights, style.lite) if path is not None]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _write_report(path: Path, reports: list[dict[str, Any]]) -> None:
    try:
        atomic_write(path, json.dumps(reports, indent=2).encode())
    except OSError as exc:
        raise StylizeError(f"'{shown(path)}' cannot be written: {exc.strerror}") from exc
