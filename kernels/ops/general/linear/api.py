"""Matrix products fused with their surroundings: linear layer, feed-forward network, transformer.

PyTorch runs the products and attention through the vendor's libraries. The rest is an elementwise
operation, or part of the product where the library supports that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.attention.attend import attend
from kernels.ops.general.elementwise.api import add_relu, add_sigmoid, bias_gelu
from kernels.ops.general.fusion.api import add_norm
from kernels.ops.general.linear.timed import TIMED
from kernels.table.names import GENERAL
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda

__all__ = ["ffn", "linear_activation", "transformer_layer"]

ON_CPU = "PyTorch's products, and our elementwise kernels"
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "tanh": torch.tanh,
}
# Called with a layer's result without its bias, and the bias. Other activations follow PyTorch's
# layer.
WITH_BIAS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "relu": add_relu,
    "gelu": bias_gelu,
    "gelu_tanh": lambda x, bias: bias_gelu(x, bias, "tanh"),
    "sigmoid": add_sigmoid,
}
ENCODER, DECODER = 12, 18  # tensors of a layer
# The minimum number of rows per part of a network without gradients: 16 tiles of 128. With 1,024,
# two parts of a layer of 2048-8192 took 4 % longer than all rows on an H200.
PART = 2048


def _check_layer(what: str, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if x.dim() < 1 or weight.dim() != 2 or weight.shape[1] != x.shape[-1]:
        raise ValueError(
            f"{what}: weight has the shape {list(weight.shape)}; expected [out, in] with in as the "
            f"last dimension of x, {list(x.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"{what}: bias has the shape {list(bias.shape)}; expected [{weight.shape[0]}]"
        )
    check_alike(what, x, weight=weight, bias=bias)


def check_alike(what: str, x: Tensor, **others: Tensor | None) -> None:
    """Raise ValueError, naming the tensor, unless all have one floating dtype and one device."""
    for name, other in {"x": x, **others}.items():
        if other is None:
            continue
        if not other.is_floating_point() or other.dtype != x.dtype:
            wanted = x.dtype if x.is_floating_point() else "a floating dtype"
            raise ValueError(f"{what}: {name} is a tensor of {other.dtype}; expected {wanted}")
        if other.device != x.device:
            raise ValueError(
                f"{what}: {name} is on {other.device}; expected {x.device}, where x is"
            )


def check_activation(what: str, activation: str) -> None:
    if activation not in ACTIVATIONS:
        expected = ", ".join(map(repr, ACTIVATIONS))
        raise ValueError(f"{what}: activation is '{activation}'; expected one of {expected}")


def needs_gradient(*tensors: Tensor | None) -> bool:
    """Return whether autograd records a call with these tensors."""
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def _activated(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    if bias is None or activation not in WITH_BIAS:
        return ACTIVATIONS[activation](F.linear(x, weight, bias))
    followed = needs_gradient(x, weight, bias)
    if activation == "relu" and followed and x.dtype in (torch.float16, torch.bfloat16):
        # A separate bias would round the product first, and some signs would differ from the sum's.
        return torch.relu_(F.linear(x, weight, bias))
    if activation == "relu" and not followed:
        # PyTorch's product fuses the exact GELU on the CPU, but the approximation on GPUs.
        rows = x.reshape(-1, x.shape[-1])
        found = torch.ops.aten._addmm_activation(bias, rows, weight.t())
        return found.view(*x.shape[:-1], weight.shape[0])
    return WITH_BIAS[activation](F.linear(x, weight), bias)


def _linear_activation(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    _check_layer("linear_activation", x, weight, bias)
    check_activation("linear_activation", activation)
    return _activated(x, weight, bias, activation)


def _linear_activation_reference(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str
) -> Tensor:
    return ACTIVATIONS[activation](F.linear(x, weight, bias))


def _ffn(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str,
) -> Tensor:
    _check_layer("ffn", x, weight1, bias1)
    _check_layer("ffn", x.new_empty(0, weight1.shape[0]), weight2, bias2)
    check_activation("ffn", activation)
    given = weight1, bias1, weight2, bias2

    def network(x: Tensor) -> Tensor:
        return F.linear(_activated(x, weight1, bias1, activation), weight2, bias2)

    parts = _parts(x)
    return network(x) if parts < 2 or needs_gradient(x, *given) else _by_parts(network, x, parts)


def _parts(x: Tensor) -> int:
    """Return in how many parts to read x: on the CPU each part would reorder the weights."""
    is_whole = not x.is_cuda or torch.compiler.is_compiling()  # the compiler splits work itself
    return 1 if is_whole else max(1, x.shape[:-1].numel() // PART)


def _by_parts(network: Callable[[Tensor], Tensor], x: Tensor, parts: int) -> Tensor:
    """Run the network part by part, so that only one part's hidden layer is in memory."""
    rows = x.reshape(-1, x.shape[-1])
    out, at = x.new_empty(0), 0
    for part in rows.chunk(parts):
        made = network(part)
        if not at:
            out = made.new_empty(rows.shape[0], made.shape[-1])
        out[at : at + part.shape[0]] = made
        at += part.shape[0]
        del made  # free the hidden layer before the next one
    return out.view(*x.shape[:-1], -1)


