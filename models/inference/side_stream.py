"""A CUDA stream for short work on frames, beside the network."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from utils.cuda_streams import current_stream, on_stream

FIRST = -1  # the priority of the stream, ahead of the network's; PyTorch knows 0 and -1


class SideStream:
    """A stream of its own, which the GPU prefers to the network's: its kernels run between two
    groups of the network's threads, not after the network.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        with torch.cuda.device(device):
            self.stream = torch.cuda.Stream(priority=FIRST)
        self.begin()

    def begin(self) -> None:
        """Wait for what the current stream was given so far, such as zeroing buffers."""
        self.stream.wait_stream(current_stream(self._device.index))

    @contextmanager
    def submitting(self) -> Generator[None]:
        """Make it the current stream within the block, in inference mode."""
        before = current_stream(self._device.index)
        device, mode = torch.cuda.device(self._device), torch.inference_mode()
        with device, mode, on_stream(self.stream, before):
            yield
