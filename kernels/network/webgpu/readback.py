"""Waits for the GPU, and reads the memory that it wrote.

wgpu's own waits block a GPU's queue: while a thread waits, no thread can submit, and it waits for
the newest submission, also if an older one fills its memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.network.webgpu import native
from kernels.network.webgpu.library import WebGpuError, in_words
from utils.translation.texts import tr

PATIENCE = 300.0  # seconds, after which a GPU does not answer

# A pause is a share of the time waited, so that a wait is at most 5 % too long.
_SHARE, _SHORTEST, _LONGEST = 0.05, 5e-5, 2e-3


class Readback:
    """Memory that receives bytes from the GPU. One thread at a time uses it."""

    def __init__(self, device: Any, buffer: Any, size: int) -> None:
        """Take a buffer of wgpu for `size` bytes, with the usage MAP_READ."""
        self.buffer, self.size = buffer, size
        self._device = device
        self._mapping: native.Mapping | None = None

    def ready(self) -> bool:
        """Return whether `wait` would return at once.

        Raises:
            WebGpuError: If the device is lost.
        """
        with in_words():
            mapping = self._asked()
            native.poll(self._device)
            return mapping.done

    def wait(self, check: Callable[[], object] = lambda: None) -> None:
        """Wait until the GPU has done all submitted work that writes to this memory.

        Args:
            check: Called while the GPU works. An exception that it raises ends the wait; the memory
                must then not be used again.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        with in_words():
            mapping, begun = self._asked(), time.perf_counter()
            while True:
                native.poll(self._device)
                if mapping.done:
                    break
                waited = time.perf_counter() - begun
                if waited > PATIENCE:
                    raise WebGpuError(tr("the GPU does not answer"))
                check()
                time.sleep(min(max(_SHARE * waited, _SHORTEST), _LONGEST))
            if mapping.error:
                self._mapping = None
                raise RuntimeError(mapping.error)

    def _asked(self) -> native.Mapping:
        """Return the mapping of the memory, for which wgpu is asked once."""
        if self._mapping is None:
            self._mapping = native.Mapping(self.buffer, self.buffer.size)
        return self._mapping

    @contextmanager
    def read(self, check: Callable[[], object] = lambda: None) -> Generator[NDArray[np.uint8]]:
        """Wait, and yield the bytes. The GPU may write to them again after the block.

        `wait` describes `check`.

        Raises:
            WebGpuError: If the device is lost or does not answer.
        """
        self.wait(check)
        mapping, self._mapping = self._mapping, None
        assert mapping is not None
        try:
            with in_words():
                memory = mapping.memory()
            yield np.frombuffer(memory, np.uint8)[: self.size]
        finally:
            with in_words():
                mapping.unmap()
