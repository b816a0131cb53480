"""The interface of a way to run the network, from bytes to bytes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.webgpu_peers.models import Models

Picture = NDArray[np.uint8]  # [H, W, 3]
Planes = NDArray[np.float32]  # [1, 3, H, W], RGB of 0-255
Size = tuple[int, int]  # width, height


class Painter(ABC):
    """A network for pictures of one size. Not thread-safe.

    Attributes:
        inside: Milliseconds that the last call spent in the runtime, from planes to planes; None
            if the runtime takes bytes.
    """

    inside: float | None = None

    @abstractmethod
    def __call__(self, picture: Picture) -> Picture: ...


class OfBytes(Painter):
    """A painter by a function of bytes."""

    def __init__(self, run: Callable[[Picture], Picture]) -> None:
        self._run = run

    def __call__(self, picture: Picture) -> Picture:
        return self._run(picture)


class OfPlanes(Painter):
    """A painter by a runtime's function of planes; PyTorch converts, with all of its threads."""

    def __init__(self, run: Callable[[Planes], NDArray[Any]]) -> None:
        self._run = run

    def __call__(self, picture: Picture) -> Picture:
        given = torch.from_numpy(picture).permute(2, 0, 1)[None].float().contiguous().numpy()
        started = time.perf_counter()
        made = self._run(given)
        self.inside = 1e3 * (time.perf_counter() - started)
        styled = torch.from_numpy(made)[0].permute(1, 2, 0)
        return styled.clamp(0, 255).round().to(torch.uint8).contiguous().numpy()


class Peer(ABC):
    """A way to run the network on the GPU of a name.

    Attributes:
        title: Its name for readers.
        packages: The distributions whose versions a report names.
        storages: Whether it stores FP16, otherwise FP32, for each kind that it has.
    """

    title: str
    packages: tuple[str, ...]
    storages: tuple[bool, ...] = (False, True)

    @abstractmethod
    def missing(self, gpu: str) -> str:
        """Return why the way does not run on the GPU of a name, as a clause; "" if it may."""

    @abstractmethod
    def open(self, models: Models, size: Size, *, half: bool, gpu: str) -> Painter:
        """Prepare the network for pictures of one size. Call this only if nothing is missing.

        Args:
            half: Whether to store FP16, otherwise FP32.

        Raises:
            RuntimeFault: If the way cannot run the network.
        """
