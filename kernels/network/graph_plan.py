"""The network for pictures of one size as CUDA graphs: its buffers and its replay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from utils.profiling import nvtx_range

StageCallback = Callable[[str], None]


class GraphPlan(ABC):
    """The network for pictures [N, 3, H, W] of one size, dtype and device.

    It replays one CUDA graph, or one per group of layers or per layer if these are timed. It is for
    one thread, in inference mode. `shape` is N, H, W; activations have `dtype` in memory.
    """

    # As bytes: write `frames`, call `replay`, and read `pictures`.
    frames: Tensor  # [N, H, W, 3] uint8
    pictures: Tensor  # [N, H, W, 3] uint8, rounded
    # Per picture before rounding: the least and the largest value, as integers in the order of
    # floats, and whether any value was not finite.
    ranges: Tensor  # [N, 3] int32

    def __init__(
        self, shape: tuple[int, int, int], dtype: torch.dtype, device: torch.device
    ) -> None:
        self.samples, *_ = self.shape = shape
        self.dtype, self.device = dtype, device
        self._graphs: dict[tuple[str, bool], torch.cuda.CUDAGraph] = {}  # by part, in bytes
        self._by_layer = False
        with torch.cuda.device(device):
            self.frames = torch.zeros(*shape, 3, dtype=torch.uint8, device=device)
            self.pictures = torch.zeros_like(self.frames)
            self.ranges = torch.zeros(self.samples, 3, dtype=torch.int32, device=device)
            self._x = torch.zeros(*shape, 3, dtype=dtype, device=device)
            self._y = torch.zeros_like(self._x)

    @property
    @abstractmethod
    def layers(self) -> tuple[str, ...]:
        """The layers in order, with their groups: "encoder/conv1"."""

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group_of(layer) for layer in self.layers))

    @abstractmethod
    def set_weights(self, weights: Mapping[str, Tensor]) -> None: ...

    def time_layers(self, on: bool) -> None:
        """Call `mark` after each layer, or by default each group. Timed layers do not overlap."""
        if on != self._by_layer:
            self._by_layer = on
            self._free_parts()

    def _free_parts(self) -> None:
        self._graphs = {key: graph for key, graph in self._graphs.items() if not key[0]}

    def _within(self, part: str) -> tuple[str, ...]:
        """Return the layers of a part: a group, one layer, or "" for all."""
        return tuple(layer for layer in self.layers if part in ("", layer, group_of(layer)))

    @abstractmethod
    def _prepared(self, part: str, in_bytes: bool) -> Callable[[], object]:
        """Return a function that submits a part (see `_within`) to the current stream.

        It goes from `frames` to `pictures` and `ranges` with `in_bytes`, otherwise from `_x` to
        `_y`. It is called twice: first to load and choose kernels, then in a capture.
        """

    def __call__(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        """Run the network on [N, 3, H, W], values 0-255; return [N, 3, H, W], channels last.

        Calls `mark` with the name of each group of layers, or of each layer, after it.
        """
        with torch.cuda.device(self.device):
            self._x.copy_(x.permute(0, 2, 3, 1))
            self._replay(False, mark)
            return self._y.clone().permute(0, 3, 1, 2)

    def replay(self, mark: StageCallback | None = None) -> None:
        """Compute `pictures` and `ranges` from `frames`, on the current stream of the device."""
        with torch.cuda.device(self.device):
            self._replay(True, mark)

    def submission(self) -> Callable[[], object]:
        """Return a function that submits `replay`'s work to the current stream.

        A larger graph can capture it. As with `_prepared`, its first call must not be captured.
        """
        return self._prepared("", True)

    def graph(self) -> torch.cuda.CUDAGraph:
        return self._graph("", True)

    def _replay(self, in_bytes: bool, mark: StageCallback | None) -> None:
        if mark is None:
            with nvtx_range("network"):
                self._graph("", in_bytes).replay()
            return
        for name in self.layers if self._by_layer else self.groups:
            with nvtx_range(name):
                self._graph(name, in_bytes).replay()
            mark(name)

    def _graph(self, part: str, in_bytes: bool) -> torch.cuda.CUDAGraph:
        graph = self._graphs.get((part, in_bytes))
        if graph is not None:
            return graph
        submit = self._prepared(part, in_bytes)
        submit()  # loads the kernels, which is impossible during a capture
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            submit()
        self._graphs[part, in_bytes] = graph
        return graph


@runtime_checkable
class PlannedNetwork(Protocol):
    """A network that runs as plans on some devices."""

    def plan(self, shape: tuple[int, int, int], device: torch.device) -> GraphPlan | None:
        """Return the plan for the input's N, H and W on a device; None if it has none."""
        ...


def group_of(layer: str) -> str:
    """Return the group of a layer: "encoder" for "encoder/conv1"."""
    return layer.partition("/")[0]
