"""The native libraries, discovered from the sources instead of a list.

| source | library |
| --- | --- |
| `<name>.cpp` | `<name>`, for the CPU |
| `network_*.cu` | `network` |
| `<library>_abi.cu`, and any `.cu` that includes `<library>.h` | `<library>` |
| any other `<name>.cu` | `<name>_cuda` |

A source lies in the folder of its subject, and no two have the same name. Its includes are relative
to its own folder or to `kernels/`. `<library>.h` declares the common parts of one library's
sources, and `<library>_abi.cu` describes the library to Python. Includes also show which sources
must give bit-identical results everywhere.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FOLDER = Path(__file__).resolve().parent.parent  # `kernels/`: includes are relative to it

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Library:
    """Sources that compile into one library, with paths relative to `kernels/`.

    Attributes:
        cpu: C++ sources with a C interface.
        cuda: Plain CUDA sources of kernels, and the library's description.
    """

    name: str
    cpu: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()

    @property
    def sources(self) -> list[Path]:
        return [FOLDER / path for path in self.cpu + self.cuda]

    @property
    def abi(self) -> Path | None:
        return next((path for path in self.sources if path.name == f"{self.name}_abi.cu"), None)

    def source(self, name: str) -> Path:
        """Return the source with this file name.

        Raises:
            KeyError: If the library has no such source.
        """
        for path in self.sources:
            if path.name == name:
                return path
        raise KeyError(name)

    @property
    def headers(self) -> list[Path]:
        """All of our files that the sources include, directly or indirectly, sorted."""
        found: set[Path] = set()
        waiting = list(self.sources)
        while waiting:
            for header in included(waiting.pop()):
                if header not in found:
                    found.add(header)
                    waiting.append(header)
        return sorted(found)

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that change with everything the library is compiled from.

        They are the same in every folder and on every system, whatever the line endings.
        """
        # NVRTC compiles with these in place of C and C++ headers that it lacks.
        shims = sorted((FOLDER / "include" / "nvrtc").glob("*.h")) if self.cuda else []
        digest = hashlib.sha256()
        for path in [*self.sources, *self.headers, *shims]:
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{_relative(path)}\0{len(text)}\0".encode() + text)
        return digest.hexdigest()


def discover(folder: Path) -> dict[str, Library]:
    """Find the libraries in a folder like `kernels/`, in order.

    Raises:
        ValueError: If two libraries or two sources have the same name.
    """

    def sources(suffix: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in sorted(folder.rglob(f"*{suffix}"), key=lambda path: path.stem):
            _refuse_second(found.setdefault(path.stem, path), path, path.name)
            found[path.stem] = path
        return found

    def relative(path: Path) -> str:
        return path.relative_to(folder).as_posix()

    cpp, cu = sources(".cpp"), sources(".cu")
    found = {name: Library(name, cpu=(relative(path),)) for name, path in cpp.items()}
    described = {name.removesuffix("_abi") for name in cu if name.endswith("_abi")}
    cuda: dict[str, list[Path]] = {}
    for path in cu.values():
        cuda.setdefault(_library_of(path, described), []).append(path)
    for name, paths in sorted(cuda.items()):
        if name in cpp:
            _refuse_second(cpp[name], paths[0], name)
        found[name] = Library(name, cuda=tuple(map(relative, paths)))
    return found


def included(source: Path) -> list[Path]:
    """Return our files that a source includes directly."""
    return [_resolved(source, name) for name in _includes(source)]


def is_exact(source: Path) -> bool:
    """Return whether a source must give bit-identical results everywhere.

    It must if it itself includes `common/exact.h`; compilers then contract no product with a sum.
    """
    return any(name.endswith("common/exact.h") for name in _includes(source))


def _relative(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name


def _refuse_second(first: Path, second: Path, name: str) -> None:
    if first != second:
        raise ValueError(f"{first} and {second} both have the name '{name}'")


def _library_of(source: Path, described: set[str]) -> str:
    if source.stem.startswith("network_"):
        return "network"
    names = {source.stem.removesuffix("_abi")} if source.stem.endswith("_abi") else set[str]()
    names |= {path.stem for path in map(PurePosixPath, _includes(source)) if path.suffix == ".h"}
    return next(iter(names & described), f"{source.stem}_cuda")


def _resolved(source: Path, name: str) -> Path:
    beside = (source.parent / name).resolve()
    return beside if beside.is_file() else (FOLDER / name).resolve()


def _includes(source: Path) -> list[str]:
    return _INCLUDE.findall(source.read_text("utf-8"))


LIBRARIES = discover(FOLDER)
