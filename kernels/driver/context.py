"""Makes a GPU's context current on threads of autograd, before a library asks for it.

PyTorch makes none current on a new thread whose device is the first GPU, since CUDA's runtime does
so by itself. The driver needs none for a launch on a stream, which has its own, so that a thread
can go from a kernel of ours to cuBLAS without one: PyTorch then warns and does what is done here.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable

from torch import Tensor

from kernels.driver.driver import Driver
from kernels.jit.errors import BuildError


class _Thread(threading.local):
    has_context = False


_thread = _Thread()


def ensure_context(tensors: Iterable[Tensor | None]) -> None:
    """Make the context of the GPU that a tensor is on current, if the calling thread has none.

    Args:
        tensors: The first one that is not None counts; on the CPU nothing happens.
    """
    if _thread.has_context:
        return
    first = next((x for x in tensors if x is not None), None)
    if first is None or not first.is_cuda:
        return
    driver = _driver()
    if driver is not None:
        driver.ensure_current(first.device.index or 0)
    _thread.has_context = True


@functools.cache
def _driver() -> Driver | None:
    """The driver; None where it is older than our kernels need, and PyTorch's run alone."""
    try:
        return Driver()
    except BuildError:
        return None
