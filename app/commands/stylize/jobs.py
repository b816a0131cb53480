"""Which pictures `stylize` reads, and the files for their results."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError
from app.sources import pictures_in
from utils.images.writing import SAVED
from utils.text import printable


class StylizeError(StyleForgeError):
    """The command, or one of its pictures, cannot be carried out."""


@dataclass(frozen=True, slots=True)
class Job:
    """One picture to read, and the file for its result."""

    source: Path
    target: Path


def plan_jobs(inputs: list[str], output: Path) -> tuple[list[Job], list[str]]:
    """Find the pictures and the files for their results.

    Args:
        inputs: pictures, folders and patterns.
        output: a folder, or for one picture a file.

    Returns:
        The jobs, and one sentence for each input that cannot be used.

    Raises:
        StylizeError: results cannot be written to `output`, or would overwrite one another or an
            input.
    """
    problems: list[str] = []
    found: list[tuple[Path, Path]] = []  # the picture, and its path relative to the output folder
    for text in inputs:
        paths = _expand(text)
        if not paths:
            problems.append(f"'{shown(text)}' does not exist")
        for path in paths:
            if path.is_dir():
                known = len(problems)
                pictures = [
                    (picture, picture.relative_to(path))
                    for picture in _pictures_below(path, output, problems)
                ]
                if not pictures and len(problems) == known:
                    problems.append(f"'{shown(path)}' holds no pictures")
                found += pictures
            else:
                found.append((path, Path(path.name)))
    single = len(found) == 1 and not Path(inputs[0]).is_dir()
    to_file = single and bool(output.suffix) and not output.is_dir()
    if to_file and output.suffix.lower() not in SAVED:
        raise StylizeError(
            f"the result cannot be '{shown(output)}': it must end in {', '.join(SAVED)}"
        )
    if not to_file and output.is_file():
        raise StylizeError(f"'{shown(output)}' is a file where a folder for the results should be")
    jobs = [Job(path, output if to_file else output / _target_name(name)) for path, name in found]
    sources = {_identity(job.source) for job in jobs}
    taken: dict[Path, Path] = {}
    for job in jobs:
        target = _identity(job.target)
        if target in sources:
            raise StylizeError(f"'{shown(job.target)}' is an input and would be overwritten")
        if target in taken and taken[target] != job.source:
            raise StylizeError(
                f"'{shown(taken[target])}' and '{shown(job.source)}' would both become "
                f"'{shown(job.target)}'"
            )
        taken[target] = job.source
    return list({_identity(job.target): job for job in jobs}.values()), problems


def _expand(text: str) -> list[Path]:
    """Return the path `text`, or the paths it matches as a pattern; not every shell expands
    patterns.
    """
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


def _pictures_below(folder: Path, output: Path, problems: list[str]) -> Iterator[Path]:
    """Yield the pictures in `folder` and its visible subfolders, except in `output`."""

    def refused(exc: OSError) -> None:
        problems.append(f"the folder '{shown(exc.filename)}' cannot be read: {exc.strerror}")

    skip = _identity(output)
    for where, folders, _ in os.walk(folder, onerror=refused):
        here = Path(where)
        folders[:] = sorted(
            name for name in folders if name[0] != "." and _identity(here / name) != skip
        )
        # A folder may contain only folders.
        with contextlib.suppress(StyleForgeError):
            yield from pictures_in(here)


def _target_name(name: Path) -> Path:
    """Return the name of the result; a format that cannot be written becomes PNG ("x.tif.png")."""
    return name if name.suffix.lower() in SAVED else name.with_name(f"{name.name}.png")


def _identity(path: Path) -> Path:
    return Path(os.path.normcase(path.resolve()))


def shown(path: object) -> str:
    """Return a whole path in printable form."""
    return printable(str(path), MAX_MESSAGE_LENGTH)
