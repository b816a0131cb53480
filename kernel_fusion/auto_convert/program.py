"""A program: a model's rewritten computation for inputs of one kind, and its execution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernel_fusion.auto_convert.comparison import sharing, strides_of
from kernel_fusion.auto_convert.graphs import Exported, copied, split
from kernel_fusion.auto_convert.inputs import Inputs
from kernel_fusion.auto_convert.rewrites import REWRITES
from kernel_fusion.auto_convert.split_products import CHANGES
from kernel_fusion.auto_convert.watched import NotExported
from kernels.driver.capture_stream import CaptureStream
from utils.cuda_streams import waiting_refused

WARMUP = 3  # runs before the capture of a CUDA graph, in which libraries choose their algorithms


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution of a program. It affects the time, and the results only by rounding.

    Attributes:
        summed_norms: Layer norms also compute the sum in front of them.
        merged_layers: Linear layers that read the same input are one product, as in attention.
        split_products: In FP32 on a GPU, a linear layer is one TF32 product of three times the
            depth. Both factors are sums of two numbers, exact except for the last bit.
        split_pointwise: Like split_products, for 1x1 convolutions.
        split_convolutions: Like split_products, for all convolutions without groups.
        cuda_graph: A CUDA graph captures all launches, and cuDNN benchmarks its algorithms.
    """

    summed_norms: bool = False
    merged_layers: bool = False
    split_products: bool = False
    channels_last: bool = False
    relu_in_cudnn: bool = False
    split_pointwise: bool = False
    split_convolutions: bool = False
    cuda_graph: bool = False

    @property
    def allows_tf32(self) -> bool:
        """Whether a run briefly allows TF32, which also affects calls in other threads."""
        return self.split_products or self.split_pointwise or self.split_convolutions

    def __str__(self) -> str:
        named = (each.name for each in fields(self) if getattr(self, each.name))
        return ", ".join(named).replace("_", " ") or "as a graph"


class Program:
    """A rewritten graph that runs on inputs of one kind."""

    def __init__(self, source: Exported, rewrites: Sequence[str], execution: Execution) -> None:
        graph = copied(source.graph)
        self.replaced = {name: REWRITES[name](graph) for name in rewrites}
        # A norm with a ReLU counts once.
        if "conv_bn" in self.replaced:
            self.replaced["conv_bn"] -= self.replaced.get("conv_bn_relu", 0)
        # By name of a change: the number of places where it applies.
        self.changed = {
            name: change(graph) for name, change in CHANGES.items() if getattr(execution, name)
        }
        graph.lint()
        self._parts = split(source.root, graph)
        self._source, self._execution = source, execution
        self._fixed: tuple[Any, ...] | None = None
        self._apart: list[int] | None = None  # outputs to copy into memory of their own
        self._captured: _Captured | None = None
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Capture the CUDA graph again at the next call."""
        self._captured = None

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return self(Inputs.of(args, kwargs))

    def __call__(self, inputs: Inputs) -> Any:
        """Compute the outputs for inputs of the exported structure.

        Raises:
            NotExported: If an output shares memory in the model, and does not share the same memory
                here.
        """
        leaves, _ = inputs.flat()
        fixed = self._fixed
        if fixed is None:
            with self._lock, torch.inference_mode(False), torch.no_grad():
                fixed = self._fixed = tuple(self._parts.prepare())
        if self._execution.cuda_graph:
            with self._lock:
                if self._captured is None:
                    self._captured = _Captured(partial(self._parts.run, *fixed), leaves)
                found = self._captured(leaves)
        else:
            found = self._parts.run(*fixed, *leaves)
        found, strides = list(found), self._source.expected.strides
        if self._apart is None:
            self._apart = self._not_apart(found, leaves)
        for n in self._apart:
            found[n] = _laid_out(found[n], strides[n])
        return pytree.tree_unflatten(found, self._source.arranged)

    def _not_apart(self, found: list[Any], leaves: list[Any]) -> list[int]:
        """Return the outputs that need a copy, to have the model's memory and strides."""
        expected = self._source.expected
        others = [*(self._fixed or ()), *self._parts.held.values()]
        now = sharing(found, leaves, self._source.watched.tensors, others)
        strides = tuple(map(strides_of, found))
        copies = [
            n for n, right in enumerate(expected.shared)
            if right is None and (now[n] is not None or strides[n] != expected.strides[n])
        ]  # fmt: skip
        for n, right in enumerate(expected.shared):
            if right is not None and (
                now[n] != right or right[0] in [("output", c) for c in copies]
            ):
                raise NotExported("the program's results do not share memory as the model's do")
        return copies


def _laid_out(x: Tensor, strides: Sequence[int]) -> Tensor:
    """Return a copy of x with these strides; positions along a stride of 0 share one element."""
    whole = [s if n > 1 else 1 for s, n in zip(strides, x.shape, strict=True)]
    new = torch.empty_strided(x.shape, whole, dtype=x.dtype, device=x.device)
    each = tuple(slice(None) if s else slice(0, 1) for s in whole)
    new[each].copy_(x[each])
    return new


class _Captured:
    """A function in a CUDA graph, with the buffers that it reads and writes."""

    def __init__(self, run: Callable[..., Sequence[Any]], leaves: list[Any]) -> None:
        # Allocated outside of inference mode, so that any later call may write into the buffers.
        with torch.inference_mode(False), torch.no_grad():
            self._given = [x.clone() if isinstance(x, Tensor) else x for x in leaves]
            self._device = device = next(x.device for x in self._given if isinstance(x, Tensor))
            cudnn = torch.backends.cudnn
            chosen = cudnn.benchmark
            side = torch.cuda.Stream(device)
            side.wait_stream(torch.cuda.current_stream(device))
            cudnn.benchmark = True
            try:
                with torch.cuda.device(device), torch.cuda.stream(side):
                    for _ in range(WARMUP):
                        run(*self._given)
                    with waiting_refused():
                        run(*self._given)
                torch.cuda.current_stream(device).wait_stream(side)
                self._stream, self._graph = CaptureStream(device), torch.cuda.CUDAGraph()
                with self._stream.capture(self._graph):
                    self._found = list(run(*self._given))
            finally:
                cudnn.benchmark = chosen

    def __call__(self, leaves: list[Any]) -> list[Any]:
        for buffer, x in zip(self._given, leaves, strict=True):
            if isinstance(buffer, Tensor):
                buffer.copy_(x)
        with torch.cuda.device(self._device):
            self._graph.replay()
        # Clones, because the next call overwrites the buffers.
        return [x.clone() if isinstance(x, Tensor) else x for x in self._found]
