"""The table as a whole: the status of every operation on a device, and the builds of its libraries.

Reading a status loads existing builds; `prepare` builds missing ones. The program and
`kernel_fusion` import the table from here; operations import its modules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import torch

from kernels.jit import build
from kernels.table.names import FRAMES as FRAMES
from kernels.table.names import GENERAL as GENERAL
from kernels.table.names import NETWORK as NETWORK
from kernels.table.names import NETWORK_CPU as NETWORK_CPU
from kernels.table.names import OPERATIONS as OPERATIONS
from kernels.table.names import SMOOTHING as SMOOTHING
from kernels.table.names import STYLE as STYLE
from kernels.table.names import TEXTURE as TEXTURE
from kernels.table.names import TRANSFORMER as TRANSFORMER
from kernels.table.names import family_named
from kernels.table.operation import ALIASES as ALIASES
from kernels.table.operation import OPS as OPS
from kernels.table.operation import Operation as Operation
from kernels.table.operation import named as named
from kernels.table.parts import Timed as Timed
from kernels.table.status import KernelStatus as KernelStatus
from kernels.table.status import KernelUnavailable as KernelUnavailable
from kernels.table.status import NativeKernelWarning as NativeKernelWarning
from kernels.table.status import use_native as use_native
from utils.translation.texts import tr


def statuses(
    device: torch.device | str = "cpu", family: str | None = None
) -> tuple[KernelStatus, ...]:
    """Return what each operation runs on `device`. Loads existing builds, and builds nothing.

    Returns a row for each operation. After the style networks' operations follow the libraries
    around the network, and on CUDA the network itself.

    Args:
        device: A device or its name; the index does not matter.
        family: "style", "transformer" or "general": only these operations. Defaults to all.

    Raises:
        ValueError: If the family does not exist.
    """
    kind = torch.device(device).type
    ops = _of_family(family)
    whole = tuple(_WHOLE.get(kind, ())) if family in (None, STYLE) else ()
    libraries = (*(op.library_on(kind) for op in ops), *whole)
    for library in dict.fromkeys(filter(None, libraries)):
        build.load_built(library)
    return (*(op.status_on(kind) for op in ops), *map(_status_of_whole, whole))


def in_use(family: str, device: str) -> frozenset[str]:
    """Return the loaded libraries of a family's operations on "cpu" or "cuda"; loads none."""
    found = _libraries(family, device, len(OPS))
    return frozenset(library for library in found if build.reason(library) == "")


@functools.cache
def _libraries(family: str, device: str, _operations: int) -> frozenset[str]:
    """Return a family's libraries, cached by the number of operations registered so far."""
    return frozenset(op.library_on(device) for op in _of_family(family)) - {""}


def prepare(
    names: Iterable[str] | None = None, *, family: str | None = None, force: bool = False
) -> tuple[KernelStatus, ...]:
    """Build and load the missing libraries; blocks.

    Safe to call from any thread and more than once. A failed build is retried only after a change
    that can affect the outcome, or with `force`. Returns the status of each operation on the CPU,
    and of each library on a GPU. A missing kernel is a status, not an error.

    Args:
        names: Operations or their aliases. Defaults to all of them, smoothing, the network and the
            libraries around it.
        family: "style", "transformer" or "general": without names, only that family.
        force: Whether to retry failed builds.

    Raises:
        KeyError: If an operation does not exist.
        ValueError: If the family does not exist.
    """
    chosen = _of_family(family) if names is None else list(map(_op, names))
    for library in dict.fromkeys(op.cpu.library for op in chosen if op.cpu.library):
        build.load(library, force=force)
    found = [op.status_on("cpu") for op in chosen]
    if torch.cuda.is_available():
        for library in dict.fromkeys(op.cuda.library for op in chosen if op.cuda):
            build.load(library, force=force)
            reason = tr(build.reason(library))
            found.append(KernelStatus(library, not reason, reason))
    if names is None and family in (None, STYLE):
        for kind in ("cpu", *(("cuda",) if torch.cuda.is_available() else ())):
            for library in _WHOLE[kind]:
                build.load(library, force=force)
                found.append(_status_of_whole(library))
    return tuple(found)


def _op(name: str) -> Operation:
    return OPS[ALIASES.get(name, name)]


def _of_family(family: str | None) -> list[Operation]:
    if family is None:
        return list(OPS.values())
    found = family_named(family)
    return [op for op in OPS.values() if op.family == found]


# Libraries without operations, by device: what runs with them, and what without.
_WHOLE = {
    "cpu": {
        NETWORK_CPU: ("the native network", "its layers, one after another"),
        TEXTURE: ("native texture", "OpenCV and NumPy"),
        SMOOTHING: ("native smoothing", "its reference, by NumPy and OpenCV"),
    },
    "cuda": {
        NETWORK: ("the native network", "its operations, one after another"),
        FRAMES: ("native kernels around the network", "OpenCV on the CPU"),
    },
}


def _status_of_whole(library: str) -> KernelStatus:
    kind = "cpu" if library in _WHOLE["cpu"] else "cuda"
    reason, (native, instead) = tr(build.reason(library)), _WHOLE[kind][library]
    return KernelStatus(library, not reason, reason, instead if reason else native)
