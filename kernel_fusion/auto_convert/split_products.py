"""Computes FP32 products on tensor cores, as TF32 products of three times the depth.

Each factor is a sum of two TF32 numbers, see `kernels.ops.general.linear.split`. Tensor cores
truncate at every step, which makes a sum smaller, so that the error of a long sum grows with its
length. Linear layers are therefore split into products of DEPTH, which are summed in FP32. In an
emulation, the results of BERT-base are then off by 4e-6 of the largest value, and by 2e-5 with
products of full depth; the results of ResNet-50 are off by 4e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx

from kernel_fusion.auto_convert.executions import (
    channels_last,
    cudnn_add_relu,
    cudnn_relu,
    in_channels_last,
    is_of_images,
    merged_layers,
    relu_in_cudnn,
    summed_norms,
)
from kernel_fusion.auto_convert.graphs import value_of
from kernel_fusion.auto_convert.rewrites import (
    Node,
    Rewrite,
    aten,
    bias_of,
    convolution,
    convolution_add_relu,
    shape_of,
    sizes_of,
)
from kernels.ops.general.linear.api import ACTIVATIONS, WITH_BIAS, linear_activation
from kernels.ops.general.linear.split import PARTS, split_tf32_out, split_weight
from utils.tf32 import tf32_allowed

DEPTH = 256  # about the depth, in FP32 numbers, that tensor cores sum by themselves
LEAST_CHANNELS = 8  # of a convolution's input: tensor cores process this many at a time


def split_products(graph: fx.Graph) -> int:
    """Compute FP32 linear layers as one TF32 product of three times the depth."""
    count, made = 0, _Split()
    for node in list(graph.nodes):
        if node.target not in (aten.linear.default, F.linear, linear_activation):
            continue
        given: list[Any] = [*node.args, None, None]
        x, weight, bias, activation = given[:4]
        bias = node.kwargs.get("bias", bias)
        if not _is_fp32(x):
            continue
        with graph.inserting_before(node):
            parts = made.once(graph, _split_depths, x)
            halves = graph.call_function(_split_matrix, (weight,))
            new = graph.call_function(_linear, (parts, halves, bias, activation or "none"))
        new.meta.update(node.meta)
        node.replace_all_uses_with(new)
        count += 1
    graph.eliminate_dead_code()
    return count


def split_pointwise(graph: fx.Graph) -> int:
    """Compute FP32 1x1 convolutions as TF32 convolutions of three times the channels."""
    return _split_convolutions(graph, lambda height, width: height == width == 1)


def split_convolutions(graph: fx.Graph) -> int:
    """Compute all FP32 convolutions as TF32 convolutions of three times the channels."""
    return _split_convolutions(graph, lambda height, width: True)


def _split_convolutions(graph: fx.Graph, wanted: Callable[[int, int], bool]) -> int:
    count, made = 0, _Split()
    for node in list(graph.nodes):
        if node.target == aten.conv2d.default:
            target, args = convolution, (*node.args[:2], bias_of(node), sizes_of(node, 2))
        else:
            target, args = node.target, node.args
        if target not in _IN_TF32 or not is_of_images(node) or not _is_fp32(node):
            continue
        x, weight, bias, sizes, *rest = args
        shape = _shape_of_weight(weight)
        if sizes[3] != 1 or shape is None or shape[1] < LEAST_CHANNELS or not wanted(*shape[2:]):
            continue
        with graph.inserting_before(node):
            parts = made.once(graph, _split_channels, x)
            halves = graph.call_function(_split_filters, (weight,))
            given = parts, halves, bias, sizes, *rest
            new = graph.call_function(_IN_TF32[target], given)
        new.meta.update(node.meta)
        node.replace_all_uses_with(new)
        count += 1
    graph.eliminate_dead_code()
    return count


class _Split:
    """Nodes that are split once for all their readers."""

    def __init__(self) -> None:
        self._made: dict[Any, Node] = {}

    def once(self, graph: fx.Graph, split: Callable[[Tensor], Tensor], x: Node) -> Node:
        """Return the node of `split(x)`, made for its first reader in the order of the graph."""
        is_last = x.target is in_channels_last
        key = (x.args[0] if is_last else x), is_last
        if key not in self._made:
            self._made[key] = graph.call_function(split, (x,))
        return self._made[key]


def _is_fp32(node: Node) -> bool:
    value = value_of(node)
    return value is not None and value.dtype == torch.float32


def _shape_of_weight(node: Node) -> tuple[int, ...] | None:
    """Return [out, in, height, width]; folded weights have no value, but the original's shape."""
    while shape_of(node) is None:
        first = node.args[0] if node.args else None
        if not isinstance(first, fx.Node):
            return None
        node = first
    return shape_of(node)


