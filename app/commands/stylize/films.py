"""Stylizes the films of a run, one after another."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.batch.manifest import Record
from app.commands.stop_signal import stop_requested
from app.commands.stylize.devices.films import SharedFilms
from app.commands.stylize.devices.worker import Setup
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
    """Makes the films of a run.

    Args:
        args: What the flags were parsed to.
        setup: The config of the command line, and where the styles are.
        engine: Is configured for each film that it makes alone.
        limits_on: Prepares it for a device, and says what fits there.
        sharing: What shares each film; None for the engine alone.
        notices: Where the engine's notices are put; they are taken out again.
        reporter: Is told of them.
        record: The manifest; None for none.
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

    def run(self, jobs: Sequence[Job], tally: Tally) -> None:
        """Make films; one that fails does not keep the others.

        Args:
            jobs: Theirs.
            tally: Counts them.

        Raises:
            StylizeError: The file of --report cannot be written.
            KeyboardInterrupt: The run was stopped; finished parts of the film under way are kept.
        """
        for job in jobs:
            outcome = self._made(job)
            tally.add_film(outcome)
            if self._record and outcome.report is None:
                self._record.failed(job.target, outcome.error)
            elif self._record:
                self._record.done(job.target)
            self._reporter.film(outcome, tally)
        if self._args.report is not None:
            _write_report(self._args.report, self._reports)

    def _made(self, job: Job) -> FilmOutcome:
        try:
            report = self._make(job)
        except FilmCancelled as exc:
            raise KeyboardInterrupt(str(exc)) from None
        except StyleForgeError as exc:
            return FilmOutcome(job, None, str(exc), self._taken_notices())
        files = {"film": str(job.source), "result": str(job.target)}
        self._reports.append({**files, **report.as_dict()})
        return FilmOutcome(job, report, "", self._taken_notices())

    def _make(self, job: Job) -> FilmReport:
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
        with stop_requested() as asked:

            def told(now: FilmProgress) -> None:
                self._reporter.frames(job, now)
                if self._record and now.count:
                    self._record.under_way(job.target, min(1.0, now.done / now.count))

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
        """Decide how a film is painted; the engine is prepared if it paints it alone."""
        name, config, sharing = job.source.name, self._setup.config, self._sharing
        if sharing is not None:
            parts = sharing.split(info)
            if not parts.reason:
                size, batch = sharing.sized(name, info)
                kinds = ", ".join(sharing.kinds)
                return _How(replace(config, size=size), batch, kinds, parts)
            self._reporter.note(f"{printable(name)} is painted by one device: {parts.reason}")
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
    """How a film is painted.

    Attributes:
        config: For every frame.
        batch: How many frames go through the network together.
        device: What paints it.
        parts: Those that several devices make; None for one that makes it alone.
    """

    config: EngineConfig
    batch: int
    device: str
    parts: Split | None = None


def _digest(library: Library, key: str) -> str:
    """What the weights of a style are, for a run that goes on later."""
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
