"""Graph rewrites: patterns of operations and the fused operations that replace them.

Graphs come from `graphs.exported`: PyTorch operations that never write into their arguments.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx

from kernel_fusion.auto_convert.graphs import value_of
from kernels.ops.general.conv.composed import folded
from kernels.ops.general.elementwise.api import add_relu
from kernels.ops.general.fusion.api import batch_norm_relu, layer_norm_gelu, layer_norm_relu
from kernels.ops.general.linear.api import linear_activation

Node = Any  # fx.Node, whose arguments have no useful types
aten: Any = torch.ops.aten
CONVOLUTIONS = {
    aten.conv1d.default: (F.conv1d, 1),
    aten.conv2d.default: (F.conv2d, 2),
    aten.conv3d.default: (F.conv3d, 3),
}
BATCH_NORM = aten._native_batch_norm_legit_no_training.default
SIMPLE = {aten.relu.default: "relu", aten.sigmoid.default: "sigmoid"}


def activation_of(node: Node) -> str:
    """Return the activation's name for `linear_activation`, or ""."""
    if node.target == aten.gelu.default:
        kind = node.kwargs.get("approximate", "none")
        return "gelu_tanh" if kind == "tanh" else "gelu"
    return SIMPLE.get(node.target, "")


def only_user(node: Node) -> Node | None:
    """Return the node that reads this one, if there is exactly one."""
    return next(iter(node.users)) if len(node.users) == 1 else None


def convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, sizes: tuple[Any, ...], relu: bool = False
) -> Tensor:
    """Convolve in one to three dimensions, optionally with an in-place ReLU on the result."""
    run = (F.conv1d, F.conv2d, F.conv3d)[weight.dim() - 3]
    y = run(x, weight, bias, *sizes)
    return torch.relu_(y) if relu else y


def convolution_add_relu(
    x: Tensor, weight: Tensor, bias: Tensor | None, sizes: tuple[Any, ...], other: Tensor
) -> Tensor:
    return add_relu(convolution(x, weight, bias, sizes), other)


def sizes_of(node: Node, dims: int) -> tuple[Any, ...]:
    names, defaults = ("stride", "padding", "dilation", "groups"), (1, 0, 1, 1)
    given = [*node.args[3:]]
    given += [node.kwargs.get(n, d) for n, d in zip(names, defaults, strict=True)][len(given) :]
    lists: list[Any] = [
        [each] * dims if isinstance(each, int) else list(each) for each in given[:3]
    ]
    lists = [each * dims if len(each) == 1 else each for each in lists]
    return *lists, given[3]


def bias_of(node: Node) -> Any:
    return node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")


def conv_bn(graph: fx.Graph) -> int:
    """Fold norms into convolutions that only they read, unless weights outnumber the result."""
    count = 0
    for node in list(graph.nodes):
        norm = only_user(node) if node.target in CONVOLUTIONS else None
        if norm is None or norm.target != BATCH_NORM or norm.args[0] is not node:
            continue
        result = only_user(norm)
        if result is None or result.target != operator.getitem or result.args[1] != 0:
            continue
        if math.prod(shape_of(node.args[1]) or ()) > math.prod(shape_of(node) or ()):
            continue  # every call folds the weights, which would cost more than the norm
        weight, bias, mean, var, _momentum, eps = norm.args[1:]
        with graph.inserting_before(result):
            pair = graph.call_function(
                folded, (node.args[1], bias_of(node), weight, bias, mean, var, eps)
            )
            parts = [graph.call_function(operator.getitem, (pair, at)) for at in (0, 1)]
            sizes = sizes_of(node, CONVOLUTIONS[node.target][1])
            new = graph.call_function(convolution, (node.args[0], *parts, sizes))
        _replace(graph, result, new)
        count += 1
    return count


def conv_relu(graph: fx.Graph) -> int:
    """Fuse ReLUs with the convolution in front of them, whose norm is folded in already."""
    count = 0
    for node in list(graph.nodes):
        relu = only_user(node) if node.target is convolution else None
        if relu is not None and relu.target == aten.relu.default:
            node.args = (*node.args, True)
            _replace(graph, relu, node)
            count += 1
    return count


def add_relu_(graph: fx.Graph) -> int:
    """Fuse sums with their ReLU, and also with a convolution that is one of the terms."""
    count = 0
    for node in list(graph.nodes):
        relu = only_user(node) if node.target == aten.add.Tensor else None
        if relu is None or relu.target != aten.relu.default or node.kwargs:
            continue
        x, y = node.args
        if not (isinstance(x, fx.Node) and isinstance(y, fx.Node)) or not alike(x, y, relu):
            continue
        one, other = (x, y) if _is_bare(x) else (y, x)
        with graph.inserting_before(relu):
            if _is_bare(one) and shape_of(one) == shape_of(other):
                new = graph.call_function(convolution_add_relu, (*one.args, other))
            else:
                new = graph.call_function(add_relu, (x, y))
        _replace(graph, relu, new)
        count += 1
    return count


