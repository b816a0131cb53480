"""Messages about the queue: progress, end, and rejected files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.ui.queue.rows import Row, work_of
from app.ui.queue.runner import Phase, QueueRunner
from utils.text import printable
from utils.translation.texts import tr, trn


def counts(rows: Iterable[Row]) -> tuple[int, int]:
    """Return how many pictures and films are finished, and how many failed."""
    ended = [row.ended_files for row in rows]
    return sum(done for done, _ in ended), sum(failed for _, failed in ended)


def size_of(rows: Iterable[Row]) -> int:
    """Return the number of pictures and films; a folder that was not read counts as one."""
    return sum(row.size for row in rows)


def summary_words(rows: Sequence[Row], runner: QueueRunner) -> str:
    """Return the progress and remaining time of the queue; "" if it is empty."""
    if not rows:
        return ""
    ended, failed = counts(rows)
    words = [tr("{done} of {n} done", done=ended, n=size_of(rows))]
    if failed:
        words.append(tr("{n} failed", n=failed))
    if runner.phase is Phase.STARTING:
        words.append(tr("starting"))
    elif runner.phase is Phase.STOPPING:
        words.append(tr("stopping"))
    elif runner.finishing:
        words.append(tr("stops after this entry"))
    elif runner.running:
        words.append(runner.forecast.words(work_of(rows, runner.progress)))
    return " · ".join(filter(None, words))


def done_share(rows: Sequence[Row], runner: QueueRunner) -> float | None:
    """Return the completed fraction of the queue, 0 to 1; None while it does not run."""
    if not runner.running or not rows:
        return None
    progress = runner.progress
    begun = 0.0  # of the picture or film under way
    if progress is not None and progress.share is not None:
        begun = progress.share * max(1, progress.of) - progress.done
    return min(1.0, (sum(counts(rows)) + max(0.0, begun)) / size_of(rows))


def end_words(rows: Sequence[Row], ended: Sequence[Row], *, stopped: bool) -> str:
    """Tell how a run of the queue ended.

    Args:
        ended: The rows that ended in it.
        stopped: Whether the user stopped it, and not its last row.
    """
    waiting = sum(row.state.waits for row in rows)
    if stopped and waiting:
        done, _ = counts(rows)
        return tr("The queue has stopped: {done} of {n} done", done=done, n=size_of(rows))
    done, failed = counts(ended)
    if waiting:
        return trn(
            "The new entries have ended: {done} done, {failed} failed; {n} older entry waits",
            "The new entries have ended: {done} done, {failed} failed; {n} older entries wait",
            waiting,
            done=done,
            failed=failed,
        )
    if failed:
        return tr("The queue has ended: {done} done, {failed} failed", done=done, failed=failed)
    return tr("The queue has ended: {done} done", done=done)


def left_out_words(paths: Sequence[Path]) -> str:
    """Name the files that were not added because they are neither pictures nor films."""
    name = printable(paths[0].name)
    if len(paths) == 1:
        return tr(
            "'{name}' is neither a picture nor a film, and was not added to the queue", name=name
        )
    return tr(
        "'{name}' and {n} more are neither pictures nor films, and were not added to the queue",
        name=name,
        n=len(paths) - 1,
    )


def stream_words(*, paused: bool) -> str:
    if paused:
        return tr("The picture is paused while the queue runs; Space continues it")
    return tr("The picture continues during the queue and slows it down; Space pauses it")
