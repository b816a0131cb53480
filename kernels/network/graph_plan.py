"""The network for pictures of one size as CUDA graphs: its buffers, and how it is replayed."""

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

    It replays one CUDA graph; or one for each group of layers, or for each layer, where those are
    timed. For one thread, in inference mode.

    Args:
        shape: N, H, W of the pictures.
        dtype: Of activations in memory.
        device: A CUDA device.
    """

    # As bytes: write frames here, `replay`, and read pictures there.
    frames: Tensor  # [N, H, W, 3] uint8
    pictures: Tensor  # [N, H, W, 3] uint8, rounded
    # Of the pictures before they were rounded: the least and the largest value, as integers in
    # the order of floats, and whether any value was not finite.
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
        """The layers in order, below their groups: "encoder/conv1"."""

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of layers, in order."""
        return tuple(dict.fromkeys(group_of(layer) for layer in self.layers))

    @abstractmethod
    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights with those of another network of the same shape."""

    def time_layers(self, on: bool) -> None:
        """Choose what `mark` is called after: each layer, which then do not overlap, or each group
        of layers, as at first."""
        if on != self._by_layer:
            self._by_layer = on
            self._free_parts()

    def _free_parts(self) -> None:
        """Free the graphs of the parts of the network."""
        self._graphs = {key: graph for key, graph in self._graphs.items() if not key[0]}

    def _within(self, part: str) -> tuple[str, ...]:
        """The layers of a part: those of a group, one layer, or all of them for ""."""
        return tuple(layer for layer in self.layers if part in ("", layer, group_of(layer)))

    @abstractmethod
    def _prepared(self, part: str, in_bytes: bool) -> Callable[[], object]:
        """What submits a part of the network (see `_within`) to the current stream.

        From `frames` to `pictures` and `ranges` with `in_bytes`, else from `_x` to `_y`. It is
        called twice: once to load and choose kernels, and once to be captured.
        """

    def __call__(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        """Run the network on floating-point pictures.

        Args:
            x: [N, 3, H, W], values 0-255.
            mark: Called with the name of each group of layers after it, or of each layer, as in
                TransformerNetBaseline.forward.

        Returns:
            [N, 3, H, W] of the plan's dtype, channels last.
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
        """What submits to the current stream what `replay` launches as a graph, to be captured as a
        part of a larger one; as with `_prepared`, not by its first call."""
        return self._prepared("", True)

    def graph(self) -> torch.cuda.CUDAGraph:
        """The CUDA graph that `replay` launches."""
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
        """Of a part of the network (see `_within`); captured when first asked for."""
        graph = self._graphs.get((part, in_bytes))
        if graph is not None:
            return graph
        submit = self._prepared(part, in_bytes)
        submit()  # loads the kernels, which cannot happen while a graph is captured
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
        """Get the plan for N, H and W of the input on a device; None where it has none."""
        ...


def group_of(layer: str) -> str:
    """The group that a layer is in: "encoder" of "encoder/conv1"."""
    return layer.partition("/")[0]
