"""Changes of a rewritten graph's execution; the model and machine decide which of them pay."""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx

from kernel_fusion.auto_convert.rewrites import (
    Node,
    alike,
    aten,
    bias_of,
    convolution,
    convolution_add_relu,
    norm_arguments,
    shape_of,
)
from kernels.ops.general.fusion.api import add_norm


def merged_layers(graph: fx.Graph) -> int:
    """Merge linear layers that read the same input, such as queries, keys and values."""
    count = 0
    groups: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if node.target == aten.linear.default and node.args[1].op == "get_attr":
            groups.setdefault((node.args[0], bias_of(node) is None), []).append(node)
    for (x, bare), nodes in groups.items():
        shapes = [shape_of(node.args[1]) for node in nodes]
        if len(nodes) < 2 or None in shapes:
            continue
        with graph.inserting_before(nodes[0]):
            # Read all weights in front of the first layer.
            weights = [graph.get_attr(node.args[1].target) for node in nodes]
            weight = graph.call_function(torch.cat, (weights,))
            bias = None
            if not bare:
                biases = [graph.get_attr(bias_of(node).target) for node in nodes]
                bias = graph.call_function(torch.cat, (biases,))
            whole = graph.call_function(F.linear, (x, weight, bias))
            sizes = [shape[0] for shape in shapes]
            parts = graph.call_function(torch.split, (whole, sizes, -1))
            each = [graph.call_function(operator.getitem, (parts, n)) for n in range(len(nodes))]
        for node, new in zip(nodes, each, strict=True):
            new.meta.update(node.meta)
            node.replace_all_uses_with(new)
        graph.eliminate_dead_code()
        count += len(nodes)
    return count


def relu_in_cudnn(graph: fx.Graph) -> int:
    """Let cuDNN compute ReLUs together with the image convolutions in front of them."""
    ways = {convolution: cudnn_relu, convolution_add_relu: cudnn_add_relu}
    found = [node for node in graph.nodes if node.target in ways and is_of_images(node)]
    found = [node for node in found if node.target is not convolution or len(node.args) == 5]
    for node in found:
        node.target = ways[node.target]
    return len(found)


def cudnn_relu(
    x: Tensor, weight: Tensor, bias: Tensor | None, sizes: tuple[Any, ...], relu: bool
) -> Tensor:
    assert relu
    return torch.cudnn_convolution_relu(x, weight, bias, *sizes)


def cudnn_add_relu(
    x: Tensor, weight: Tensor, bias: Tensor | None, sizes: tuple[Any, ...], other: Tensor
) -> Tensor:
    return torch.cudnn_convolution_add_relu(x, weight, other, 1.0, bias, *sizes)


def channels_last(graph: fx.Graph) -> int:
    """Lay out images and the weights of their convolutions as channels last."""
    kinds = {convolution, convolution_add_relu, cudnn_relu, cudnn_add_relu, aten.conv2d.default}
    found = [node for node in graph.nodes if node.target in kinds and is_of_images(node)]
    for node in found:
        for at in (0, 1):
            # Tensors in this layout are not copied.
            with graph.inserting_before(node):
                node.update_arg(at, graph.call_function(in_channels_last, (node.args[at],)))
    return len(found)


def in_channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def is_of_images(node: Node) -> bool:
    """Return whether a node's result is [N, C, H, W]."""
    shape = shape_of(node)
    return shape is not None and len(shape) == 4


def summed_norms(graph: fx.Graph) -> int:
    """Fuse layer norms with the sum of two tensors in front of them, which others may also read."""
    count = 0
    for node in list(graph.nodes):
        total = node.args[0] if node.target == aten.layer_norm.default else None
        if total is None or total.target != aten.add.Tensor or total.kwargs:
            continue
        x, residual = total.args
        shapes = [shape_of(each) if isinstance(each, fx.Node) else None for each in total.args]
        if shapes[0] is None or shapes[0] != shapes[1] or not alike(x, residual, total):
            continue
        with graph.inserting_before(total):
            # Directly behind the sum's arguments, because others may read the sum before the norm
            # does.
            _, *rest = norm_arguments(node)
            if any(isinstance(each, fx.Node) and each.op != "get_attr" for each in rest):
                continue
            rest = [graph.get_attr(str(r.target)) if isinstance(r, fx.Node) else r for r in rest]
            both = graph.call_function(add_norm, (x, residual, *rest))
            parts = [graph.call_function(operator.getitem, (both, at)) for at in (0, 1)]
        for old, new in zip((total, node), parts, strict=True):
            new.meta.update(old.meta)
            old.replace_all_uses_with(new)
        count += 1
    graph.eliminate_dead_code()
    return count
