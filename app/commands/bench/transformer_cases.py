"""The operations of transformers, at the shapes for which their documentation states times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from app.commands.bench.operation_case import Case
from kernels.attention_wrapper import FusedAttention, Version
from kernels.ops import (
    fused_attention,
    fused_attention_v1,
    fused_attention_v2_forward,
    fused_attention_v3_forward,
    fused_channel_moments_out,
    fused_channel_norm,
    fused_channel_statistics,
    fused_depthwise_conv,
    fused_enlarging_interleave_out,
    fused_enlarging_pad_out,
    fused_ffn_forward,
    fused_pooled_token_norm,
    fused_token_norm,
    output_projection_forward,
)
from kernels.ops.transformer.enlarging.reference import (
    interleave_reference,
    pad_reference,
    padded_size,
)

OPERATIONS = (
    "fused_attention", "fused_attention_backward", "fused_attention_v1",
    "fused_attention_v2_forward", "fused_attention_v3_forward", "fused_ffn_forward",
    "output_projection_forward", "fused_token_norm", "fused_enlarging_pad_out",
    "fused_enlarging_interleave_out", "fused_depthwise_conv", "fused_pooled_token_norm",
    "fused_channel_statistics", "fused_channel_moments_out", "fused_channel_norm",
)  # fmt: skip
WIDTH, HEADS, HIDDEN = 512, 8, 2048
LADDER = {
    "1": fused_attention_v1,
    "2": fused_attention_v2_forward,
    "3": fused_attention_v3_forward,
}
DTYPES = {"FP16": torch.float16, "FP32": torch.float32}
ON_CPU = 256  # number of queries


def cases(device: torch.device) -> Iterator[Case]:
    """Yield the cases: attention alone, each rung, the module, and the layers around them."""
    if device.type == "cpu":
        yield _attention(device, "FP32", ON_CPU, 64)
        yield from _layers(device, "FP32", ON_CPU)
        return
    for precision in DTYPES:
        for length in (1024, 4096, 16384):
            yield _attention(device, precision, length, 64)
        for size in (32, 128):
            yield _attention(device, precision, 4096, size)
        for length in (1024, 4096):
            yield from _layers(device, precision, length)
        for channels, side in ((512, 64), (128, 256)):
            yield _margin(device, precision, channels, side)
            yield _phases(device, precision, channels, side)
        yield _shared_keys(device, precision, 4096, 1024)
        yield _depthwise(device, precision, 384, 64)
        yield _statistics(device, precision, 384, 64)
        yield _moments(device, precision, 32, 512)
        yield _norm_by_moments(device, precision, 128, 128)
        yield _pooled_norm(device, precision, 64)


def _layers(device: torch.device, precision: str, length: int) -> Iterator[Case]:
    for rung in LADDER:
        yield _rung(device, precision, length, rung)
    yield _module(device, precision, length)
    yield _ffn(device, precision, length)
    yield _projection(device, precision, length)
    yield _token_norm(device, precision, length)


def _normal(device: torch.device, precision: str, *shape: int, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    x = torch.randn(shape, generator=generator) * scale
    return x.to(device, DTYPES[precision])


def _wide(*tensors: Tensor) -> list[Tensor]:
    return [x.double() for x in tensors]


def _attention(device: torch.device, precision: str, length: int, size: int) -> Case:
    """Build attention alone, on views of a packed projection."""
    packed = _normal(device, precision, 1, length, 3, HEADS, size)
    q, k, v = packed.permute(2, 0, 3, 1, 4)

    def exact() -> Tensor:
        # One head at a time: the float64 scores of all heads take gigabytes.
        return torch.cat([_exact_head(q, k, v, head) for head in range(HEADS)], 1)

    return Case(
        "attention", f"{HEADS} heads of {length}x{size}", precision, "NLHD",
        lambda: F.scaled_dot_product_attention(q, k, v),
        lambda _: fused_attention(q, k, v, None, size**-0.5)[0],
        exact,
    )  # fmt: skip


def _shared_keys(device: torch.device, precision: str, queries: int, keys: int) -> Case:
    """Build attention to fewer keys, with six heads like the any-style network's tokens."""
    heads, size = 6, 64
    q = _normal(device, precision, 1, queries, heads, size).transpose(1, 2)
    k, v = _normal(device, precision, 1, keys, 2, heads, size).permute(2, 0, 3, 1, 4)
    return Case(
        "attention, shared keys", f"{heads} heads of {queries}x{size}, {keys} keys", precision,
        "NLHD",
        lambda: F.scaled_dot_product_attention(q, k, v),
        lambda _: fused_attention(q, k, v, None, size**-0.5)[0],
        lambda: F.scaled_dot_product_attention(q.double(), k.double(), v.double()),
    )  # fmt: skip


def _exact_head(q: Tensor, k: Tensor, v: Tensor, head: int) -> Tensor:
    q, k, v = (x[:, head : head + 1].double() for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v)


