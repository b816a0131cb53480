"""What `stylize` says while it runs: in the terminal, or as JSON lines for scripts."""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import Job
from app.commands.stylize.pipeline import Outcome
from utils.text import printable

# The events of --progress json, and what each says besides its name.
EVENTS: Mapping[str, Sequence[str]] = {
    "plan": ("pictures", "skipped", "shard"),
    "problem": ("text",),
    "note": ("text",),
    "picture": ("number", "of", "source", "result", "state", "error", "seconds", "running"),
    "bands": ("share",),
    "end": ("done", "failed", "skipped", "seconds"),
}


class Loudness(IntEnum):
    """How much is said."""

    QUIET = 0  # errors alone
    NORMAL = 1
    VERBOSE = 2  # a line for each picture


@dataclass
class Tally:
    """What is to be said at the end.

    Attributes:
        output: Where the results are.
        count: How many pictures there are to stylize.
        skipped: How many results were there before.
        batches: How many pictures were stylized in batches of each size.
        failed: How many failed.
        running: What ran for the last one.
    """

    output: Path
    count: int = 0
    skipped: int = 0
    batches: Counter[int] = field(default_factory=Counter)
    failed: int = 0
    running: str = ""

    @property
    def summary(self) -> str:
        """The closing line: how many results are where, and what ran."""
        together = "".join(
            f", {count} of them in {'a batch' if count == size else 'batches'} of {size}"
            for size, count in sorted(self.batches.items(), reverse=True)
            if size > 1
        )
        done = pictures_text(self.batches.total())
        return f"{done} in {shown(self.output)}{together} ({self.running})"

    def add(self, outcome: Outcome) -> None:
        """Count a picture."""
        self.failed += outcome.error is not None
        if outcome.styled is not None:
            self.batches[outcome.styled.batch] += 1
            self.running = str(outcome.styled.running)


class Reporter(ABC):
    """Is told of a run; a context manager around its pictures, since a display has to be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    @abstractmethod
    def problem(self, text: str) -> None:
        """Say a sentence about an input that cannot be used."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Say a sentence."""

    @abstractmethod
    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """List what would be done, in place of doing it."""

    @abstractmethod
    def begin(self, tally: Tally, shard: str) -> None:
        """Say how much there is to do, and which shard it is; "" for all of it."""

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Say during a block what is waited for."""
        return nullcontext()

    @abstractmethod
    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Say what became of a picture; `error` says why it failed and is "" otherwise."""

    @abstractmethod
    def bands(self, share: float) -> None:
        """Say how much of a picture is done that is computed in bands of rows, 0 to 1."""

    @abstractmethod
    def end(self, tally: Tally) -> None:
        """Say what was done."""


