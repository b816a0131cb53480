"""Images: libraries that were compiled elsewhere and come with the program as files.

`tools/prebuild` makes them, and a manifest with the sha256 of each. An image's name or list has the
digest of its sources, so that an edited checkout never runs old code. A file that is not in the
manifest, or that others can write to, is not loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernels.jit.errors import BuildError, Damaged
from kernels.jit.libraries import FOLDER, Library
from kernels.jit.permissions import refuse_writable_by_others
from utils.files import small_json
from utils.translation.texts import tr

IMAGES = FOLDER / "images"
MANIFEST = "manifest.json"
SUFFIXES = {"linux": ".so", "windows": ".dll", "macos": ".dylib"}
DIGITS = 16  # digits of the digest in an image's name

_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


class NoImage(BuildError):
    """Raised if this machine has no image, which is not a fault; the message says why."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that can replace a build.

    Attributes:
        name: The name of the file, or of the list of files.
        made_for: Its target, such as "linux-x86_64_v3" or "sm_90a".
        identity: Changes with everything that decides whether it works on this machine.
        load: Loads it and returns the same as `build.handle`; raises BuildError if it cannot.
    """

    name: str
    made_for: str
    identity: str
    load: Callable[[], Any]


# From the library, the folder and the manifest.
Finder = Callable[[Library, Path, Mapping[str, str]], Image]

_finders: dict[str, Finder] = {}
ANY = ""  # in place of the name of a library


def on_find(name: str, finder: Finder) -> None:
    """Register `finder` to find the image of the CUDA library `name`.

    With ANY as the name, it finds the images of all libraries that do not describe themselves. It
    raises NoImage or BuildError like `find`, and Unsupported if a build would not work either.
    """
    _finders[name] = finder


def find(library: Library, folder: Path | None = None) -> Image:
    """Return the best image of a library for this machine, checked against the manifest.

    `folder` defaults to this package's.

    Raises:
        NoImage: If none was made for this machine, or the sources were edited since.
        BuildError: If the image is damaged or others can write to it.
    """
    folder = IMAGES if folder is None else folder
    name = library.name if library.cpu or library.abi else ANY
    finder = _find_cpu if library.cpu else _finders.get(name)
    if finder is None:
        raise NoImage(tr("it has no prebuilt images"))
    return finder(library, folder, _manifest(folder))


def checked(folder: Path, name: str, made: Mapping[str, str]) -> bytes:
    """Return the content of a file whose sha256 the manifest lists.

    Raises:
        BuildError: If the file is missing or altered, or other users can write to it.
    """
    refuse_writable_by_others(folder / name)
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise Damaged(
            tr("the image {name} cannot be read: {error}", name=name, error=error.strerror)
        ) from error
    if hashlib.sha256(content).hexdigest() != made.get(name):
        raise Damaged(
            tr("the image {name} is damaged: its sha256 differs from the manifest", name=name)
        )
    return content


def targets() -> tuple[str, ...]:
    """Return the targets that run on this machine, best first; () on unknown machines.

    An example is ("linux-x86_64_v3", "linux-x86_64_v2"). The levels come from the x86-64 psABI: v3
    has AVX2 and FMA, v4 AVX-512, for which only some libraries have an image.
    """
    system = _SYSTEMS.get(sys.platform)
    machine = _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        return ()
    if machine == "x86_64":
        best = {"AVX512": 4, "AVX2": 3}.get(torch.backends.cpu.get_cpu_capability(), 2)
        return tuple(f"{system}-x86_64_v{level}" for level in range(best, 1, -1))
    return (f"{system}-{machine}",)


def image_name(library: Library, target: str) -> str:
    """Return a CPU library's file for a target, "x-0123456789abcdef-linux-x86_64_v3.so"."""
    suffix = SUFFIXES[target.partition("-")[0]]
    return f"{library.name}-{library.digest[:DIGITS]}-{target}{suffix}"


def _manifest(folder: Path) -> dict[str, str]:
    path = folder / MANIFEST
    if not path.exists():
        raise NoImage(tr("this installation contains no images"))
    refuse_writable_by_others(path)
    try:
        return dict(small_json.load(path)["images"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(
            tr(
                "the manifest of images in {folder} cannot be read: {error}",
                folder=folder,
                error=error,
            )
        ) from error


def _find_cpu(library: Library, folder: Path, made: Mapping[str, str]) -> Image:
    for target in targets():
        name = image_name(library, target)
        if name in made:
            content = checked(folder, name, made)
            machine = [hashlib.sha256(content).hexdigest(), platform.processor(), torch.__version__]
            return Image(name, target, "\0".join([name, *machine]), _loader(folder / name))
    if any(str(name).startswith(f"{library.name}-{library.digest[:DIGITS]}-") for name in made):
        machine = f"{platform.system()} {platform.machine()}"
        raise NoImage(tr("no image for this machine: {machine}", machine=machine))
    raise NoImage(tr("the sources have changed since the images were built"))


def _loader(image: Path) -> Callable[[], ctypes.CDLL]:
    def load() -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(image))
        except OSError as error:
            raise BuildError(
                tr("the image {name} does not load: {error}", name=image.name, error=error)
            ) from error

    return load