def _block(device: torch.device, precision: str, length: int) -> tuple[Tensor, ...]:
    x = _normal(device, precision, 1, length, WIDTH)
    w_qkv = _normal(device, precision, 3 * WIDTH, WIDTH, scale=WIDTH**-0.5)
    w_out = _normal(device, precision, WIDTH, WIDTH, scale=WIDTH**-0.5)
    biases = (_normal(device, precision, rows) for rows in (3 * WIDTH, WIDTH))
    return x, w_qkv, w_out, *biases


def _self_attention(
    x: Tensor, w_qkv: Tensor, w_out: Tensor, bias_qkv: Tensor, bias_out: Tensor
) -> Tensor:
    n, length, width = x.shape
    qkv = F.linear(x, w_qkv, bias_qkv).view(n, length, 3, HEADS, width // HEADS)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    out = F.scaled_dot_product_attention(q, k, v)
    return F.linear(out.transpose(1, 2).flatten(2), w_out, bias_out)


def _rung(device: torch.device, precision: str, length: int, rung: str) -> Case:
    given = _block(device, precision, length)
    scale = (WIDTH // HEADS) ** -0.5
    return Case(
        f"self-attention, rung {rung}", f"{length}x{WIDTH}", precision, "NLE",
        partial(_self_attention, *given),
        lambda _: LADDER[rung](*given, scale, HEADS),
        lambda: _self_attention(*_wide(*given)),
    )  # fmt: skip


def _module(device: torch.device, precision: str, length: int) -> Case:
    """Build the module with a residual; PyTorch's module returns no attention weights."""
    x = _normal(device, precision, 1, length, WIDTH)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x).eval()
    versions: tuple[Version, Version] = ("auto", "v3")
    automatic, own = (FusedAttention(WIDTH, HEADS, each).to(x).eval() for each in versions)
    automatic.load_state_dict(theirs.state_dict())
    own.load_state_dict(theirs.state_dict())
    wide = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x.double()).eval()
    wide.load_state_dict(theirs.state_dict())
    return Case(
        "FusedAttention, residual", f"{length}x{WIDTH}", precision, "NLE",
        lambda: theirs(x, x, x, need_weights=False)[0] + x,
        lambda always: (own if always else automatic)(x, residual=x)[0],
        lambda: wide(*_wide(x, x, x))[0] + x.double(),
        lambda: automatic.remark(device, x.dtype, length),
    )  # fmt: skip


def _ffn(device: torch.device, precision: str, length: int) -> Case:
    x = _normal(device, precision, length, WIDTH)
    first = _normal(device, precision, HIDDEN, WIDTH, scale=WIDTH**-0.5)
    second = _normal(device, precision, WIDTH, HIDDEN, scale=HIDDEN**-0.5)
    given = x, first, _normal(device, precision, HIDDEN), second, _normal(device, precision, WIDTH)

    def layers(x: Tensor, first: Tensor, bias: Tensor, second: Tensor, last: Tensor) -> Tensor:
        return F.linear(F.gelu(F.linear(x, first, bias)), second, last)

    return Case(
        "feed-forward", f"{length} of {WIDTH}-{HIDDEN}-{WIDTH}", precision, "NLE",
        partial(layers, *given),
        lambda _: fused_ffn_forward(*given, True),
        lambda: layers(*_wide(*given)),
    )  # fmt: skip


