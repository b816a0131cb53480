"""Detection of new pictures and films in a folder, once they are complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.batch.queue.description import inputs_of
from app.batch.queue.job import QueuedJob, stamp_of
from app.errors import StyleForgeError
from app.sources import pictures_in


class WatchedFolder:
    """The pictures and films in `folder`, which must exist at every scan, without subfolders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: dict[Path, str] = {}
        self._told: set[tuple[Path, str]] = set()

    def settled(self) -> list[tuple[Path, str]]:
        """Scan the folder again.

        Returns:
            Each new or changed file that is the same as in the previous scan, with its stamp.
            A file that is still being copied or downloaded waits for a later scan.

        Raises:
            StyleForgeError: If the folder cannot be read.
        """
        if not self._folder.is_dir():
            raise StyleForgeError(f"the folder '{self._folder}' is not there")
        now: dict[Path, str] = {}
        try:
            found = pictures_in(self._folder, films=True)
        except StyleForgeError:
            if not _is_readable(self._folder):
                raise
            found = ()
        for path in found:
            if stamp := stamp_of(path):  # "" if the file was just moved away
                now[path] = stamp
        settled = [
            path
            for path, stamp in now.items()
            if not stamp.startswith("0 ")
            and self._before.get(path) == stamp
            and (path, stamp) not in self._told
        ]
        self._before = now
        self._told = {(path, stamp) for path, stamp in self._told if now.get(path) == stamp}
        self._told |= {(path, now[path]) for path in settled}
        return [(path, now[path]) for path in settled]


def not_queued(settled: Iterable[tuple[Path, str]], jobs: Iterable[QueuedJob]) -> list[Path]:
    """Return the pictures whose current version is not in the last job that names them.

    The comparison ignores the clock: a file may be dated in the future, or replaced by an older
    one.
    """
    found = list(settled)
    if not found:
        return []
    queued: dict[str, str | None] = {}  # None: a job of an earlier version, without stamps
    for job in sorted(jobs, key=lambda job: job.number):
        queued |= {name: job.stamps.get(name) for name in inputs_of(job.arguments)}
    return [path for path, stamp in found if queued.get(str(path), "") not in (stamp, None)]


def _is_readable(folder: Path) -> bool:
    try:
        next(folder.iterdir(), None)
    except OSError:
        return False
    return True
