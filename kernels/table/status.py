"""The native libraries in use, and the words for what runs in their place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from kernels.jit import build

PREPARE = 'python -c "import kernel_fusion; kernel_fusion.prepare()"'
NATIVE = "the native kernel"
REFERENCE = "its PyTorch reference"


class NativeKernelWarning(UserWarning):
    """Warning, once per library, that PyTorch's kernels run in place of native ones."""


class KernelUnavailable(RuntimeError):
    """Raised if a native kernel called by name cannot run; the message says why."""


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
