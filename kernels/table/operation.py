"""The rows of the table of fused operations, and their status on each device.

Reading an operation's status loads existing builds; `prepare` builds missing ones.
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
NETWORK = "network"  # library of the whole network on a GPU, see kernels.network.dispatch
FRAMES = "frames"  # library around the network on a GPU, see kernels.frames.launchers
SMOOTHING = "smoothing"  # library of smoothing on the CPU, see kernels.frames.native_smoothing
TEXTURE = "texture"  # library of texture on the CPU, see kernels.frames.cpu_texture
OPERATIONS = "operations"  # library of the network's single operations on a GPU
STYLE = "style"  # family of the style networks' operations
TRANSFORMER = "transformer"  # family of the transformers' operations, and its library on a GPU
LIBRARY = "library"  # family of the operations for any model, and its library on a GPU
PREPARE = 'python -c "import kernel_fusion; kernel_fusion.prepare()"'
NATIVE = "the native kernel"
REFERENCE = "its PyTorch reference"


class NativeKernelWarning(UserWarning):
    """Warning, once per library, that PyTorch's kernels run in place of native ones."""


class KernelUnavailable(RuntimeError):
    """Raised if a native kernel called by name cannot run; the message says why."""


class Timed(NamedTuple):
    """How `python -m kernel_fusion bench` times an operation for any model.

    Attributes:
        eager: The equivalent PyTorch calls, with the same arguments.
        arguments: Called with rows and columns; returns arguments on the default device around a
            tensor of that size, in FP32 if they are floating.
        is_random: Whether PyTorch's calls draw other random numbers, so that an error is
            meaningless.
        constants: Indices of arguments without a gradient in a model, such as running statistics
            and the angles of positions.
        is_joint: Whether the forward pass computes wanted gradients already, so that it is also
            timed together with backward.
        is_of_products: Whether matrix products dominate its time, which then grows faster than its
            data, so that smaller sizes are timed.
        large: Each returns arguments of a fixed size, on which a GPU is timed as well, also forward
            and backward together, because saved tensors are part of the memory they need.
    """

    eager: Callable[..., Any]
    arguments: Callable[[int, int], Sequence[Any]]
    is_random: bool = False
    constants: tuple[int, ...] = ()
    is_joint: bool = False
    is_of_products: bool = False
    large: tuple[Callable[[], Sequence[Any]], ...] = ()


def seeded(seed: int) -> torch.Generator:
    """Return a generator on the default device, where `Timed.arguments` makes its tensors."""
    return torch.Generator(torch.get_default_device()).manual_seed(seed)


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table.

    Attributes:
        group: The folder or module that registered it, without its package.
        name: Name of the function and of the operation in PyTorch's namespace `styleforge`.
        library: Library of its CPU kernel, or of the operations it is composed of.
        operation: The function; native if a kernel is loaded, the reference otherwise.
        native: The native kernel; raises KernelUnavailable if it cannot run.
        samples: Arguments for the self-test of a fresh build, for `bench` and for the tests.
        mutates: The arguments that it writes to.
        cuda: Its library on a GPU; without one, the reference runs there.
        on_cpu: Name of its CPU path if that is PyTorch's or composed; without a library for GPUs,
            that path runs there too.
        tolerance_scale: Multiple of the self-test's tolerance; a norm has 1.
        launched_on: The device types with a kernel of its own.
        family: The kind of network it is for: STYLE, TRANSFORMER or, for any, LIBRARY.
        has_own_backward: Whether its gradient uses saved tensors instead of a rerun of the
            reference.
        derived: Arguments that follow from the others, such as the forward results in a backward.
            The derivatives with respect to the others include their effect.
        refuses: Returns why its kernel cannot run with the arguments; empty if it can.
        is_flat: Whether `kernel_fusion.kernels` has it, by all its names, besides its group.
        cuda_dtypes: Dtypes the CUDA kernel accepts for its first tensor.
        timed: How to time it. If None, it is timed on its samples, against its reference.
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
        return (self.name, *self.aliases)

    @property
    def is_composite(self) -> bool:
        """Whether it has no kernel of its own on the CPU."""
        return bool(self.on_cpu)

    def library_on(self, device: str) -> str:
        """Return the library for devices of this type; empty if it has none."""
        return {"cpu": self.library, "cuda": self.cuda}.get(device, "")

    def has_kernel_on(self, device: str) -> bool:
        """Return whether a loaded library has a kernel for a device type ("cpu" or "cuda")."""
        return device in self.launched_on and build.reason(self.library_on(device)) == ""

    @property
    def overload(self) -> Any:
        """The PyTorch overload, `torch.ops.styleforge.<name>.default`."""
        return getattr(getattr(torch.ops, NAMESPACE), self.name).default


