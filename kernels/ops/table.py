"""The rows of the table of fused operations: what each is, and what it runs on.

Asking for the status of an operation loads what is built already; `prepare` builds what is missing.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from kernels.jit import build
from utils.translation.texts import mark, tr

NAMESPACE = "styleforge"
NETWORK = "network"  # the library of the whole network on a GPU, see kernels.network.dispatch
FRAMES = "frames"  # that of what surrounds the network there, see kernels.frames.launchers
SMOOTHING = "smoothing"  # that of smoothing on the CPU, see kernels.frames.native_smoothing
TEXTURE = "texture"  # that of texture on the CPU, see kernels.frames.cpu_texture
OPERATIONS = "operations"  # that of its single operations there
STYLE = "style"  # the family of operations that the style networks are made of
TRANSFORMER = "transformer"  # the family, and its library on a GPU, of those of transformers
LIBRARY = "library"  # the family, and its library on a GPU, of the operations for any model
PREPARE = 'python -c "import kernel_fusion; kernel_fusion.prepare()"'
NATIVE = "the native kernel"
REFERENCE = "its PyTorch reference"


class NativeKernelWarning(UserWarning):
    """Native kernels are not in use, and PyTorch's run instead; said once for each library."""


class KernelUnavailable(RuntimeError):
    """A native kernel was asked for by name and cannot run; the message says why."""


class Timed(NamedTuple):
    """How an operation for any model is timed, `python -m kernel_fusion bench`.

    Attributes:
        eager: What a user would write with PyTorch's calls, of the same arguments.
        arguments: Of rows and columns: arguments on the default device, FP32 where they are
            floating, about a tensor of that size.
        is_random: Whether PyTorch's calls draw other random numbers, so that they have no error.
        constants: The places of arguments that a model has no gradient of, such as running
            statistics and the angles of positions.
        is_joint: Whether forward computes the gradients already, where they are wanted, so that it
            is timed again together with backward.
        is_of_products: Whether its time is that of products of matrices, which grows faster than
            what it reads, so that it is timed on smaller sizes.
        large: Each gives arguments of a size of its own, which a GPU is timed on as well, forward
            and backward together too, since what forward keeps is part of the memory they take.
    """

    eager: Callable[..., Any]
    arguments: Callable[[int, int], Sequence[Any]]
    is_random: bool = False
    constants: tuple[int, ...] = ()
    is_joint: bool = False
    is_of_products: bool = False
    large: tuple[Callable[[], Sequence[Any]], ...] = ()


