"""Finds the runs that no program works on, and clears what is left of those that were killed."""

from __future__ import annotations

from dataclasses import dataclass

from filelock import FileLock, Timeout

from app.training.run_store import RunDirectory, RunStore


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The result of a search.

    Attributes:
        runs: Those that can be resumed, the newest first.
        damaged: One sentence for each run that cannot be read.
    """

    runs: tuple[RunDirectory, ...]
    damaged: tuple[str, ...]


def find_unfinished(store: RunStore, current: RunDirectory | None) -> Unfinished:
    """Search the store, and delete runs in it that are not worth keeping any more.

    Args:
        store: The runs.
        current: The run that this program works on, which is left out.
    """
    found = []
    store.clear_leftovers()
    for run in store.all():
        if current is not None and run.path == current.path:
            continue
        lock = run_lock(run)
        try:
            lock.acquire()
        except Timeout:  # another window works on it
            continue
        lock.release()
        if run.worth_keeping:
            found.append(run)
        elif store.is_stale(run):
            store.delete(run)
    return Unfinished(tuple(found), store.damaged())


def run_lock(run: RunDirectory) -> FileLock:
    """Return the lock held by the window that works on `run`.

    The system releases it when the program ends, so neither the file nor its content means
    anything.
    """
    return FileLock(run.path / "lock", timeout=0, thread_local=False)
