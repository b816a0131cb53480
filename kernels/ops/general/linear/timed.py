"""PyTorch equivalents of the operations on products and convolutions, with timing arguments."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.table.parts import Timed, seeded

SIZE, LENGTH = 64, 512  # size of a head, length of a sequence
WIDER = 4  # width ratio of a feed-forward network's hidden layer
IMAGES, CHANNELS, DOWN = 16, 64, 32  # 16 images of 64 channels, whose sides are 1/32 of a matrix's
GROUPS, DROPOUT = 4, 0.1


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(F.linear(x, weight, bias))


def _ffn(x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
    return F.linear(F.gelu(F.linear(x, weight1, bias1)), weight2, bias2)


def _transformer_layer(x: Tensor, weights: list[Tensor], num_heads: int) -> Tensor:
    layer, names = _encoder_layer(x.shape[-1], num_heads, weights[4].shape[0])
    given = dict(zip(names, weights, strict=True))
    # PyTorch's kernel for whole layers needs more registers in float64 than a GPU has.
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast and x.dtype is not torch.float64)
    try:
        return torch.func.functional_call(layer, given, (x,))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@functools.cache
def _encoder_layer(width: int, heads: int, hidden: int) -> tuple[nn.Module, list[str]]:
    """Return PyTorch's module without memory for its parameters, and their names."""
    layer = nn.TransformerEncoderLayer(
        width, heads, hidden, 0.0, F.gelu, batch_first=True, device="meta"
    )
    return layer.eval(), [name for name, _ in layer.named_parameters()]


def _contract(equation: str, operands: list[Tensor], shape: list[int]) -> Tensor:
    return torch.einsum(equation, *operands).reshape(shape)


def _conv_bn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mean: Tensor,
    var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
    stride: None,
    padding: int,
) -> Tensor:
    y = F.conv2d(x, weight, bias, padding=padding)
    return F.relu(F.batch_norm(y, mean, var, gamma, beta, training, momentum, eps))


def _separable(
    x: Tensor,
    depthwise: Tensor,
    pointwise: Tensor,
    depthwise_bias: Tensor,
    pointwise_bias: Tensor,
    activation: str,
    stride: None,
    padding: int,
) -> Tensor:
    y = F.conv2d(x, depthwise, depthwise_bias, padding=padding, groups=x.shape[1])
    return F.relu(F.conv2d(y, pointwise, pointwise_bias))


def _conv_dropout(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    p: float,
    training: bool,
    state: Tensor,
    stride: None,
    padding: int,
) -> Tensor:
    return F.dropout(F.gelu(F.conv2d(x, weight, bias, padding=padding)), p, training)


def _conv_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    norm_groups: int,
    gamma: Tensor,
    beta: Tensor,
    activation: str,
    eps: float,
    stride: None,
    padding: int,
    dilation: None,
    groups: int,
) -> Tensor:
    y = F.conv2d(x, weight, bias, padding=padding, groups=groups)
    return F.relu(F.group_norm(y, norm_groups, gamma, beta, eps))


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def _weight(seed: int, outputs: int, *inputs: int) -> Tensor:
    """Return a layer's weight whose outputs are about as large as its inputs."""
    return _of(outputs, *inputs, seed=seed) / torch.Size(inputs).numel() ** 0.5


def _layer(rows: int, columns: int) -> list[Any]:
    return [_of(rows, columns), _weight(1, columns, columns), _of(columns, seed=2)]


def _network(rows: int, columns: int) -> list[Any]:
    hidden = WIDER * columns
    first = _weight(1, hidden, columns), _of(hidden, seed=2)
    second = _weight(3, columns, hidden), _of(columns, seed=4)
    return [_of(rows, columns), *first, *second]


def _encoder(rows: int, columns: int) -> list[Any]:
    length, width = min(rows, LENGTH), columns
    projections = _weight(5, 3 * width, width), _of(3 * width, seed=6)
    out = _weight(7, width, width), _of(width, seed=8)
    norms = [x for seed in (9, 10) for x in (_of(width, seed=seed), _of(width, seed=seed + 2))]
    weights = [*projections, *out, *_network(1, width)[1:], *norms]
    heads = width // SIZE if width % SIZE == 0 else 1
    return [_of(max(1, rows // length), length, width), weights, heads]


def _heads(rows: int, columns: int) -> list[Any]:
    heads = max(1, columns // SIZE)
    operands = [_of(heads, rows, SIZE), _of(heads, SIZE, columns, seed=1) / columns**0.5]
    return ["hld,hde->le", operands, [1, rows, columns]]


def _pictures(rows: int, columns: int) -> Tensor:
    return _of(IMAGES, CHANNELS, max(1, rows // DOWN), max(1, columns // DOWN))


def _channels(*seeds: int) -> list[Tensor]:
    return [_of(CHANNELS, seed=seed) for seed in seeds]


def _with_bn(rows: int, columns: int) -> list[Any]:
    gamma, beta, mean, var = _channels(2, 3, 4, 5)
    norm = [gamma, beta, mean, var.square() + 1, False, 0.1, 1e-5]
    return [_pictures(rows, columns), _weight(1, CHANNELS, CHANNELS, 3, 3), None, *norm, None, 1]


def _two_layers(rows: int, columns: int) -> list[Any]:
    weights = _weight(1, CHANNELS, 1, 3, 3), _weight(2, CHANNELS, CHANNELS, 1, 1)
    return [_pictures(rows, columns), *weights, *_channels(3, 4), "relu", None, 1]


def _dropped(rows: int, columns: int) -> list[Any]:
    weight, (bias,) = _weight(1, CHANNELS, CHANNELS, 3, 3), _channels(2)
    options = [DROPOUT, True, torch.tensor([rows, 1]), None, 1]
    return [_pictures(rows, columns), weight, bias, *options]


def _with_group_norm(rows: int, columns: int) -> list[Any]:
    weight, (bias, gamma, beta) = _weight(1, CHANNELS, CHANNELS // GROUPS, 3, 3), _channels(2, 3, 4)
    options = ["relu", 1e-5, None, 1, None, GROUPS]
    return [_pictures(rows, columns), weight, bias, 2 * GROUPS, gamma, beta, *options]


TIMED = {
    "linear_activation": Timed(_linear, _layer, is_of_products=True),
    "ffn": Timed(_ffn, _network, is_of_products=True),
    "transformer_layer": Timed(_transformer_layer, _encoder, is_of_products=True),
    "contract_reshape": Timed(_contract, _heads, is_of_products=True),
    "conv2d_bn_relu": Timed(_conv_bn, _with_bn, constants=(5, 6)),
    "depthwise_pointwise_conv": Timed(_separable, _two_layers),
    "conv2d_gelu_dropout": Timed(_conv_dropout, _dropped, is_random=True),
    "grouped_conv_norm": Timed(_conv_norm, _with_group_norm),
}
