"""Input files of a run: pictures and films from folders, patterns and lists."""

from __future__ import annotations

import codecs
import glob
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.batch.error import shown
from app.batch.folders import files_below
from utils.images.moving import moves_in_folder, moving_kind

STDIN = "-"  # instead of an input: a list of inputs on stdin
MAX_LIST_BYTES = 256 << 20  # a few million long paths


def named_files(
    inputs: Sequence[str], left_out: Sequence[Path], problems: list[str]
) -> Iterator[tuple[Path, Path, bool]]:
    """Find the pictures and films.

    Args:
        inputs: Pictures, films, folders and patterns; "-" for a list on stdin.
        left_out: Folders inside the inputs that are not searched, such as the results' folder.

    Yields:
        Each file, its path relative to the results' folder, and whether it is a film.
    """
    for text in inputs:
        paths = listed_paths(problems) if text == STDIN else _expand(text)
        if not paths and text != STDIN:
            problems.append(f"'{shown(text)}' does not exist")
        for path in paths:
            if path.is_dir():
                known = len(problems)
                found = list(files_below(path, left_out, problems))
                yield from ((file, file.relative_to(path), moves_in_folder(file)) for file in found)
                if not found and len(problems) == known:
                    problems.append(f"'{shown(path)}' contains neither pictures nor films")
            else:
                yield path, Path(path.name), _moves(path)


def _moves(path: Path) -> bool:
    """Return whether a file is a film or an animation; reading an unreadable file reports why."""
    try:
        return moving_kind(path) != ""
    except OSError:
        return False


def listed_paths(problems: list[str]) -> list[Path]:
    """Read the paths on stdin, no patterns: one per line, or NUL-separated as by `find -print0`."""
    data = sys.stdin.buffer.read(MAX_LIST_BYTES + 1) if sys.stdin else b""
    if len(data) > MAX_LIST_BYTES:
        problems.append(f"the list on stdin is longer than {MAX_LIST_BYTES >> 20} MB")
        return []
    data = data.removeprefix(codecs.BOM_UTF8)  # in a file that Windows wrote
    lines = data.split(b"\0") if b"\0" in data else data.splitlines()
    paths = [Path(os.fsdecode(line)) for line in lines if line.strip()]
    if not paths:
        problems.append("the list on stdin names no files")
    return paths


def _expand(text: str) -> list[Path]:
    """Return the path `text`, or its matches as a pattern; not every shell expands patterns."""
    if not text:  # an empty shell variable; Path("") would be the working folder
        return []
    path = Path(text).expanduser()
    if path.exists():
        return [path]
    if glob.has_magic(text):
        # Path.glob does not accept absolute patterns.
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207
        return [Path(match) for match in sorted(matches)]
    return []
