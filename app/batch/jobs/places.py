"""Folders and files at addresses such as s3://bucket/photos, using Arrow's file systems."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from app.batch.error import StylizeError, shown
from app.batch.jobs.job import Job
from utils.images.opening import picture_endings
from utils.images.writing import SAVED

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+")  # a single letter is a Windows drive


class Place(type(Path())):
    """An address as a path; its string form keeps the two slashes."""

    def __str__(self) -> str:
        return _ADDRESS.sub(_scheme, super().__str__(), count=1)


def place_of(text: object) -> Place | None:
    """Return a text or path as an address; None for a local path."""
    return Place(str(text)) if _ADDRESS.match(str(text)) else None


def remote_jobs(inputs: Sequence[str], output: Path) -> list[Job]:
    """Find the pictures at addresses, and the files for their results.

    Raises:
        StylizeError: If an address cannot be read or has no pictures, or two results share a name.
    """
    jobs: dict[str, Job] = {}
    endings = picture_endings()
    for text in inputs:
        base = PurePosixPath(_opened(text)[1])
        found = [path for path in _files(text) if path.suffix.lower() in endings]
        if not found:
            raise StylizeError(f"'{shown(text)}' contains no pictures")
        for path in found:
            relative = PurePosixPath(path.name) if path == base else path.relative_to(base)
            name = relative.as_posix()
            if relative.suffix.lower() not in SAVED:
                name += ".png"
            source = Place(text if path == base else f"{text.rstrip('/')}/{relative}")
            if name in jobs:
                raise StylizeError(f"two pictures would both become '{shown(name)}'")
            jobs[name] = Job(source, output / name)
    return list(jobs.values())


def existing(jobs: Sequence[Job], output: Path) -> list[Job]:
    if place_of(output) is None:
        return [job for job in jobs if os.path.lexists(job.target)]
    base = PurePosixPath(_opened(str(Place(output)))[1])
    there = {path.relative_to(base).as_posix() for path in _files(str(Place(output)))}
    return [job for job in jobs if job.target.relative_to(output).as_posix() in there]


def fetch(source: Path, copy: Path) -> None:
    """Copy a file at an address to this machine.

    Raises:
        OSError: If the file cannot be read or the copy cannot be written.
    """
    files, path = _opened(str(source))
    with files.open_input_stream(path) as coming, copy.open("wb") as file:
        while data := coming.read(1 << 20):
            file.write(data)


def send(made: Path, target: Path) -> None:
    """Copy a local file to an address atomically.

    Raises:
        OSError: If the file cannot be read or the copy cannot be written.
    """
    files, path = _opened(str(target))
    folder, _, name = path.rpartition("/")
    if folder:
        files.create_dir(folder, recursive=True)
    # An object store shows an object only once it is complete.
    renamed = files.type_name in ("local", "hdfs")
    there = f"{folder}/.{name}.{secrets.token_hex(4)}.tmp" if renamed else path
    with files.open_output_stream(there) as going:
        going.write(made.read_bytes())
    if renamed:
        files.move(there, path)


def is_there(target: Path) -> bool:
    if place_of(target) is None:
        return target.is_file()
    files, path = _opened(str(target))
    return bool(files.get_file_info(path).is_file)


def _files(text: str) -> list[PurePosixPath]:
    """Return all visible files below or at an address; none if it does not exist yet."""
    files, path = _opened(text)
    try:
        if files.get_file_info(path).is_file:
            return [PurePosixPath(path)]
        selector = _arrow().FileSelector(path, recursive=True, allow_not_found=True)
        found = [each.path for each in files.get_file_info(selector) if each.is_file]
    except OSError as exc:
        raise StylizeError(f"'{shown(text)}' cannot be read: {exc}") from exc
    return sorted(PurePosixPath(each) for each in found if "/." not in each)


def _opened(text: str) -> tuple[Any, str]:
    scheme = text.partition("://")[0]
    bucket, _, path = text.partition("://")[2].partition("/")
    try:
        files, root = _file_system(f"{scheme}://{bucket}/")
    except (ValueError, OSError) as exc:  # the kinds of Arrow's errors
        raise StylizeError(f"'{shown(text)}' cannot be opened: {exc}") from exc
    return files, f"{root.rstrip('/')}/{path.rstrip('/')}"


@lru_cache(maxsize=16)
def _file_system(address: str) -> tuple[Any, str]:
    return _arrow().FileSystem.from_uri(address)


def _arrow() -> Any:
    try:
        return import_module("pyarrow.fs")
    except ImportError as exc:
        raise StylizeError(
            f'addresses need Arrow (pip install "styleforge[cluster]"): {exc}'
        ) from exc


def _scheme(found: re.Match[str]) -> str:
    return f"{found[1]}://{'/' if found[1] == 'file' else ''}"