def _is_bare(node: Node) -> bool:
    return node.target is convolution and len(node.args) == 4 and len(node.users) == 1


def shape_of(node: Node) -> Any:
    value = value_of(node)
    return None if value is None else tuple(value.shape)


def alike(*nodes: Node) -> bool:
    """Return whether all results are tensors of one floating-point dtype."""
    values = [value_of(node) for node in nodes]
    dtypes = {None if value is None else value.dtype for value in values}
    return len(dtypes) == 1 and None not in dtypes and values[0].is_floating_point()


def linear_act(graph: fx.Graph, wanted: tuple[str, ...]) -> int:
    count = 0
    for node in list(graph.nodes):
        user = only_user(node) if node.target == aten.linear.default else None
        kind = "" if user is None else activation_of(user)
        if user is None or kind not in wanted:
            continue
        with graph.inserting_before(user):
            new = graph.call_function(
                linear_activation, (node.args[0], node.args[1], bias_of(node), kind)
            )
        _replace(graph, user, new)
        count += 1
    return count


def norm_act(graph: fx.Graph, wanted: str, fused: Callable[..., Tensor]) -> int:
    count = 0
    for node in list(graph.nodes):
        user = only_user(node) if node.target == aten.layer_norm.default else None
        if user is None or activation_of(user) != wanted:
            continue
        with graph.inserting_before(user):
            new = graph.call_function(fused, norm_arguments(node))
        _replace(graph, user, new)
        count += 1
    return count


def norm_arguments(node: Node) -> tuple[Any, ...]:
    """Return x, the normalized shape, weight, bias and eps of a layer norm."""
    return (*node.args, *(None, None, 1e-5)[len(node.args) - 2 :])[:5]


def norm_relu(graph: fx.Graph) -> int:
    """Fuse batch norms that are not folded into a convolution with their ReLU."""
    count = 0
    for node in list(graph.nodes):
        result = only_user(node) if node.target == BATCH_NORM else None
        relu = only_user(result) if result is not None and result.args[1:] == (0,) else None
        if relu is None or relu.target != aten.relu.default:
            continue
        *given, momentum, eps = node.args
        with graph.inserting_before(relu):
            new = graph.call_function(batch_norm_relu, (*given, False, momentum, eps))
        _replace(graph, relu, new)
        count += 1
    return count


def written_gelu(graph: fx.Graph) -> int:
    """Replace a GELU written out as 0.5 x (1 + tanh(...)) by one operation."""
    count = 0
    for node in list(graph.nodes):
        if node.target != aten.tanh.default:
            continue
        x = _cubic(node.args[0])
        plus = only_user(node)
        whole = only_user(plus) if plus is not None and _is_sum_with_one(plus) else None
        if x is None or whole is None or whole.target != aten.mul.Tensor:
            continue
        half = next((each for each in whole.args if each is not plus), None)
        if _scaled(half, 0.5) is not x:
            continue
        with graph.inserting_before(whole):
            new = graph.call_function(aten.gelu.default, (x,), {"approximate": "tanh"})
        _replace(graph, whole, new)
        count += 1
    return count


def _scaled(node: Any, factor: float) -> Any:
    if isinstance(node, fx.Node) and node.target == aten.mul.Tensor:
        for x, other in (node.args, node.args[::-1]):
            if isinstance(other, float) and math.isclose(other, factor, rel_tol=1e-6):
                return x
    return None


def _is_sum_with_one(node: Node) -> bool:
    return node.target == aten.add.Tensor and 1 in node.args and not node.kwargs


def _cubic(node: Any) -> Any:
    """Return x if a node is sqrt(2 / pi) (x + 0.044715 x^3), else None."""
    total = _scaled(node, math.sqrt(2 / math.pi))
    if not isinstance(total, fx.Node) or total.target != aten.add.Tensor:
        return None
    for x, other in (total.args, total.args[::-1]):
        cube = _scaled(other, 0.044715)
        is_cube = isinstance(cube, fx.Node) and cube.target == aten.pow.Tensor_Scalar
        if is_cube and cube.args == (x, 3.0):
            return x
    return None


def _replace(graph: fx.Graph, node: Node, new: fx.Node) -> None:
    new.meta.update(node.meta)
    node.replace_all_uses_with(new)
    graph.eliminate_dead_code()


Rewrite = Callable[[fx.Graph], int]
# The order matters: a norm is folded into a convolution before the ReLU behind it is fused.
REWRITES: dict[str, Rewrite] = {
    "gelu_written_out": written_gelu,
    "conv_bn": conv_bn,
    "conv_bn_relu": conv_relu,
    "add_relu": add_relu_,
    "bn_relu": norm_relu,
    "layernorm_relu": lambda graph: norm_act(graph, "relu", layer_norm_relu),
    "layernorm_gelu": lambda graph: norm_act(graph, "gelu", layer_norm_gelu),
    "linear_relu": lambda graph: linear_act(graph, ("relu",)),
    "linear_gelu": lambda graph: linear_act(graph, ("gelu", "gelu_tanh")),
}