class TerminalReporter(Reporter):
    """Prints sentences on stderr, and progress bars where that is a terminal. Colors and bars
    follow NO_COLOR and TERM, as rich does."""

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
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal or loudness is Loudness.QUIET,
        )
        self._bands: TaskID | None = None
        self._pictures: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def problem(self, text: str) -> None:
        """Print the sentence."""
        self._console.print(f"styleforge: {text}")

    def note(self, text: str) -> None:
        """Print the sentence, if not quiet."""
        if self._loudness is not Loudness.QUIET:
            self._console.print(text)

    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """Print a line for each picture on stdout, and the sums on stderr."""
        for job in jobs:
            sys.stdout.write(f"{shown(job.source)} -> {shown(job.target)}\n")
        more = f", {replaced} of them over a result that exists" if replaced else ""
        more += f"; {len(skipped)} would be skipped" if skipped else ""
        self.note(f"{pictures_text(len(jobs))} would be stylized{more}")

    def begin(self, tally: Tally, shard: str) -> None:
        """Make the bars, and print what is skipped."""
        if shard:
            self.note(f"Shard {shard}: {pictures_text(tally.count + tally.skipped)}")
        if tally.skipped:
            self.note(f"Skipped {pictures_text(tally.skipped)} whose result exists")
        self._bands = self._progress.add_task("In bands", total=100, visible=False)
        self._pictures = self._progress.add_task("Stylizing", total=tally.count)

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Show it beside a spinner."""
        quiet = self._loudness is Loudness.QUIET
        return nullcontext() if quiet else self._console.status(text)

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Advance the bar, and print errors, remarks and, if verbose, the result."""
        if error:
            self.problem(error)
        for said in filter(None, (outcome.remark, *outcome.notices)):
            self.note(said)
        if outcome.styled is not None and self._loudness is Loudness.VERBOSE:
            source, target = shown(outcome.job.source), shown(outcome.job.target)
            total = outcome.styled.timings.total
            self.note(f"{source} -> {target} ({total:.0f} ms; {outcome.styled.running})")
        if self._pictures is not None:
            name = printable(outcome.job.source.name)
            self._progress.update(self._pictures, description=name, advance=1)

    def bands(self, share: float) -> None:
        """Show the bar of bands, which is hidden otherwise."""
        if self._bands is not None:
            self._progress.update(self._bands, completed=100 * share, visible=share < 1)

    def end(self, tally: Tally) -> None:
        """Print the closing line."""
        if tally.batches:
            self.note(tally.summary)


class JsonReporter(Reporter):
    """Prints one JSON object a line on stdout, with the keys of EVENTS. Errors that end the run
    stay sentences on stderr."""

    def __init__(self) -> None:
        self._begun_at = time.monotonic()

    def problem(self, text: str) -> None:
        """Print an event with the sentence."""
        self._emit("problem", text=text)

    def note(self, text: str) -> None:
        """Print an event with the sentence."""
        self._emit("note", text=text)

    def planned(self, jobs: Sequence[Job], skipped: Sequence[Job], replaced: int) -> None:
        """Print an event for each picture, as it would be."""
        for state, some in (("planned", jobs), ("skipped", skipped)):
            for number, job in enumerate(some, 1):
                self._picture(job, number, len(some), state)
        self._end(0, 0, len(skipped))

    def begin(self, tally: Tally, shard: str) -> None:
        """Print the counts."""
        self._emit("plan", pictures=tally.count, skipped=tally.skipped, shard=shard or None)

    def picture(self, outcome: Outcome, error: str, tally: Tally) -> None:
        """Print what became of it, after what is to be said of it."""
        for said in filter(None, (outcome.remark, *outcome.notices)):
            self.note(said)
        number = tally.batches.total() + tally.failed
        running = None if outcome.styled is None else str(outcome.styled.running)
        state = "failed" if error else "done"
        self._picture(outcome.job, number, tally.count, state, error, running)

    def bands(self, share: float) -> None:
        """Print the share."""
        self._emit("bands", share=round(share, 4))

    def end(self, tally: Tally) -> None:
        """Print the sums."""
        self._end(tally.batches.total(), tally.failed, tally.skipped)

    def _picture(
        self,
        job: Job,
        number: int,
        count: int,
        state: str,
        error: str = "",
        running: str | None = None,
    ) -> None:
        self._emit(
            "picture",
            number=number,
            of=count,
            source=str(job.source),
            result=str(job.target),
            state=state,
            error=error or None,
            seconds=self._seconds(),
            running=running,
        )

    def _end(self, done: int, failed: int, skipped: int) -> None:
        self._emit("end", done=done, failed=failed, skipped=skipped, seconds=self._seconds())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begun_at, 3)

    def _emit(self, event: str, **values: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
        sys.stdout.flush()  # somebody waits for the line


def make_reporter(progress: str, loudness: Loudness) -> Reporter:
    """Return the reporter for a value of --progress."""
    return JsonReporter() if progress == "json" else TerminalReporter(loudness)


def pictures_text(count: int) -> str:
    """Say a number of pictures."""
    return "1 picture" if count == 1 else f"{count} pictures"
