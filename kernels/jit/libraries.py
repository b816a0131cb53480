"""The native libraries, discovered from the sources instead of a list.

| source | library |
| --- | --- |
| `cpu/<name>.cpp` | `<name>`, for the CPU |
| `network_*.cu` | `network` |
| `<name>.cu` that includes `include/<interface>.h` | `<interface>` |
| any other `<name>.cu` | `<name>_cuda` |

A header `include/<interface>.h` declares the common parts of one library's sources. One of its CUDA
sources, `<library>_abi.cu`, may describe the library to Python. Includes also show which sources
must give bit-identical results everywhere.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent  # `kernels/`, the folder of the sources

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_INTERFACE = re.compile(r"include/(\w+)\.h")


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
        name = f"{self.name}_abi.cu"
        return FOLDER / name if name in self.cuda else None

    @property
    def headers(self) -> list[Path]:
        """All of our files that the sources include, directly or indirectly, sorted."""
        found: set[Path] = set()
        waiting = list(self.sources)
        while waiting:
            source = waiting.pop()
            for name in _includes(source):
                header = (source.parent / name).resolve()
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
        ValueError: If two libraries have the same name.
    """
    found = {
        path.stem: Library(path.stem, cpu=(f"cpu/{path.name}",))
        for path in sorted((folder / "cpu").glob("*.cpp"))
    }
    cuda: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.cu")):
        cuda.setdefault(_library_of(path), []).append(path.name)
    for name in sorted(cuda.keys() & found.keys()):
        raise ValueError(
            f"kernels/{cuda[name][0]} and kernels/cpu/{name}.cpp both have the name '{name}'"
        )
    for name, sources in sorted(cuda.items()):
        found[name] = Library(name, cuda=tuple(sources))
    return found


def is_exact(source: Path) -> bool:
    """Return whether a source must give bit-identical results everywhere.

    It must if it itself includes `common/exact.h`; compilers then contract no product with a sum.
    """
    return any(name.endswith("common/exact.h") for name in _includes(source))


def _relative(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name


def _library_of(source: Path) -> str:
    if source.stem.startswith("network_"):
        return "network"
    interfaces = [match[1] for name in _includes(source) if (match := _INTERFACE.fullmatch(name))]
    return interfaces[0] if interfaces else f"{source.stem}_cuda"


def _includes(source: Path) -> list[str]:
    return _INCLUDE.findall(source.read_text("utf-8"))


LIBRARIES = discover(FOLDER)
