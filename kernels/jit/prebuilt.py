"""Images: libraries that were compiled before, elsewhere, and come with the program as files.

`tools/prebuild` makes them and a manifest with the sha256 of each. An image is named after the
library, the digest of its sources and what it runs on, so that an edited checkout never runs old
code. What the manifest does not know, or what others can write to, is not loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
from pathlib import Path

import torch

from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER, Library

IMAGES = FOLDER / "images"
MANIFEST = "manifest.json"
SUFFIXES = {"linux": ".so", "windows": ".dll", "macos": ".dylib"}

_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


class NoImage(BuildError):
    """There is no image for this machine, which is no fault; the message says why."""


def targets() -> tuple[str, ...]:
    """What this machine runs, best first, such as ("linux-x86_64_v3", "linux-x86_64_v2").

    The levels are those of the x86-64 psABI; v3 has AVX2 and FMA. Empty on other machines.
    """
    system = _SYSTEMS.get(sys.platform)
    machine = _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        return ()
    if machine == "x86_64":
        modern = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
        return tuple(f"{system}-x86_64_v{level}" for level in ((3, 2) if modern else (2,)))
    return (f"{system}-{machine}",)


def source_digest(library: Library) -> str:
    """16 hexadecimal digits that change with every source and header of the library."""
    digest = hashlib.sha256()
    for path in [*library.sources, *library.headers]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


def image_name(library: Library, target: str) -> str:
    """The file of a library for a target, such as "x-0123456789abcdef-linux-x86_64_v3.so"."""
    suffix = SUFFIXES[target.partition("-")[0]]
    return f"{library.name}-{source_digest(library)}-{target}{suffix}"


def find(library: Library, folder: Path | None = None) -> Path:
    """The best image of a CPU library for this machine, checked against the manifest.

    Args:
        library: One with sources for the CPU.
        folder: Where images are; those of this package by default.

    Returns:
        A file that has the digest it was made with.

    Raises:
        NoImage: None was made for this machine, or the sources were edited since.
        BuildError: There is one, and it must not be loaded: it is damaged, or others can write to
            it.
    """
    folder = IMAGES if folder is None else folder
    try:
        made = dict(json.loads((folder / MANIFEST).read_text("utf-8"))["images"])
    except FileNotFoundError:
        raise NoImage("no images came with this program") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"the manifest of images in {folder} cannot be read: {error}") from error
    for target in targets():
        name = image_name(library, target)
        if name in made:
            _check(folder / name, made[name])
            return folder / name
    if any(str(name).startswith(f"{library.name}-{source_digest(library)}-") for name in made):
        raise NoImage(f"no image for this machine: {platform.system()} {platform.machine()}")
    raise NoImage("the sources differ from those that the images were made of")


def _check(image: Path, sha256: str) -> None:
    if sys.platform != "win32":
        for path in (image.parent, image):
            _refuse_writable_by_others(path)
    try:
        found = hashlib.sha256(image.read_bytes()).hexdigest()
    except OSError as error:
        raise BuildError(f"the image {image.name} cannot be read: {error.strerror}") from error
    if found != sha256:
        raise BuildError(f"the image {image.name} is damaged: its sha256 is not the manifest's")


def _refuse_writable_by_others(path: Path) -> None:
    """What another user can change, another user can have this one run."""
    try:
        found = path.stat()
    except OSError as error:
        raise BuildError(f"the image {path.name} cannot be read: {error.strerror}") from error
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise BuildError(f"{path} is not loaded: every user can write to it")
    if found.st_uid not in (0, os.getuid()):
        raise BuildError(f"{path} is not loaded: it belongs to another user")