@dataclass(frozen=True, slots=True)
class KernelStatus:
    """The status of an operation on a device.

    Attributes:
        ready: Whether its native kernel is in use; else `reason` says in words why not.
        runs: What a call runs, in words.
        by_choice: Whether it is not native because PyTorch's kernels are faster, so nothing is
            missing.
    """

    name: str
    ready: bool
    reason: str = ""
    runs: str = NATIVE
    by_choice: bool = False


# Reasons for PyTorch's kernel where none of ours is faster.
FASTER_CONVOLUTION = mark("no native convolution for the {device}: PyTorch's is faster there")
FASTER_KERNEL = mark("no native kernel for the {device}: PyTorch's is faster there")

OPS: dict[str, Op] = {}
ALIASES: dict[str, str] = {}  # names of operations by alias


def named(name: str) -> Op | None:
    return OPS.get(ALIASES.get(name, name))


def statuses(
    device: torch.device | str = "cpu", family: str | None = None
) -> tuple[KernelStatus, ...]:
    """Return what each operation runs on `device`. Loads existing builds, and builds nothing.

    Returns a row for each operation. After the style networks' operations follow the libraries
    around the network, and on CUDA the network itself.

    Args:
        device: A device or its name; the index does not matter.
        family: "style", "transformer" or "library": only these operations. Defaults to all.
    """
    kind = torch.device(device).type
    ops = _of_family(family)
    whole = tuple(_WHOLE.get(kind, ())) if family in (None, STYLE) else ()
    libraries = (*(op.library_on(kind) for op in ops), *whole)
    for library in dict.fromkeys(filter(None, libraries)):
        build.load_built(library)
    return (*(status_of(op, kind) for op in ops), *map(_status_of_whole, whole))


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
        family: "style", "transformer" or "library": without names, only that family.
        force: Whether to retry failed builds.

    Raises:
        KeyError: If an operation does not exist.
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
    """Load `library` if it is built, and return whether it is in use.

    An image that is new on this machine is tested first, which takes seconds. If the library is not
    in use, a NativeKernelWarning says why, once per library.
    """
    if build.load_built(library, tests=True):
        return True
    if build.reason(library) != build.BUILDING:
        warn(library, build.reason(library))
    return False


def warn(library: str, reason: str) -> None:
    """Warn once per library, with a NativeKernelWarning, that it is not in use."""
    if library in _warned:
        return
    _warned.add(library)
    warnings.warn(
        f"StyleForge's native kernels '{library}' are not in use: {reason}. PyTorch's kernels run "
        f"instead, which are slower. To build the native kernels once: {PREPARE}",
        NativeKernelWarning,
        stacklevel=3,
    )


_warned: set[str] = set()


# Libraries without operations, by device: what runs with them, and what without.
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
    """Return the status of an operation on a device type, from the loaded libraries."""
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
        # A kernel for the CPU alone moves bytes that PyTorch moves as fast on a GPU.
        for_cpu_alone = device == "cuda" and bool(op.library_on("cpu"))
        return KernelStatus(op.name, False, reason, REFERENCE, by_choice=for_cpu_alone)
    return KernelStatus(op.name, not reason, reason, REFERENCE if reason else NATIVE)