def seeded(seed: int) -> torch.Generator:
    """A generator of the default device, where `Timed.arguments` makes its tensors."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table.

    Attributes:
        group: The module that registered it, without its package.
        name: Of the function, and of the operation in PyTorch's namespace `styleforge`.
        library: What its CPU kernel, or the operations it is made of, are built from.
        operation: The function; native where a kernel is loaded, the reference elsewhere.
        native: The native kernel; raises KernelUnavailable where it cannot run.
        reference: What it means, in PyTorch.
        samples: Arguments for the self-test of a fresh build, for `bench` and for the tests.
        mutates: The arguments that are written to.
        cuda: Its library on a GPU; without one, the reference runs there.
        on_cpu: What runs on the CPU, where that is PyTorch's or made of other operations; without
            a library for GPUs, there too.
        tolerance_scale: Of the self-test's tolerance; 1 is that of a norm.
        launched_on: The types of device that it has a kernel of its own for.
        family: The kind of network that it is for: STYLE, TRANSFORMER or, for any, LIBRARY.
        has_own_backward: Whether its gradient is computed from what forward saved, and not by
            running the reference again.
        derived: Arguments that follow from the others, as what a backward is given of its forward:
            the derivatives by the others include what they change.
        refuses: Says of arguments why its kernel cannot run with them; empty if it can.
        aliases: Other names of the same operation.
        is_flat: Whether `kernel_fusion.kernels` has it, by all its names, beside its group.
        cuda_dtypes: Of the first tensor, what its kernel on a GPU takes.
        timed: How it is timed; on its samples, against its reference, where that is None.
    """

    group: str
    name: str
    library: str
    operation: Callable[..., Any]
    native: Callable[..., Any]
    reference: Callable[..., Any]
    samples: Callable[[], Iterable[tuple[Any, ...]]]
    mutates: tuple[str, ...] = ()
    cuda: str = ""
    on_cpu: str = ""
    tolerance_scale: float = 1.0
    launched_on: tuple[str, ...] = ()
    family: str = STYLE
    has_own_backward: bool = False
    derived: tuple[str, ...] = ()
    refuses: Callable[..., str] | None = None
    aliases: tuple[str, ...] = ()
    is_flat: bool = False
    cuda_dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.float16, torch.bfloat16)
    timed: Timed | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it is called."""
        return (self.name, *self.aliases)

    @property
    def is_composite(self) -> bool:
        """Whether it has no kernel of its own on the CPU."""
        return bool(self.on_cpu)

    def library_on(self, device: str) -> str:
        """The library that is used on devices of this type; empty where there is none."""
        return {"cpu": self.library, "cuda": self.cuda}.get(device, "")

    def has_kernel_on(self, device: str) -> bool:
        """Whether a loaded library has a kernel for devices of this type ("cpu" or "cuda")."""
        return device in self.launched_on and build.reason(self.library_on(device)) == ""

    @property
    def overload(self) -> Any:
        """The operation as PyTorch knows it, `torch.ops.styleforge.<name>.default`."""
        return getattr(getattr(torch.ops, NAMESPACE), self.name).default


@dataclass(frozen=True, slots=True)
class KernelStatus:
    """What an operation runs on.

    Attributes:
        name: The operation.
        ready: Whether its native kernel is in use.
        reason: If not, why, in words.
        runs: What a call runs, in words.
        by_choice: Not native because PyTorch's kernels are faster there: nothing is missing.
    """

    name: str
    ready: bool
    reason: str = ""
    runs: str = NATIVE
    by_choice: bool = False


# Why PyTorch's runs where nothing of ours is faster.
FASTER_CONVOLUTION = mark("no native convolution for the {device}: PyTorch's is faster there")
FASTER_KERNEL = mark("no native kernel for the {device}: PyTorch's is faster there")

OPS: dict[str, Op] = {}
ALIASES: dict[str, str] = {}  # the names of operations by the other names that these have


def named(name: str) -> Op | None:
    """The operation that has this name, or this alias; None if there is none."""
    return OPS.get(ALIASES.get(name, name))


def statuses(
    device: torch.device | str = "cpu", family: str | None = None
) -> tuple[KernelStatus, ...]:
    """What calling each operation on `device` runs. Loads what is built, and builds nothing.

    Args:
        device: A device or its name; the index does not matter.
        family: "style", "transformer" or "library": of these operations alone; of all by default.

    Returns:
        A row for each operation. Those of style networks are followed by what surrounds the
        network, on CUDA by the network as well.
    """
    kind = torch.device(device).type
    ops = _of_family(family)
    whole = tuple(_WHOLE.get(kind, ())) if family in (None, STYLE) else ()
    libraries = (*(op.library_on(kind) for op in ops), *whole)
    for library in dict.fromkeys(filter(None, libraries)):
        build.load_built(library)
    return (*(status_of(op, kind) for op in ops), *map(_status_of_whole, whole))


def in_use(family: str, device: str) -> frozenset[str]:
    """The libraries of a family's operations that are loaded by now; loads none.

    Args:
        family: "style", "transformer" or "library".
        device: "cpu" or "cuda".
    """
    found = _libraries(family, device, len(OPS))
    return frozenset(library for library in found if build.reason(library) == "")


@functools.cache
def _libraries(family: str, device: str, _operations: int) -> frozenset[str]:
    """Those of a family; of a number of operations, since they are registered one by one."""
    return frozenset(op.library_on(device) for op in _of_family(family)) - {""}


def prepare(
    names: Iterable[str] | None = None, *, family: str | None = None, force: bool = False
) -> tuple[KernelStatus, ...]:
    """Build and load what is missing; blocks.

    Safe to call from any thread and more than once. A build that failed before is tried again
    only when something that can change the outcome has changed, or with `force`.

    Args:
        names: Of operations, or their aliases; by default all of them, smoothing, the network and
            what surrounds it.
        family: "style", "transformer" or "library": without names, only what belongs to these.
        force: Try what failed before again.

    Returns:
        What each operation runs on now, on the CPU, and on a GPU each library. A kernel that cannot
        be had is a status, not an error.

    Raises:
        KeyError: There is no such operation.
    """
    chosen = _of_family(family) if names is None else list(map(_op, names))
    for library in dict.fromkeys(op.library for op in chosen if op.library):
        build.load(library, force=force)
    found = [status_of(op, "cpu") for op in chosen]
    if torch.cuda.is_available():
        for library in dict.fromkeys(op.cuda for op in chosen if op.cuda):
            build.load(library, force=force)
            reason = tr(build.reason(library))
            found.append(KernelStatus(library, not reason, reason))
    if names is None and family in (None, STYLE):
        for kind in ("cpu", *(("cuda",) if torch.cuda.is_available() else ())):
            for library in _WHOLE[kind]:
                build.load(library, force=force)
                found.append(_status_of_whole(library))
    return tuple(found)


def _op(name: str) -> Op:
    return OPS[ALIASES.get(name, name)]


def _of_family(family: str | None) -> list[Op]:
    return [op for op in OPS.values() if family is None or op.family == family]


def use_native(library: str) -> bool:
    """Load `library` if it is built; whether it is in use.

    An image that was never used on this machine is tested first, which takes seconds. Where the
    library is not in use, a NativeKernelWarning says why, once for each library.
    """
    if build.load_built(library, tests=True):
        return True
    if build.reason(library) != build.BUILDING:
        warn(library, build.reason(library))
    return False


def warn(library: str, reason: str) -> None:
    """Say once for each library that it is not in use, as a NativeKernelWarning."""
    if library in _warned:
        return
    _warned.add(library)
    warnings.warn(
        f"StyleForge's native kernels '{library}' are not in use: {reason}. PyTorch's run "
        f"instead, which takes longer. To build them once: {PREPARE}",
        NativeKernelWarning,
        stacklevel=3,
    )


_warned: set[str] = set()


# Of libraries that have no operations, by device: what runs with them, and what without.
_WHOLE = {
    "cpu": {
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


def status_of(op: Op, device: str) -> KernelStatus:
    """What an operation runs on devices of a type, by what is loaded."""
    library = op.library_on(device)
    reason = tr(build.reason(library)) if library else ""
    if op.on_cpu and (device == "cpu" or (device == "cuda" and not op.cuda)):
        runs = op.on_cpu.format(norm="the reference norm" if reason else "the native norm")
        faster = FASTER_CONVOLUTION if op.family == STYLE else FASTER_KERNEL
        why = reason or tr(faster, device="CPU" if device == "cpu" else "GPU")
        return KernelStatus(op.name, False, why, runs, by_choice=not reason)
    if not library:
        kind = "CUDA" if device == "cuda" else device
        reason = tr("no native {device} kernel; runs on its PyTorch reference", device=kind)
        # One that was written for the CPU alone moves bytes that PyTorch moves as fast on a GPU.
        for_cpu_alone = device == "cuda" and bool(op.library_on("cpu"))
        return KernelStatus(op.name, False, reason, REFERENCE, by_choice=for_cpu_alone)
    return KernelStatus(op.name, not reason, reason, REFERENCE if reason else NATIVE)
