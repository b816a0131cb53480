"""Finds the pictures and films that appear in a folder, once they are complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.batch.description import inputs_of
from app.batch.job import QueuedJob
from app.errors import StyleForgeError
from app.sources import pictures_in

Stamp = tuple[int, int]  # size in bytes, time of change in nanoseconds


class WatchedFolder:
    """The pictures and films in a folder, without subfolders.

    Args:
        folder: It has to be there whenever it is looked at.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: dict[Path, Stamp] = {}
        self._told: set[tuple[Path, Stamp]] = set()

    def settled(self) -> list[tuple[Path, float]]:
        """Look at the folder again.

        Returns:
            Each file that has not been returned as it is now, and has not changed since the look
            before, with its time of change in seconds since 1970: one that is still being copied
            or downloaded is left for later.

        Raises:
            StyleForgeError: The folder cannot be read.
        """
        if not self._folder.is_dir():
            raise StyleForgeError(f"the folder '{self._folder}' is not there")
        now: dict[Path, Stamp] = {}
        try:
            found = pictures_in(self._folder, films=True)
        except StyleForgeError:
            if not _is_readable(self._folder):
                raise
            found = ()
        for path in found:
            try:
                status = path.stat()
            except OSError:  # just moved away
                continue
            now[path] = status.st_size, status.st_mtime_ns
        settled = [
            path
            for path, stamp in now.items()
            if stamp[0] and self._before.get(path) == stamp and (path, stamp) not in self._told
        ]
        self._before = now
        self._told = {(path, stamp) for path, stamp in self._told if now.get(path) == stamp}
        self._told |= {(path, now[path]) for path in settled}
        return [(path, now[path][1] / 1e9) for path in settled]


def not_queued(settled: Iterable[tuple[Path, float]], jobs: Iterable[QueuedJob]) -> list[Path]:
    """The pictures that no job has as they are now.

    Args:
        settled: Pictures with their times of change, as of `WatchedFolder.settled`.
        jobs: All of the queue, in whatever state.
    """
    found = list(settled)
    if not found:
        return []
    queued: dict[str, float] = {}
    for job in jobs:
        for name in inputs_of(job.arguments):
            queued[name] = max(job.added_at, queued.get(name, 0.0))
    return [path for path, changed in found if queued.get(str(path), -1.0) < changed]


def _is_readable(folder: Path) -> bool:
    try:
        next(folder.iterdir(), None)
    except OSError:
        return False
    return True
