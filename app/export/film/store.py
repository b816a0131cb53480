"""The folder of a film that is being made: its finished parts, for a run that goes on later."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from app.export.film.fault import FilmError, named
from utils.files.atomic import LETTERS, atomic_write, sync
from utils.files.regular import read_regular

FORMAT = 1
_DESCRIPTION = "film.json"
_MOST_BYTES = 16 << 20  # of a description


@dataclass(frozen=True, slots=True)
class Segment:
    """A finished part of a film.

    Attributes:
        name: Of its file.
        start: When its first frame is shown, in the film's time base.
        times: When each frame is shown after that, in the order in which they are decoded.
        duration: For how long the last one is.
        size: Of its file, in bytes.
    """

    name: str
    start: int
    times: tuple[int, ...]
    duration: int
    size: int

    @property
    def last(self) -> int:
        """When its last frame is shown, in the film's time base."""
        return self.start + max(self.times)


def store_folder(target: Path) -> Path:
    """The hidden folder in which the parts of a film are kept until it is finished."""
    digest = hashlib.sha256(target.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return target.with_name(f".{target.name[:LETTERS]}.{digest}.film")


class SegmentStore:
    """The finished parts of one film, in order. To be used as a context, which keeps other
    processes out. Parts of a film that was made otherwise are deleted.

    Args:
        target: The film; the parts are kept in a folder beside it.
        identity: Everything on which the film's packets depend.
        gaps: Whether parts count behind one that is missing, as where several devices make them.

    Attributes:
        finished: The finished parts by their numbers.
    """

    def __init__(self, target: Path, identity: Mapping[str, str], *, gaps: bool = False) -> None:
        self.folder, self._target = store_folder(target), target
        self._identity = {"format": str(FORMAT), **identity}
        self._gaps = gaps
        self.finished: dict[int, Segment] = {}
        self._lock = FileLock(
            self.folder.with_name(f"{self.folder.name}.lock"), timeout=0, thread_local=False
        )

    def __enter__(self) -> SegmentStore:
        self._target.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise FilmError(f"{named(self._target)} is being made by another process") from None
        self._read()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        Path(self._lock.lock_file).unlink(missing_ok=True)

    @property
    def segments(self) -> list[Segment]:
        """The finished parts in their order."""
        return [self.finished[number] for number in sorted(self.finished)]

    @property
    def last(self) -> int | None:
        """When the last frame of the finished parts is shown; None where there are none."""
        return self.finished[max(self.finished)].last if self.finished else None

    @property
    def frames(self) -> int:
        """How many frames the finished parts have."""
        return sum(len(segment.times) for segment in self.finished.values())

    def begin(self, number: int) -> Path:
        """A file for a part, which counts once it is added."""
        return part_file(self.folder, number)

    def add(self, number: int, part: Path, start: int, times: Sequence[int], duration: int) -> None:
        """Keep a part, whose file has been completed.

        Args:
            number: Of the part, from 0.
            part: The file.
            start: As of Segment.
            times: As of Segment.
            duration: As of Segment.

        Raises:
            OSError: It cannot be kept.
        """
        name = f"{number:06d}.coded"
        sync(part)
        segment = Segment(name, start, tuple(times), duration, part.stat().st_size)
        part.replace(self.folder / name)
        about = json.dumps(asdict(segment)).encode()
        atomic_write(self.folder / f"{number:06d}.json", about)
        self.finished[number] = segment

    def remove(self) -> None:
        """Delete all parts: the film is finished, or given up."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.finished.clear()

    def _read(self) -> None:
        """Take what an earlier run of the same film has left: the parts that are whole, without
        gaps up to the first that is not."""
        about = self.folder / _DESCRIPTION
        if _json(about) != self._identity:
            self.remove()
            self.folder.mkdir()
            atomic_write(about, json.dumps(self._identity).encode())
            return
        for left in self.folder.glob("*.part"):
            left.unlink()
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

    def _is_whole(self, segment: Segment) -> bool:
        path = self.folder / segment.name
        return path.is_file() and path.stat().st_size == segment.size


def part_file(folder: Path, number: int) -> Path:
    """The file of a part that is being made, in the folder of a film."""
    return folder / f"{number:06d}.part"


def _json(path: Path) -> object:
    try:
        return json.loads(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError):
        return None


def _segment(about: object) -> Segment | None:
    if not isinstance(about, dict):
        return None
    try:
        times = tuple(int(time) for time in about["times"])
        name = f"{Path(about['name']).name}"
        segment = Segment(
            name, int(about["start"]), times, int(about["duration"]), int(about["size"])
        )
    except (KeyError, TypeError, ValueError):
        return None
    return segment if times else None
