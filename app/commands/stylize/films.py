"""Stylizes the films of a run, one after another."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.batch.manifest import Record
from app.commands.stop_signal import stop_requested
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job, StylizeError
from app.commands.stylize.limits import Limits
from app.commands.stylize.reporters import FilmOutcome, Reporter, Tally
from app.engine.engine import Engine
from app.errors import StyleForgeError
from app.export.film.job import FilmCancelled, FilmJob, FilmProgress
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.export.film.report import FilmReport
from app.export.film.styling import FilmStyling
from app.styles.library import Library
from app.version import styleforge_version
from utils.files.atomic import atomic_write


class Films:
    """Makes the films of a run.

    Args:
        args: What the flags were parsed to.
        library: Where the styles are.
        engine: Is configured for each film.
        limits: With the config of the command line.
        notices: Where the engine's notices are put; they are taken out again.
        reporter: Is told of them.
        record: The manifest; None for none.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        library: Library,
        engine: Engine,
        limits: Limits,
        notices: list[str],
        reporter: Reporter,
        record: Record | None,
    ) -> None:
        self._args, self._library, self._engine, self._limits = args, library, engine, limits
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
        info, limits, args = film_info(job.source), self._limits, self._args
        config = limits.config
        batch = limits.batch_of(info.width, info.height)
        sized = replace(config, size=limits.size(job.source.name, info.width, info.height))
        self._engine.configure(sized)
        self._engine.reset_history()
        looks = [f"{share} of {_digest(self._library, key)}" for key, share in config.parts]
        identity = {
            "program": styleforge_version(),
            "config": repr(replace(sized, style="", mix=None, mix_more=())),
            "styles": "; ".join(looks),
            "device": str(limits.device),
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
                if asked.is_set():
                    film.cancel()

            film = FilmJob(request, FilmStyling(self._engine, batch), told)
            return film.run()

    def _taken_notices(self) -> tuple[str, ...]:
        taken = tuple(self._notices)
        self._notices.clear()
        return taken


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
