"""The search for runs that no program works on, which also clears the remains of killed runs."""

from __future__ import annotations

from dataclasses import dataclass

from filelock import FileLock, Timeout

from app.training.run_store import RunDirectory, RunStore


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The resumable runs, the newest first, and one sentence for each `damaged` run."""

    runs: tuple[RunDirectory, ...]
    damaged: tuple[str, ...]


def find_unfinished(store: RunStore, current: RunDirectory | None) -> Unfinished:
    """Search the store, except for our run `current`; delete runs no longer worth keeping."""
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
    """Return the lock of the window that works on `run`; the system releases it at its end.

    Neither the file's existence nor its content has a meaning.
    """
    return FileLock(run.path / "lock", timeout=0, thread_local=False)
