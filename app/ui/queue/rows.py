"""The display text of a queue row: a value computed from a job, without Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from app.batch.queue.description import Kind
from app.batch.queue.job import JobState
from app.batch.queue.overview import INTERRUPTED, JobView
from app.options import blend_label
from app.ui.durations import format_remaining
from app.ui.queue.forecast import Work
from utils.text import printable
from utils.translation.texts import mark, tr, trn

MAX_NAME = 200  # displayed characters of a file name

STOPPED = mark("Stopped · {done} of {n} done")


class RowState(Enum):
    """The state of a row; the value is its English text."""

    WAITING = mark("Waiting")
    RUNNING = mark("Starting")  # until its progress is known
    ELSEWHERE = mark("Running in another process")
    INTERRUPTED = mark("Interrupted, waiting")
    DONE = mark("Done")
    SKIPPED = mark("Skipped: it has a result")
    FAILED = mark("Failed")

    @property
    def waits(self) -> bool:
        """Whether the row has yet to run."""
        return self in (RowState.WAITING, RowState.INTERRUPTED)

    @property
    def ended(self) -> bool:
        """Whether the row is finished."""
        return self in (RowState.DONE, RowState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the current entry.

    Attributes:
        share: From 0 to 1; None while unknown.
        of: Their total; 0 for a single picture or while unknown.
        failed: How many of `done` failed.
        seconds_left: Remaining seconds; None while unknown.
    """

    number: int
    share: float | None = None
    done: int = 0
    of: int = 0
    failed: int = 0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the queue.

    Attributes:
        style: The title of the style, or the titles of a mix.
        result: The result file or folder, as an absolute path; it may not exist.
        pictures: Number of pictures; 0 if unknown.
        reason: The reason for a failure, or "".
        share: Completed fraction, 0 to 1; None if unknown.
        left: Remaining time in words; "" if unknown.
        faults: The files that failed, see app.batch.queue.overview.JobView.
        first: The first result of several; "" if there is none.
    """

    number: int
    title: str
    kind: Kind
    style: str
    state: RowState
    source: str = ""
    result: str = ""
    pictures: int = 0
    done: int = 0
    failed: int = 0
    reason: str = ""
    share: float | None = None
    left: str = ""
    faults: tuple[tuple[str, str], ...] = ()
    first: str = ""

    @property
    def size(self) -> int:
        """The number of pictures and films, at least 1."""
        return max(1, self.pictures)

    @property
    def ended_files(self) -> tuple[int, int]:
        """How many of them have a result, and how many failed."""
        if self.state.ended:
            return self.size, 0
        done = self.done if self.several else 0
        if self.state is RowState.FAILED:
            return done, self.failed or max(1, self.size - done)
        return done, self.failed if self.state is RowState.RUNNING and self.several else 0

    @property
    def pictured(self) -> str:
        """The file or folder that provides the thumbnail."""
        if self.several and self.first and not self.state.waits:
            return self.first
        return self.result if self.state.ended and self.result else self.source

    @property
    def several(self) -> bool:
        return self.kind in (Kind.FOLDER, Kind.SEVERAL)

    @property
    def detail(self) -> str:
        if self.reason:
            return f"{self.style} · {self.reason}" if self.style else self.reason
        words = [self.style]
        if self.kind is Kind.FILM:
            words.append(tr("film"))
        elif self.several:
            words.append(tr("folder") if self.kind is Kind.FOLDER else tr("several files"))
            if self.pictures:
                words.append(trn("{n} picture", "{n} pictures", self.pictures))
        return " · ".join(filter(None, words))

    @property
    def words(self) -> str:
        if self.state is RowState.RUNNING and self.share is not None:
            if self.several and self.pictures:
                return tr("{done} of {n}", done=self.done + self.failed, n=self.pictures)
            return f"{int(100 * self.share)} %"
        if self.state is RowState.WAITING and self.several and self.done:
            return tr(STOPPED, done=self.done, n=self.pictures)
        if self.state is RowState.FAILED and self.failed and self.pictures > 1:
            return tr("{failed} of {n} failed", failed=self.failed, n=self.pictures)
        return tr(self.state.value)

    @property
    def spoken(self) -> str:
        """The whole row, for a screen reader."""
        words = [self.title, self.detail, self.words, self.left]
        return ", ".join(filter(None, words))


def rows_of(views: Iterable[JobView], titles: Mapping[str, str], own: int | None) -> list[Row]:
    """Create the rows of jobs.

    Args:
        own: Number of the job that this program runs, or None.
    """
    return [_row(view, titles, own) for view in views]


def with_progress(row: Row, progress: Progress) -> Row:
    if row.state is not RowState.RUNNING:
        return row
    left = "" if progress.seconds_left is None else format_remaining(progress.seconds_left)
    several: dict[str, int] = {}
    if progress.of:
        several = {
            "pictures": progress.of,
            "done": progress.done - progress.failed,
            "failed": progress.failed,
        }
    return replace(row, share=progress.share, left=left, **several)


def work_of(rows: Iterable[Row], progress: Progress | None) -> Work:
    waiting = [row for row in rows if row.state.waits]
    known = [row for row in waiting if row.kind is Kind.PICTURE or (row.several and row.pictures)]
    pictures = sum(max(1, row.pictures - row.done) for row in known)
    left = None if progress is None else progress.seconds_left
    return Work(pictures, len(waiting) - len(known), left, progress is not None)


def _row(view: JobView, titles: Mapping[str, str], own: int | None) -> Row:
    job, described = view.job, view.description
    state = _state(view, own)
    shares = [
        (titles.get(name, printable(name, MAX_NAME)), percent) for name, percent in described.styles
    ]
    mixed = len(shares) > 1 and all(percent for _, percent in shares)
    if mixed:
        style = blend_label([(title, percent / 100) for title, percent in shares])
    else:
        style = " + ".join(title for title, _ in shares)
    several = described.kind in (Kind.FOLDER, Kind.SEVERAL)
    unusable = sum(not path for path, _ in view.faults)  # the manifest plans nothing for them
    return Row(
        job.number,
        printable(described.title, MAX_NAME),
        described.kind,
        style,
        state,
        described.inputs[0] if described.inputs else "",
        described.output if several or not view.result else view.result,
        view.pictures + unusable,
        view.done,
        view.failed + unusable,
        _reason(view) if state is RowState.FAILED else "",
        view.done / view.pictures if view.pictures and state is RowState.ELSEWHERE else None,
        faults=view.faults if state is RowState.FAILED else (),
        first=view.result if several else "",
    )


def without_folder(path: str, fault: str) -> str:
    """Return a sentence that names the file at `path` without its folder."""
    return fault.replace(printable(path), printable(Path(path).name)) if path else fault


def _reason(view: JobView) -> str:
    """Return why a job failed, without the folder of the file that failed first."""
    path = view.faults[0][0] if view.faults else ""
    return without_folder(path, view.job.error)


def _state(view: JobView, own: int | None) -> RowState:
    if view.state == INTERRUPTED:
        return RowState.INTERRUPTED
    state = view.job.state
    if state is JobState.RUNNING:
        return RowState.RUNNING if view.job.number == own else RowState.ELSEWHERE
    if state is JobState.DONE:
        skipped = view.pictures and view.kept == view.pictures
        return RowState.SKIPPED if skipped else RowState.DONE
    return RowState.FAILED if state is JobState.FAILED else RowState.WAITING
