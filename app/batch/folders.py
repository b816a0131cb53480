"""The pictures and films in a folder and its subfolders."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.batch.error import shown
from app.errors import StyleForgeError
from app.sources import pictures_in


def files_below(folder: Path, left_out: Sequence[Path], problems: list[str]) -> Iterator[Path]:
    """Yield the pictures and films in `folder` and its visible subfolders, but `left_out`."""

    def refused(exc: OSError) -> None:
        problems.append(f"the folder '{shown(exc.filename)}' cannot be read: {exc.strerror}")

    skipped = {identity(each) for each in left_out}
    for where, folders, _ in os.walk(folder, onerror=refused):
        here = Path(where)
        folders[:] = sorted(
            name for name in folders if name[0] != "." and identity(here / name) not in skipped
        )
        # A folder may contain only folders.
        with contextlib.suppress(StyleForgeError):
            yield from pictures_in(here, films=True)


def identity(path: Path) -> Path:
    """Return one canonical path for a file with several paths."""
    return Path(os.path.normcase(path.resolve()))
