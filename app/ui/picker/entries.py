"""Reads the entries of a folder, on a background thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.sources.files import natural_sort
from utils.text import printable
from utils.translation.texts import tr

_STEP = 256  # entries between two questions whether the list is still wanted
_HIDDEN = getattr(stat, "FILE_ATTRIBUTE_HIDDEN", 2)  # set by Windows


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder.

    Attributes:
        size: In bytes.
        changed: When it was last written, in seconds since 1970.
    """

    path: Path
    folder: bool
    hidden: bool
    size: int
    changed: float


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a folder in both orders, folders first; `fault` says why it has none."""

    by_date: tuple[Entry, ...] = ()
    by_name: tuple[Entry, ...] = ()
    fault: str = ""


def read_folder(folder: Path, wanted: Callable[[], bool]) -> Listing:
    """Return the files and folders in `folder`; stop early if they are no longer wanted."""
    found: list[Entry] = []
    try:
        with os.scandir(folder) as each:
            for number, item in enumerate(each):
                if number % _STEP == 0 and not wanted():
                    break
                if entry := _entry(item):
                    found.append(entry)
    except OSError as exc:
        name = printable(folder.name or str(folder))
        reason = exc.strerror
        return Listing(
            fault=tr("The folder '{name}' cannot be read: {error}", name=name, error=reason)
        )
    newest = sorted(found, key=lambda entry: -entry.changed)
    return Listing(_folders_first(newest), _folders_first(_by_name(found)))


def read_recent(paths: Iterable[Path]) -> Listing:
    """Return the paths that still exist, in their order instead of by date."""
    found = list(_existing(paths))
    return Listing(tuple(found), _folders_first(_by_name(found)))


def _entry(item: os.DirEntry[str]) -> Entry | None:
    """Return an entry; None for a dead link, or if it was deleted meanwhile."""
    try:
        known = item.stat()
    except OSError:
        return None
    return _described(Path(item.path), known)


def _existing(paths: Iterable[Path]) -> Iterator[Entry]:
    for path in paths:
        try:
            yield _described(path, path.stat())
        except (OSError, ValueError):  # ValueError: a NUL in the name
            continue


def _described(path: Path, known: os.stat_result) -> Entry:
    hidden = path.name.startswith(".") or bool(getattr(known, "st_file_attributes", 0) & _HIDDEN)
    return Entry(path, stat.S_ISDIR(known.st_mode), hidden, known.st_size, known.st_mtime)


def _by_name(entries: list[Entry]) -> list[Entry]:
    of = {entry.path: entry for entry in entries}
    return [of[path] for path in natural_sort(of)]


def _folders_first(entries: list[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: not entry.folder))
