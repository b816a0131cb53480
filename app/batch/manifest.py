"""Manifests: files that record the source, result and state of each picture and film of a run."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from app.batch.shard import MOST as MOST_SHARDS
from app.batch.shard import Shard
from app.errors import StyleForgeError
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.text import printable

FORMAT = 1
MAX_BYTES = 1 << 30  # size limit of a manifest; a picture takes a few hundred bytes
SECONDS_BETWEEN_WRITES = 10.0  # a crash loses at most these records, but no results
MOST_SHARE = 0.02  # share of a run's time spent writing the manifest of very many pictures


class ManifestError(StyleForgeError):
    """Raised if a file is not a manifest."""


class State(StrEnum):
    """The state of a picture or film."""

    PENDING = "pending"  # not begun, or the process ended before it was recorded
    DONE = "done"
    KEPT = "kept"  # its result existed already
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Entry:
    """A picture or film, with absolute paths. Unknown values are None.

    Attributes:
        source_bytes: Size of the source when the run was planned.
        source_mtime_ns: Modification time of the source, in nanoseconds since 1970.
        result_mtime_ns: Modification time of the result.
        result_sha256: Digest of the result, if this run or the run it continues wrote it.
        share: How much of an unfinished film is done, 0 to 1; after a crash, a lower bound.
    """

    source: str
    result: str
    state: State = State.PENDING
    source_bytes: int | None = None
    source_mtime_ns: int | None = None
    result_bytes: int | None = None
    result_mtime_ns: int | None = None
    result_sha256: str | None = None
    share: float | None = None
    error: str = ""

    @property
    def complete(self) -> bool:
        """Whether a result should exist."""
        return self.state in (State.DONE, State.KEPT)

    @property
    def intact(self) -> bool:
        """Whether the result exists with the recorded size and modification time."""
        return self.complete and _stamp(Path(self.result)) == (
            self.result_bytes,
            self.result_mtime_ns,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """A run, or one of its shards.

    Attributes:
        pictures: Total number of pictures and films in all shards.
        plan_sha256: Digest of the results' names in all shards; equal if all planned the same.
        finished: Whether the run reached its end, with or without failures.
    """

    shard: Shard
    pictures: int
    plan_sha256: str
    style: str
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()
    finished: bool = False

    def count(self, state: State) -> int:
        return sum(entry.state is state for entry in self.entries)

    @property
    def share(self) -> float:
        """The fraction of the work done or failed, 0 to 1; pictures and films count the same."""
        done = sum(
            (entry.share or 0.0) if entry.state is State.PENDING else 1.0 for entry in self.entries
        )
        return done / len(self.entries) if self.entries else 1.0

    def write(self, path: Path) -> None:
        """Write the manifest atomically.

        Raises:
            OSError: If the file cannot be written.
        """
        names = [each.name for each in fields(Entry)]
        entries = [
            {name: value for name in names if (value := getattr(entry, name)) not in (None, "")}
            for entry in self.entries
        ]
        values = {
            "format": FORMAT,
            "shard": self.shard.index,
            "shards": self.shard.count,
            "pictures": self.pictures,
            "plan_sha256": self.plan_sha256,
            "style": self.style,
            "finished": self.finished,
            "problems": self.problems,
        }
        atomic_write(path, (_dumped(values, entries) + "\n").encode())


def read_manifest(path: Path) -> Manifest:
    """Read a file that `Manifest.write` wrote.

    Raises:
        ManifestError: If `path` cannot be read or is not a manifest.
    """
    shown = printable(str(path))
    try:
        values: Any = small_json.load(path, MAX_BYTES)
        if values["format"] != FORMAT:
            raise ManifestError(f"'{shown}' was written by another version of StyleForge")
        index, count = _whole(values["shard"]), _whole(values["shards"])
        if not 1 <= index <= count <= MOST_SHARDS:
            raise ValueError("there is no such shard")
        return Manifest(
            Shard(index, count),
            _whole(values["pictures"]),
            _text(values["plan_sha256"]),
            _text(values["style"]),
            tuple(_entry(each) for each in values["entries"]),
            tuple(_text(each) for each in values["problems"]),
            values["finished"] is True,
        )
    except OSError as exc:
        raise ManifestError(f"'{shown}' cannot be read: {exc.strerror or exc}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ManifestError(f"'{shown}' is no manifest of `styleforge stylize`") from exc


def planned(pairs: Iterable[tuple[Path, Path]]) -> tuple[Entry, ...]:
    """Build the entries of pictures and films from pairs of source and result files."""
    made = []
    for source, result in pairs:
        size, changed = _stamp(source)
        place, target = str(source.absolute()), str(result.absolute())
        made.append(Entry(place, target, State.PENDING, size, changed))
    return tuple(made)


def sha256_of(path: Path) -> str:
    """Return the digest of a file, in hexadecimal.

    Raises:
        OSError: If the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plan_digest(names: Iterable[str]) -> str:
    """Return the digest of a plan, regardless of the order of its names."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


@dataclass(slots=True)
class Record:
    """The manifest of a run in progress, written at the start, every few seconds and at the end.

    Attributes:
        path: The file. If it exists, it is the manifest of the run to continue.
        clock: Returns seconds.

    Raises:
        ManifestError: If the file exists and is not a manifest.
        OSError: If the file cannot be written.
    """

    path: Path
    manifest: Manifest
    clock: Callable[[], float] = time.monotonic
    _entries: dict[str, Entry] = field(init=False)
    _before: dict[str, Entry] = field(init=False)
    _due_at: float = field(init=False)

    def __post_init__(self) -> None:
        before = read_manifest(self.path).entries if os.path.lexists(self.path) else ()
        self._before = {entry.result: entry for entry in before}
        self._entries = {entry.result: entry for entry in self.manifest.entries}
        for name in self._entries:
            if self._made(name):
                self._put(name, **_result_of(self._before[name]))
        self.save()

    def made(self, result: Path) -> bool:
        """Return whether the continued run made this result, and both files are unchanged."""
        return self._made(str(result.absolute()))

    def kept(self, result: Path) -> None:
        """Record that a result existed already. Results of the continued run keep their record."""
        if not self.made(result):
            size, changed = _stamp(result)
            values = {"state": State.KEPT, "result_bytes": size, "result_mtime_ns": changed}
            self._put(str(result.absolute()), **values)

    def done(self, result: Path) -> None:
        """Record that a result was written.

        Raises:
            OSError: If the result does not exist.
        """
        size, changed = _stamp(result)
        self._put(
            str(result.absolute()),
            state=State.DONE,
            result_bytes=size,
            result_mtime_ns=changed,
            result_sha256=sha256_of(result),
            share=None,
        )
        self._save_when_due()

    def under_way(self, result: Path, share: float) -> None:
        """Record the finished share of a film, 0 to 1."""
        self._put(str(result.absolute()), share=round(share, 4))
        self._save_when_due()

    def failed(self, result: Path, error: str) -> None:
        self._put(str(result.absolute()), state=State.FAILED, error=error, share=None)
        self._save_when_due()

    def finish(self) -> None:
        """Record that the run reached its end.

        Raises:
            OSError: If the manifest cannot be written.
        """
        self.manifest = replace(self.manifest, finished=True)
        self.save()

    def save(self) -> None:
        """Write the current manifest.

        Raises:
            OSError: If the file cannot be written.
        """
        self.manifest = replace(self.manifest, entries=tuple(self._entries.values()))
        begun = self.clock()
        self.manifest.write(self.path)
        took = self.clock() - begun
        self._due_at = begun + took + max(SECONDS_BETWEEN_WRITES, took / MOST_SHARE)

    def _made(self, name: str) -> bool:
        before, now = self._before.get(name), self._entries[name]
        return (
            before is not None
            and before.state is State.DONE
            and _source_of(before) == _source_of(now)
            and before.intact
        )

    def _put(self, name: str, **values: Any) -> None:
        self._entries[name] = replace(self._entries[name], **values)

    def _save_when_due(self) -> None:
        if self.clock() >= self._due_at:
            self.save()


def _dumped(values: dict[str, Any], entries: list[dict[str, Any]]) -> str:
    """Format JSON with one line per entry; with indentation, json takes twice as long."""
    head = json.dumps(values, indent=1).removesuffix("\n}")
    return head + ',\n "entries": [\n' + ",\n".join(map(json.dumps, entries)) + "\n ]\n}"


def _source_of(entry: Entry) -> tuple[object, ...]:
    return entry.source, entry.source_bytes, entry.source_mtime_ns


def _result_of(entry: Entry) -> dict[str, Any]:
    names = ("state", "result_bytes", "result_mtime_ns", "result_sha256")
    return {name: getattr(entry, name) for name in names}


def _stamp(path: Path) -> tuple[int | None, int | None]:
    """Return the size and modification time of a file; None for both if it is inaccessible."""
    try:
        status = path.stat()
    except OSError:
        return None, None
    return status.st_size, status.st_mtime_ns


def _entry(values: Any) -> Entry:
    known = {each.name for each in fields(Entry)}
    values = {name: value for name, value in values.items() if name in known}
    for name, value in values.items():
        _check(name, value)
    return Entry(**values | {"state": State(values["state"])})


def _check(name: str, value: Any) -> None:
    if name == "share":
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise TypeError("it should be a share")
    elif name.endswith(("_bytes", "_ns")):
        _whole(value)
    else:
        _text(value)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("it should be a whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it should be text")
    return value
