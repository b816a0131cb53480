"""The folder of an unfinished film: its finished parts, from which a later run resumes."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from app.export.film.fault import FilmError, named
from utils.files import small_json
from utils.files.atomic import LETTERS, atomic_write, replacing, sync
from utils.files.regular import check_regular
from utils.translation.texts import tr

FORMAT = 2
_DESCRIPTION = "film.json"
_MOST_BYTES = 16 << 20  # size limit of a description
_KEPT = 2  # number of histories: the newest part's, and the one before in case that is damaged
_AFTER = "after"  # key of the time in a history's file


@dataclass(frozen=True, slots=True)
class Segment:
    """A finished part of a film.

    Attributes:
        start: Time of its first frame, in the film's time base.
        times: Time of each frame relative to `start`, in decode order.
        size: Size of its file in bytes.
        continued: Whether the film resumes after it with a history.
    """

    name: str
    start: int
    times: tuple[int, ...]
    duration: int
    size: int
    continued: bool = False

    @property
    def last(self) -> int:
        """The time of its last frame, in the film's time base."""
        return self.start + max(self.times)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The state that later frames need, with its newest frame's time in the film's time base."""

    after: int
    kept: dict[str, NDArray[Any]]


def store_folder(target: Path) -> Path:
    """Return the hidden folder for the parts of an unfinished film."""
    digest = hashlib.sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return target.with_name(f".{target.name[:LETTERS]}.{digest}.film")


def is_idle(target: Path) -> bool:
    """Return whether a film could be made and no process is making it."""
    if not target.parent.is_dir():  # a disk may be missing
        return False
    lock = _lock_of(target)
    try:
        lock.acquire()
    except (Timeout, OSError):  # another process is making it, or the disk cannot be written
        return False
    _release(lock)
    return True


def delete_parts(target: Path) -> None:
    """Delete the parts of a film.

    Raises:
        FilmError: If another process is making the film.
        OSError: If a file cannot be deleted.
    """
    lock = _lock_of(target)
    _acquire(lock, target)
    try:
        if (folder := store_folder(target)).is_dir():
            shutil.rmtree(folder)
    finally:
        _release(lock)


def _lock_of(target: Path) -> FileLock:
    folder = store_folder(target)
    return FileLock(folder.with_name(f"{folder.name}.lock"), timeout=0, thread_local=False)


def _acquire(lock: FileLock, target: Path) -> None:
    try:
        lock.acquire()
    except Timeout:
        raise FilmError(tr("another process is making {file}", file=named(target))) from None


def _release(lock: FileLock) -> None:
    lock.release()
    Path(lock.lock_file).unlink(missing_ok=True)


class SegmentStore:
    """The finished parts of one film, in order.

    Use it as a context, which locks out other processes. On entry, it deletes parts of a film with
    a different identity.

    Args:
        target: The film; its parts are in a folder next to it.
        gaps: Whether parts after a missing one count, because several devices make them.

    Attributes:
        history: The state from which the film resumes after them; None if frames have no state.
    """

    def __init__(self, target: Path, identity: Mapping[str, str], *, gaps: bool = False) -> None:
        self.folder, self._target = store_folder(target), target
        self._identity = {"format": str(FORMAT), **identity}
        self._gaps = gaps
        self.finished: dict[int, Segment] = {}
        self.history: History | None = None
        self._lock = _lock_of(target)

    def __enter__(self) -> SegmentStore:
        self._target.parent.mkdir(parents=True, exist_ok=True)
        _acquire(self._lock, self._target)
        self._read()
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_unfinished()  # in case a full disk has room again
        _release(self._lock)

    @property
    def segments(self) -> list[Segment]:
        """The finished parts in order."""
        return [self.finished[number] for number in sorted(self.finished)]

    @property
    def last(self) -> int | None:
        """The time of the last frame of the finished parts; None without parts."""
        return self.finished[max(self.finished)].last if self.finished else None

    @property
    def frames(self) -> int:
        """The number of frames in the finished parts."""
        return sum(len(segment.times) for segment in self.finished.values())

    @property
    def frames_behind_history(self) -> int:
        """The number of finished frames that are newer than `history`."""
        if self.history is None:
            return 0
        after = self.history.after
        return sum(part.start + when > after for part in self.segments for when in part.times)

    def begin(self, number: int) -> Path:
        """Return a file for a part, which counts once `add` is called."""
        return part_file(self.folder, number)

    def add(
        self,
        number: int,
        part: Path,
        start: int,
        times: Sequence[int],
        duration: int,
        history: History | None = None,
    ) -> None:
        """Store a part whose file is complete, see Segment.

        `history` is the state at its end or shortly before; None if frames have no state.

        Raises:
            OSError: If storing fails.
        """
        name, size = f"{number:06d}.coded", part.stat().st_size
        sync(part)
        segment = Segment(name, start, tuple(times), duration, size, history is not None)
        if history is not None:
            self._write(history, number)
        part.replace(self.folder / name)
        about = json.dumps(asdict(segment)).encode()
        atomic_write(self.folder / f"{number:06d}.json", about)
        self.finished[number] = segment
        self._history_of(number - _KEPT).unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete all parts when the film is finished or abandoned."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.finished.clear()
        self.history = None

    def _history_of(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"

    def _write(self, history: History, number: int) -> None:
        with replacing(self._history_of(number)) as temporary:
            with temporary.open("wb") as file:
                arrays: dict[str, Any] = {_AFTER: np.array(history.after), **history.kept}
                np.savez(file, **arrays)
            sync(temporary)

    def _read(self) -> None:
        """Load the complete parts of earlier runs; without `gaps`, up to the first missing one."""
        about = self.folder / _DESCRIPTION
        if _json(about) != self._identity:
            self.remove()
            self.folder.mkdir()
            atomic_write(about, json.dumps(self._identity).encode())
            return
        self._remove_unfinished()
        numbers = sorted(
            int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdecimal()
        )
        for number in numbers:
            segment = _segment(_json(self.folder / f"{number:06d}.json"))
            if segment is not None and self._is_whole(segment):
                self.finished[number] = segment
        if not self._gaps:
            whole = next(n for n in range(len(numbers) + 1) if n not in self.finished)
            self.finished = {number: self.finished[number] for number in range(whole)}
            self._read_history()

    def _remove_unfinished(self) -> None:
        for left in self.folder.glob("*.part"):
            left.unlink(missing_ok=True)

    def _read_history(self) -> None:
        """Load the history of the newest part; without its history the part does not count."""
        while self.finished:
            number = max(self.finished)
            if not self.finished[number].continued:
                break
            self.history = _history(self._history_of(number))
            if self.history is not None:
                break
            del self.finished[number]

    def _is_whole(self, segment: Segment) -> bool:
        path = self.folder / segment.name
        return path.is_file() and path.stat().st_size == segment.size


def part_file(folder: Path, number: int) -> Path:
    """Return the file of an unfinished part in the folder of a film."""
    return folder / f"{number:06d}.part"


def _json(path: Path) -> object:
    try:
        return small_json.load(path, _MOST_BYTES)
    except (OSError, small_json.SmallJsonError):
        return None


def _history(path: Path) -> History | None:
    """Load a history; None if the file is missing or damaged (zip files have checksums)."""
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as file:
            if file.testzip() is not None:
                return None
        with np.load(path, allow_pickle=False) as arrays:
            kept = {name: arrays[name] for name in arrays.files}
        return History(int(kept.pop(_AFTER)), kept)
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None


def _segment(about: object) -> Segment | None:
    if not isinstance(about, dict):
        return None
    try:
        times = tuple(int(time) for time in about["times"])
        name = f"{Path(about['name']).name}"
        start, duration, size = (int(about[key]) for key in ("start", "duration", "size"))
        segment = Segment(name, start, times, duration, size, bool(about["continued"]))
    except (KeyError, TypeError, ValueError):
        return None
    return segment if times else None
