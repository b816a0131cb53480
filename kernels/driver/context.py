"""Makes a GPU's context current on autograd threads, before a library needs it.

On a new thread for the first GPU, PyTorch makes no context current, because CUDA's runtime does so
itself. The driver needs none to launch on a stream, which has its own. So a thread can go from one
of our kernels to cuBLAS without a context; PyTorch then warns and does the same as this module.
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
    """Make the first tensor's GPU current if this thread has no context; the CPU needs nothing."""
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
    """Return the driver; None if it is too old for our kernels, and only PyTorch's run."""
    try:
        return Driver()
    except BuildError:
        return None
