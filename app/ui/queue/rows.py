"""What a row of the queue shows, in words: a value made of a job, with nothing of Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from app.batch.description import Kind
from app.batch.job import JobState
from app.batch.overview import INTERRUPTED, JobView
from app.options import blend_label
from app.ui.durations import format_remaining
from app.ui.queue.forecast import Work
from utils.text import printable
from utils.translation.texts import mark, tr, trn

MAX_NAME = 200  # characters of a file's name that are shown


class RowState(Enum):
    """How far a row is; the value is what it says, in English."""

    WAITING = mark("Waiting")
    RUNNING = mark("Starting")  # until its share is known
    ELSEWHERE = mark("Running in another process")
    INTERRUPTED = mark("Interrupted, waiting")
    DONE = mark("Done")
    SKIPPED = mark("Skipped: it has a result")
    FAILED = mark("Failed")

    @property
    def waits(self) -> bool:
        """Whether it is still to be run."""
        return self in (RowState.WAITING, RowState.INTERRUPTED)

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self in (RowState.DONE, RowState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the entry under way is.

    Attributes:
        number: Of its job.
        share: 0 to 1; None before it is known.
        done: Pictures of several that are done.
        of: How many there are; 0 where it is one, or not known.
        seconds_left: None where it is not known.
    """

    number: int
    share: float | None = None
    done: int = 0
    of: int = 0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the queue.

    Attributes:
        number: Of its job.
        title: The name of its file or folder.
        kind: What it is made of.
        style: The titles of its style, or of those that are mixed.
        state: How far it is.
        source: Its file or folder, absolute.
        result: The file or folder of its result, absolute; it need not be there.
        pictures: How many it has; 0 where that is not known.
        done: How many of them are done.
        failed: How many of them failed.
        reason: Why it failed; "" otherwise.
        share: How much of it is done, 0 to 1; None where that is not known.
        left: How long it still takes, in words; "" where that is not known.
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

    @property
    def pictured(self) -> str:
        """The file, or the folder, of which a thumbnail is shown."""
        return self.result if self.state.ended and self.result else self.source

    @property
    def several(self) -> bool:
        """Whether it may have several pictures."""
        return self.kind in (Kind.FOLDER, Kind.SEVERAL)

    @property
    def detail(self) -> str:
        """The second line: the style and what it is, or why it failed."""
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
        """The state in words, with how far it is."""
        if self.state is RowState.RUNNING and self.share is not None:
            if self.several and self.pictures:
                return tr("{done} of {n}", done=self.done, n=self.pictures)
            return f"{int(100 * self.share)} %"
        if self.state is RowState.FAILED and self.failed and self.pictures > 1:
            return tr("{failed} of {n} failed", failed=self.failed, n=self.pictures)
        return tr(self.state.value)

    @property
    def spoken(self) -> str:
        """All of it, for a screen reader."""
        words = [self.title, self.detail, self.words, self.left]
        return ", ".join(filter(None, words))


def rows_of(views: Iterable[JobView], titles: Mapping[str, str], own: int | None) -> list[Row]:
    """Make the rows of jobs.

    Args:
        views: The jobs.
        titles: Of the styles, by key.
        own: The number of the job that this program runs; None for none.
    """
    return [_row(view, titles, own) for view in views]


def with_progress(row: Row, progress: Progress) -> Row:
    """The row of the entry under way, as far as it is now."""
    if row.state is not RowState.RUNNING:
        return row
    left = "" if progress.seconds_left is None else format_remaining(progress.seconds_left)
    several = {"pictures": progress.of, "done": progress.done} if progress.of else {}
    return replace(row, share=progress.share, left=left, **several)


def work_of(rows: Iterable[Row], progress: Progress | None) -> Work:
    """What the rows have left to do."""
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
    return Row(
        job.number,
        printable(described.title, MAX_NAME),
        described.kind,
        style,
        state,
        described.inputs[0] if described.inputs else "",
        described.output if several or not view.result else view.result,
        view.pictures,
        view.done,
        view.failed,
        job.error if state is RowState.FAILED else "",
        view.done / view.pictures if view.pictures and state is RowState.ELSEWHERE else None,
    )


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