def _projection(device: torch.device, precision: str, length: int) -> Case:
    x, residual = (_normal(device, precision, length, WIDTH) for _ in range(2))
    weight = _normal(device, precision, WIDTH, WIDTH, scale=WIDTH**-0.5)
    bias = _normal(device, precision, WIDTH)

    def layers(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return F.linear(x, weight, bias) + residual

    given = x, weight, bias, residual
    return Case(
        "projection, residual", f"{length}x{WIDTH}", precision, "NLE",
        partial(layers, *given),
        lambda _: output_projection_forward(*given),
        lambda: layers(*_wide(*given)),
    )  # fmt: skip


def _token_norm(device: torch.device, precision: str, length: int) -> Case:
    """Build a bias, a residual and the layer norm of their sum."""
    x, residual = (_normal(device, precision, 1, length, WIDTH) for _ in range(2))
    bias = _normal(device, precision, WIDTH).float()

    def layers(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return F.layer_norm(x + bias.to(x.dtype) + residual, (WIDTH,))

    return Case(
        "token norm, residual", f"{length}x{WIDTH}", precision, "NLE",
        lambda: layers(x, bias, residual),
        lambda _: fused_token_norm(x, bias=bias, residual=residual)[1],
        lambda: layers(*_wide(x, bias, residual)),
    )  # fmt: skip


def _pooled_norm(device: torch.device, precision: str, side: int) -> Case:
    """Build the layer norm of a square picture's tokens, and its means over 2x2 tokens."""
    x = _normal(device, precision, 1, side * side, WIDTH)

    def layers(x: Tensor) -> Tensor:
        planes = F.layer_norm(x, (WIDTH,)).transpose(1, 2).unflatten(2, (side, side))
        return F.avg_pool2d(planes, 2).flatten(2).transpose(1, 2)

    return Case(
        "token norm, means of 2x2", f"{side}x{side}x{WIDTH}", precision, "NLE",
        lambda: layers(x),
        lambda _: fused_pooled_token_norm(x, side, side, 2)[2],
        lambda: layers(x.double()),
    )  # fmt: skip


def _statistics(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build the mean and the inverse deviation per channel; the latter is compared."""
    x = _planes(device, precision, 1, channels, side, side)

    def layers(x: Tensor) -> Tensor:
        return torch.rsqrt(torch.var_mean(x, (2, 3), correction=0)[0] + 1e-5)

    return Case(
        "channel statistics", f"{channels}x{side}x{side}", precision, "NHWC",
        lambda: layers(x.float()),
        lambda _: fused_channel_statistics(x, 1e-5)[1],
        lambda: layers(x.double()),
    )  # fmt: skip


def _moments(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build the mean and the variance, which is compared, where another kernel reads them."""
    x = _planes(device, precision, 1, channels, side, side)
    mean, variance = torch.empty(2, 1, channels, device=device)

    def ours() -> Tensor:
        fused_channel_moments_out(x, mean, variance)
        return variance

    return Case(
        "channel moments", f"{channels}x{side}x{side}", precision, "NHWC",
        lambda: torch.var_mean(x.float(), (2, 3), correction=0)[0],
        lambda _: ours(),
        lambda: torch.var_mean(x.double(), (2, 3), correction=0)[0],
    )  # fmt: skip


def _norm_by_moments(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build a norm from the moments of eleven groups, which PyTorch computes, ReLU and a margin."""
    groups = torch.arange(1.0, 12.0, device=device)[:, None].expand(11, channels)
    ones = torch.ones(11, channels, device=device)  # all groups equal: mean 0 and variance 1
    moments = torch.stack((groups, 0 * ones, groups, ones), -1)[None]
    x = _planes(device, precision, 1, channels, side, side).double()
    variance, mean = torch.var_mean(x, (2, 3), correction=0, keepdim=True)
    x = ((x - mean) * torch.rsqrt(variance)).to(DTYPES[precision])
    weight, bias = (_normal(device, precision, channels).float() for _ in range(2))

    def layers(x: Tensor) -> Tensor:
        y = F.instance_norm(x, weight=weight.to(x.dtype), bias=bias.to(x.dtype))
        return F.pad(y.relu(), (1, 1, 1, 1), mode="reflect")

    return Case(
        "channel norm, ReLU, margin", f"{channels}x{side}x{side}", precision, "NHWC",
        lambda: layers(x),
        lambda _: fused_channel_norm(x, moments, weight, bias, None, 1e-5, True, 1),
        lambda: layers(x.double()),
    )  # fmt: skip


def _planes(device: torch.device, precision: str, *shape: int) -> Tensor:
    return _normal(device, precision, *shape).contiguous(memory_format=torch.channels_last)


def _margin(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build the margin before an enlarging convolution; PyTorch's copies are the reference."""
    x = _planes(device, precision, 1, channels, side, side)
    out = _planes(device, precision, 1, channels, *padded_size(side, side))

    def written(run: Callable[[Tensor, Tensor], None], x: Tensor, out: Tensor) -> Tensor:
        run(x, out)
        return out

    return Case(
        "margin before enlarging", f"{channels}x{side}x{side}", precision, "NHWC",
        partial(written, pad_reference, x, out),
        lambda _: written(fused_enlarging_pad_out, x, out),
        lambda: written(pad_reference, x.double(), out.double()),
    )  # fmt: skip


def _phases(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build the case of the step that follows an enlarging convolution and adds a picture.

    The convolution's result has `channels` channels.
    """
    z = _planes(device, precision, 1, channels, side + 6, side + 6)
    skip = _planes(device, precision, 1, channels // 4, 2 * side, 2 * side)
    out = torch.zeros_like(skip)

    def written(run: Callable[[Tensor, Tensor, Tensor], None], *given: Tensor) -> Tensor:
        z, skip, out = given
        run(z, skip, out)
        return out

    return Case(
        "phases after enlarging", f"{channels}x{side}x{side}", precision, "NHWC",
        partial(written, interleave_reference, z, skip, out),
        lambda _: written(fused_enlarging_interleave_out, z, skip, out),
        lambda: written(interleave_reference, *_wide(z, skip, out)),
    )  # fmt: skip


def _depthwise(device: torch.device, precision: str, channels: int, side: int) -> Case:
    """Build the positions of tokens: a depthwise convolution with its margin."""
    x = _planes(device, precision, 1, channels, side, side)
    weight = _normal(device, precision, channels, 1, 3, 3)

    def theirs(x: Tensor, weight: Tensor) -> Tensor:
        return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), weight, groups=channels)

    return Case(
        "depthwise convolution", f"{channels}x{side}x{side}", precision, "NHWC",
        lambda: theirs(x, weight),
        lambda _: fused_depthwise_conv(x, weight),
        lambda: theirs(*_wide(x, weight)),
    )  # fmt: skip