def _ffn_reference(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str,
) -> Tensor:
    return F.linear(ACTIVATIONS[activation](F.linear(x, weight1, bias1)), weight2, bias2)


def _attention(
    x: Tensor,
    memory: Tensor,
    weights: Sequence[Tensor],
    num_heads: int,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    """Compute attention of [N, L, E] to [N, M, E] with nn.MultiheadAttention's parameters."""
    in_weight, in_bias, out_weight, out_bias = weights
    width = x.shape[-1]
    if memory is x:
        q, k, v = F.linear(x, in_weight, in_bias).chunk(3, -1)
    else:
        q = F.linear(x, in_weight[:width], in_bias[:width])
        k, v = F.linear(memory, in_weight[width:], in_bias[width:]).chunk(2, -1)
    heads = (*x.shape[:1], -1, num_heads, width // num_heads)
    q, k, v = (each.view(heads).transpose(1, 2) for each in (q, k, v))
    found = attend(q, k, v, mask, causal)
    del q, k, v  # three times the memory of the result below
    return F.linear(found.transpose(1, 2).flatten(2), out_weight, out_bias)


def _layer(
    x: Tensor,
    weights: Sequence[Tensor],
    num_heads: int,
    activation: str,
    norm_first: bool,
    memory: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    eps: float,
    network: Callable[..., Tensor],
    summed: Callable[..., tuple[Tensor, Tensor]],
) -> Tensor:
    attentions = 1 if memory is None else 2
    count, norms = 4 * attentions, [*weights[4 * attentions + 4 :]]
    first, bias1, second, bias2 = weights[count : count + 4]

    def attend(y: Tensor) -> Tensor:
        return _attention(y, y, weights[:4], num_heads, mask, causal)

    def look(y: Tensor) -> Tensor:
        assert memory is not None
        return _attention(y, memory, weights[4:8], num_heads, None, False)

    def feed(y: Tensor) -> Tensor:
        return network(y, first, bias1, second, bias2, activation)

    blocks = [attend, feed] if memory is None else [attend, look, feed]
    width, pairs = [x.shape[-1]], [norms[at : at + 2] for at in range(0, len(norms), 2)]
    if not norm_first:
        for block, pair in zip(blocks, pairs, strict=True):
            x = summed(block(x), x, width, *pair, eps)[1]
        return x
    gamma, beta = pairs[0]
    y = F.layer_norm(x, width, gamma, beta, eps)
    for block, pair in zip(blocks, pairs[1:], strict=False):
        x, y = summed(block(y), x, width, *pair, eps)
    return x + blocks[-1](y)


def _add_norm_reference(
    x: Tensor,
    residual: Tensor,
    shape: list[int],
    weight: Tensor,
    bias: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor]:
    total = x + residual
    return total, F.layer_norm(total, shape, weight, bias, eps)


def _transformer_layer(
    x: Tensor,
    weights: list[Tensor],
    num_heads: int,
    activation: str,
    norm_first: bool,
    memory: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    eps: float,
) -> Tensor:
    count = ENCODER if memory is None else DECODER
    if len(weights) != count:
        kind = "an encoder layer" if memory is None else "a decoder layer, which has a memory"
        raise ValueError(
            f"transformer_layer: weights are {len(weights)} tensors; expected {count}, in the "
            f"order of the parameters of {kind}"
        )
    if x.dim() != 3 or num_heads < 1 or x.shape[-1] % num_heads:
        raise ValueError(
            f"transformer_layer: x has the shape {list(x.shape)}; expected [N, L, E] with E a "
            f"multiple of num_heads, {num_heads}"
        )
    check_activation("transformer_layer", activation)
    named = {f"weights[{at}]": weight for at, weight in enumerate(weights)}
    check_alike("transformer_layer", x, memory=memory, **named)
    options = num_heads, activation, norm_first, memory, mask, causal, eps
    return _layer(x, weights, *options, _ffn, add_norm)


def _transformer_layer_reference(
    x: Tensor,
    weights: list[Tensor],
    num_heads: int,
    activation: str,
    norm_first: bool,
    memory: Tensor | None,
    mask: Tensor | None,
    causal: bool,
    eps: float,
) -> Tensor:
    options = num_heads, activation, norm_first, memory, mask, causal, eps
    return _layer(x, weights, *options, _ffn_reference, _add_norm_reference)


def normal(seed: int, *shape: int) -> Tensor:
    """Return seeded random numbers whose products are about as large as they are."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator) / max(1, shape[-1]) ** 0.5


def _samples() -> Iterator[tuple[Any, ...]]:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        weight, bias = normal(1, 24, 16).to(dtype), normal(2, 24).to(dtype)
        for activation in ACTIVATIONS:
            yield normal(0, 2, 5, 16).to(dtype), weight, bias, activation
        yield normal(0, 3, 16).to(dtype), weight, None, "relu"


def _samples_ffn() -> Iterator[tuple[Any, ...]]:
    for x, weight, bias, activation in _samples():
        second = normal(3, 16, 24).to(x.dtype)
        yield x, weight, bias, second, None if bias is None else second[:, 0].clone(), activation


def _samples_layer() -> Iterator[tuple[Any, ...]]:
    width, hidden = 8, 12
    attention = [(3 * width, width), (3 * width,), (width, width), (width,)]
    network = [(hidden, width), (hidden,), (width, hidden), (width,)]
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, memory = normal(0, 2, 5, width).to(dtype), normal(1, 2, 3, width).to(dtype)
        for given, attentions in ((None, 1), (memory, 2)):
            shapes = [*attention * attentions, *network, *[(width,)] * (2 * attentions + 2)]
            weights = [normal(at, *shape).to(dtype) for at, shape in enumerate(shapes)]
            yield x, weights, 2, "gelu", False, given, None, False, 1e-5
            yield x, weights, 4, "relu", True, given, None, True, 1e-5


@Operation(
    reference=_linear_activation_reference,
    samples=_samples,
    cpu=Cpu("elementwise", named=ON_CPU),
    cuda=Cuda(GENERAL),
    composed=_linear_activation,
    tolerance_scale=4,
    timed=TIMED["linear_activation"],
    aliases=("fused_linear_activation",),
)
def linear_activation(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str = "relu"
) -> Tensor:
    """Compute activation(x weight^T + bias).

    Returns [..., out].

    Args:
        x: [..., in]; FP16, BF16, FP32 or FP64.
        weight: [out, in], as in torch.nn.Linear.
        bias: [out] or None.
        activation: "none", "relu", "gelu" (exact), "gelu_tanh", "sigmoid", "silu" or "tanh".
    """
    ...


@Operation(
    reference=_ffn_reference,
    samples=_samples_ffn,
    cpu=Cpu("elementwise", named=ON_CPU),
    cuda=Cuda(GENERAL),
    composed=_ffn,
    tolerance_scale=4,
    timed=TIMED["ffn"],
)
def ffn(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str = "gelu",
) -> Tensor:
    """Compute a transformer's feed-forward network.

    The network is activation(x weight1^T + bias1) weight2^T + bias2. Returns [..., out].

    Args:
        x: [..., in]; FP16, BF16, FP32 or FP64.
        weight1: [hidden, in]; bias1 is [hidden] or None.
        weight2: [out, hidden]; bias2 is [out] or None.
        activation: As in `linear_activation`.
    """
    ...


@Operation(
    reference=_transformer_layer_reference,
    samples=_samples_layer,
    cpu=Cpu("elementwise", named="PyTorch's products and attention, and our elementwise kernels"),
    cuda=Cuda(GENERAL),
    composed=_transformer_layer,
    tolerance_scale=8,
    timed=TIMED["transformer_layer"],
)
def transformer_layer(
    x: Tensor,
    weights: Sequence[Tensor],
    num_heads: int,
    activation: str = "gelu",
    norm_first: bool = False,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
    eps: float = 1e-5,
) -> Tensor:
    """Compute a transformer layer, batch first and without dropout (Vaswani et al., 2017).

    Args:
        x: [N, L, E], like the result; FP16, BF16, FP32 or FP64.
        weights: The 12 parameters of an encoder layer, or the 18 of a decoder layer if `memory` is
            given, in the order of `torch.nn.TransformerEncoderLayer(...).parameters()` or of its
            decoder counterpart.
        num_heads: A divisor of E.
        activation: Activation of the feed-forward network, as in `linear_activation`.
        norm_first: Whether the norms precede attention and network instead of following the sums.
        memory: [N, M, E], the encoder's output, which makes the layer a decoder layer.
        mask: Broadcasts with [N, heads, L, L]: bool, true where a query sees a key, or numbers to
            add to the scores.
        causal: Whether no position sees a later one. Excludes `mask`.
    """
    ...