def products_of(depth: int) -> int:
    """Return the number of products of equal depth that replace one of this depth.

    Each depth is between about DEPTH / 2 and DEPTH; returns 1 if no such number divides it.
    """
    least = -(-depth // DEPTH)
    return next((n for n in range(least, 2 * least + 1) if depth % n == 0), 1)


def _split_rows(x: Tensor) -> Tensor:
    """Split [..., columns] into [..., 3 columns]."""
    rows = x.reshape(-1, x.shape[-1])
    out = rows.new_empty(rows.shape[0], PARTS * rows.shape[1])
    split_tf32_out(rows, out)
    return out.view(*x.shape[:-1], out.shape[1])


def _split_depths(x: Tensor) -> Tensor:
    """Split [..., products depth] into [..., products, 3 depth]."""
    count = products_of(x.shape[-1])
    return _split_rows(x.reshape(*x.shape[:-1], count, x.shape[-1] // count))


def _split_matrix(weight: Tensor) -> Tensor:
    """Split [out, products depth] into [products, out, 3 depth]."""
    count = products_of(weight.shape[1])
    return split_weight(weight.reshape(weight.shape[0], count, -1)).transpose(0, 1).contiguous()


def _split_channels(x: Tensor) -> Tensor:
    """Split [N, C, H, W] into [N, 3 C, H, W], which is channels last if x is."""
    n, channels, height, width = x.shape
    if x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous():
        return _split_rows(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    return _split_rows(x.reshape(n, -1)).view(n, PARTS * channels, height, width)


def _split_filters(weight: Tensor) -> Tensor:
    last = weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()
    form = torch.channels_last if last else torch.contiguous_format
    return split_weight(weight, 1).contiguous(memory_format=form)


def _linear(parts: Tensor, halves: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    count, outputs, depth = halves.shape
    shape = *parts.shape[:-2], outputs
    with tf32_allowed(True):
        if count == 1:
            rows = parts.reshape(-1, depth)
            return linear_activation(rows, halves[0], bias, activation).view(shape)
        rows = parts.reshape(-1, count, depth).transpose(0, 1)
        each = torch.bmm(rows, halves.transpose(1, 2))
    y = each.sum(0).view(shape)
    if bias is None:
        return ACTIVATIONS[activation](y)
    if activation in WITH_BIAS:
        return WITH_BIAS[activation](y, bias)
    return ACTIVATIONS[activation](y.add_(bias))


def _in_tf32(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def in_tf32(*args: Any) -> Tensor:
        with tf32_allowed(True):
            return run(*args)

    in_tf32.__name__ = f"{run.__name__}_in_tf32"
    return in_tf32


_IN_TF32 = {
    run: _in_tf32(run) for run in (convolution, convolution_add_relu, cudnn_relu, cudnn_add_relu)
}

# The changes of a graph's execution by name of the option, in the order of their application.
CHANGES: dict[str, Rewrite] = {
    "summed_norms": summed_norms,
    "merged_layers": merged_layers,
    "split_products": split_products,
    "channels_last": channels_last,
    "relu_in_cudnn": relu_in_cudnn,
    "split_pointwise": split_pointwise,
    "split_convolutions": split_convolutions,
}
