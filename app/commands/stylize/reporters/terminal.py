"""A reporter with sentences on stderr, and bars if stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from app.batch.error import shown
from app.batch.jobs.job import Job
from app.batch.pictures.outcome import Outcome
from app.batch.tally import FilmOutcome, Tally
from app.commands.reporting import Display
from app.errors import ADVICE
from app.export.film.job import FilmProgress
from app.export.film.report import FilmReport
from utils.text import printable


class Loudness(IntEnum):
    """The amount of output."""

    QUIET = 0  # errors only
    NORMAL = 1
    VERBOSE = 2  # a line for each picture, and the unusable encoders of films


class TerminalReporter(Display):
    """A reporter with sentences on stderr, and bars on a terminal by NO_COLOR and TERM."""

    def __init__(self, loudness: Loudness) -> None:
        self._loudness = loudness
        self._console = Console(
            stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False
        )
        self._progress = Progress(
            # File names may contain markup such as [b].
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal or loudness is Loudness.QUIET,
        )
        self._advised = False
        self._bands: TaskID | None = None
        self._all: TaskID | None = None
        self._films: dict[Path, TaskID] = {}  # films in progress, by file

    def open(self) -> None:
        self._progress.start()

    def close(self) -> None:
        self._progress.stop()

    def problem(self, text: str) -> None:
        """Print the sentence, and advice below the first one."""
        self._console.print(f"styleforge: {text}")
        if not self._advised:
            self._console.print(ADVICE["StylizeError"])
            self._advised = True

    def note(self, text: str) -> None:
        if self._loudness is not Loudness.QUIET:
            self._console.print(text)

    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        for job in jobs:
            sys.stdout.write(f"{shown(job.source)} -> {shown(job.target)}\n")
        results = "result" if replaced == 1 else "results"
        more = f", replacing {replaced} existing {results}" if replaced else ""
        more += f"; {len(skipped)} would be skipped" if skipped else ""
        self.note(f"{_in_words(jobs)} would be stylized{more}")

    def begin(self, jobs: Sequence[Job], skipped: Sequence[Job], shard: str) -> None:
        if shard:
            self.note(f"Shard {shard}: {_in_words([*jobs, *skipped])}")
        if skipped:
            self.note(f"Skipped {_in_words(skipped)} whose result exists")
        self._bands = self._progress.add_task("In bands", total=100, visible=False, rate="")
        alone = len(jobs) == 1 and jobs[0].film  # a film has a bar of its own
        self._all = self._progress.add_task(
            "Stylizing", total=len(jobs), visible=not alone, rate=""
        )

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show the reason among the bars, or next to a spinner if there are no bars yet."""
        if self._loudness is Loudness.QUIET:
            yield
        elif self._progress.live.is_started:  # the bars leave no room for a spinner
            task = self._progress.add_task(text, total=None, rate="")
            try:
                yield
            finally:
                self._progress.remove_task(task)
        else:
            with self._console.status(text):
                yield

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        if error:
            self.problem(error)
        for said in filter(None, (outcome.remark, *outcome.notices)):
            self.note(said)
        if outcome.result is not None and self._loudness is Loudness.VERBOSE:
            source, target = shown(outcome.job.source), shown(outcome.job.target)
            total = outcome.result.timings.total
            self.note(f"{source} -> {target} ({total:.0f} ms; {outcome.result.running})")
        self._advance(outcome.job)

    def bands(self, share: float) -> None:
        """Show the bar for bands, which is otherwise hidden."""
        if self._bands is not None:
            self._progress.update(self._bands, completed=100 * share, visible=share < 1)

    def frames(self, job: Job, progress: FilmProgress) -> None:
        name, count = printable(job.source.name), progress.count or None
        first = job.source not in self._films
        if first:
            self._films[job.source] = self._progress.add_task(name, total=count, rate="")
        rate = f"{progress.fps:.1f} frames/s"
        # At once, because a short film may end before the next refresh.
        task = self._films[job.source]
        self._progress.update(task, completed=progress.done, rate=rate, refresh=first)

    def film(self, outcome: FilmOutcome, tally: Tally) -> None:
        if outcome.job.source in self._films:
            self._progress.remove_task(self._films.pop(outcome.job.source))
        if outcome.error:
            self.problem(outcome.error)
        if outcome.report is not None:
            self._made(outcome.job, outcome.report)
        for notice in outcome.notices:
            self.note(notice)
        self._advance(outcome.job)

    def end(self, tally: Tally) -> None:
        if tally.batches:
            self.note(_summary(tally))

    def _made(self, job: Job, report: FilmReport) -> None:
        for clause in report.faults:
            self.problem(f"'{shown(job.source)}': {clause}")
        if report.remarks:
            self.note(f"{printable(job.source.name)}: {'; '.join(report.remarks)}")
        if self._loudness is Loudness.VERBOSE:
            self.note(f"{shown(job.source)} -> {shown(job.target)}")
            for clause in report.refused:
                self.note(f"Not encoded by {clause}")
        earlier = f", {report.resumed} of them by an earlier run" if report.resumed else ""
        self.note(
            f"{report.frames} frames in {shown(job.target)}{earlier}, {report.fps:.1f} a second "
            f"({report.running}; encoded by {report.encoder})"
        )
        self.note(report.sentence)

    def _advance(self, job: Job) -> None:
        if self._all is not None:
            self._progress.update(self._all, description=printable(job.source.name), advance=1)


def _summary(tally: Tally) -> str:
    """Return the closing line for pictures: the number and place of the results, and what ran."""
    together = "".join(
        f", {count} of them in {'a batch' if count == size else 'batches'} of {size}"
        for size, count in sorted(tally.batches.items(), reverse=True)
        if size > 1
    )
    done = _number(tally.batches.total(), "picture")
    return f"{done} in {shown(tally.output)}{together} ({tally.running})"


def _in_words(jobs: Sequence[Job]) -> str:
    films = sum(job.film for job in jobs)
    counts = (len(jobs) - films, "picture"), (films, "film")
    return " and ".join(_number(*each) for each in counts if each[0]) or "0 pictures"


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
