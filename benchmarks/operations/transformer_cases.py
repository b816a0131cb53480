"""The operations of transformers, at the shapes for which their documentation states times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.operations.case import Case, Draw
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
from kernels.ops.enlarging_reference import interleave_reference, pad_reference, padded_size

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
ON_CPU = 256  # number of queries


def cases(device: torch.device) -> Iterator[Case]:
    """Yield the cases: attention alone, each rung, the module, and the layers around them."""
    if device.type == "cpu":
        draw = Draw(device, "FP32")
        yield attention(draw, ON_CPU, 64)
        yield from _layers(draw, ON_CPU)
        return
    for precision in ("FP16", "FP32"):
        draw = Draw(device, precision)
        for length in (1024, 4096, 16384):
            yield attention(draw, length, 64)
        for size in (32, 128):
            yield attention(draw, 4096, size)
        for length in (1024, 4096):
            yield from _layers(draw, length)
        for channels, side in ((512, 64), (128, 256)):
            yield margin(draw, channels, side)
            yield phases(draw, channels, side)
        yield shared_keys(draw, 4096, 1024)
        yield depthwise(draw, 384, 64)
        yield statistics(draw, 384, 64)
        yield moments(draw, 32, 512)
        yield norm_by_moments(draw, 128, 128)
        yield pooled_norm(draw, 64)


def _layers(draw: Draw, length: int) -> Iterator[Case]:
    for number in LADDER:
        yield rung(draw, length, number)
    for layer in (module, ffn, projection, token_norm):
        yield layer(draw, length)


def attention(draw: Draw, length: int, size: int) -> Case:
    """Build attention alone, on views of a packed projection."""
    q, k, v = draw(1, length, 3, HEADS, size).permute(2, 0, 3, 1, 4)

    def exact(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # One head at a time: the float64 scores of all heads take gigabytes.
        heads = (x.split(1, 1) for x in (q, k, v))
        return torch.cat([*map(F.scaled_dot_product_attention, *heads)], 1)

    made = _attention("attention", f"{HEADS} heads of {length}x{size}", draw, q, k, v)
    return replace(made, exact=exact)


def shared_keys(draw: Draw, queries: int, keys: int) -> Case:
    """Build attention to fewer keys, with six heads like the any-style network's tokens."""
    heads, size = 6, 64
    q = draw(1, queries, heads, size).transpose(1, 2)
    k, v = draw(1, keys, 2, heads, size).permute(2, 0, 3, 1, 4)
    shape = f"{heads} heads of {queries}x{size}, {keys} keys"
    return _attention("attention, shared keys", shape, draw, q, k, v)


def _attention(name: str, shape: str, draw: Draw, q: Tensor, k: Tensor, v: Tensor) -> Case:
    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return fused_attention(q, k, v, None, q.shape[-1] ** -0.5)[0]

    given, theirs = (q, k, v), F.scaled_dot_product_attention
    return Case(name, shape, draw.precision, given, theirs, ours, layout="NLHD")


def rung(draw: Draw, length: int, number: str) -> Case:
    """Build self-attention with its projections, by a rung of LADDER."""
    x = draw(1, length, WIDTH)
    w_qkv = draw(3 * WIDTH, WIDTH, scale=WIDTH**-0.5)
    w_out = draw(WIDTH, WIDTH, scale=WIDTH**-0.5)
    given = x, w_qkv, w_out, draw(3 * WIDTH), draw(WIDTH)

    def theirs(x: Tensor, w_qkv: Tensor, w_out: Tensor, b_qkv: Tensor, b_out: Tensor) -> Tensor:
        qkv = F.linear(x, w_qkv, b_qkv).view(1, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return F.linear(out.transpose(1, 2).flatten(2), w_out, b_out)

    def ours(*given: Tensor) -> Tensor:
        return LADDER[number](*given, (WIDTH // HEADS) ** -0.5, HEADS)

    name = f"self-attention, rung {number}"
    return Case(name, f"{length}x{WIDTH}", draw.precision, given, theirs, ours, layout="NLE")


def module(draw: Draw, length: int) -> Case:
    """Build the module with a residual; PyTorch's module returns no attention weights."""
    x = draw(1, length, WIDTH)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x).eval()
    wide = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x.double()).eval()
    versions: tuple[Version, Version] = ("auto", "v3")
    automatic, own = (FusedAttention(WIDTH, HEADS, each).to(x).eval() for each in versions)
    for each in (wide, automatic, own):
        each.load_state_dict(theirs.state_dict())
    return Case(
        "FusedAttention, residual", f"{length}x{WIDTH}", draw.precision, (x,),
        lambda x: theirs(x, x, x, need_weights=False)[0] + x,
        lambda x: automatic(x, residual=x)[0],
        lambda x: wide(x, x, x)[0] + x,
        layout="NLE",
        own=lambda x: own(x, residual=x)[0],
        why_not=lambda: automatic.remark(draw.device, x.dtype, length),
    )  # fmt: skip


def ffn(draw: Draw, length: int) -> Case:
    x = draw(length, WIDTH)
    first = draw(HIDDEN, WIDTH, scale=WIDTH**-0.5)
    second = draw(WIDTH, HIDDEN, scale=HIDDEN**-0.5)
    given = x, first, draw(HIDDEN), second, draw(WIDTH)

    def theirs(x: Tensor, first: Tensor, bias: Tensor, second: Tensor, last: Tensor) -> Tensor:
        return F.linear(F.gelu(F.linear(x, first, bias)), second, last)

    def ours(*given: Tensor) -> Tensor:
        return fused_ffn_forward(*given, True)

    shape = f"{length} of {WIDTH}-{HIDDEN}-{WIDTH}"
    return Case("feed-forward", shape, draw.precision, given, theirs, ours, layout="NLE")


def projection(draw: Draw, length: int) -> Case:
    x, residual = draw(length, WIDTH), draw(length, WIDTH)
    given = x, draw(WIDTH, WIDTH, scale=WIDTH**-0.5), draw(WIDTH), residual
    return Case(
        "projection, residual", f"{length}x{WIDTH}", draw.precision, given,
        lambda x, weight, bias, residual: F.linear(x, weight, bias) + residual,
        output_projection_forward,
        layout="NLE",
    )  # fmt: skip


def token_norm(draw: Draw, length: int) -> Case:
    """Build a bias, a residual and the layer norm of their sum."""
    given = draw(1, length, WIDTH), draw(WIDTH).float(), draw(1, length, WIDTH)
    return Case(
        "token norm, residual", f"{length}x{WIDTH}", draw.precision, given,
        lambda x, bias, residual: F.layer_norm(x + bias.to(x.dtype) + residual, (WIDTH,)),
        lambda x, bias, residual: fused_token_norm(x, bias=bias, residual=residual)[1],
        layout="NLE",
    )  # fmt: skip


def pooled_norm(draw: Draw, side: int) -> Case:
    """Build the layer norm of a square picture's tokens, and its means over 2x2 tokens."""

    def theirs(x: Tensor) -> Tensor:
        planes = F.layer_norm(x, (WIDTH,)).transpose(1, 2).unflatten(2, (side, side))
        return F.avg_pool2d(planes, 2).flatten(2).transpose(1, 2)

    return Case(
        "token norm, means of 2x2", f"{side}x{side}x{WIDTH}", draw.precision,
        (draw(1, side * side, WIDTH),),
        theirs,
        lambda x: fused_pooled_token_norm(x, side, side, 2)[2],
        layout="NLE",
    )  # fmt: skip


def statistics(draw: Draw, channels: int, side: int) -> Case:
    """Build the mean and the inverse deviation per channel; the latter is compared."""
    return Case(
        "channel statistics", f"{channels}x{side}x{side}", draw.precision,
        (draw.planes(1, channels, side, side),),
        lambda x: torch.rsqrt(_variance(x) + 1e-5),
        lambda x: fused_channel_statistics(x, 1e-5)[1],
        layout="NHWC",
    )  # fmt: skip


def moments(draw: Draw, channels: int, side: int) -> Case:
    """Build the mean and the variance, which is compared, where another kernel reads them."""
    mean, variance = torch.empty(2, 1, channels, device=draw.device)

    def ours(x: Tensor) -> Tensor:
        fused_channel_moments_out(x, mean, variance)
        return variance

    shape, x = f"{channels}x{side}x{side}", draw.planes(1, channels, side, side)
    return Case("channel moments", shape, draw.precision, (x,), _variance, ours, layout="NHWC")


def _variance(x: Tensor) -> Tensor:
    """Return the variance of each channel, at least in FP32."""
    x = x if x.dtype == torch.float64 else x.float()
    return torch.var_mean(x, (2, 3), correction=0)[0]


def norm_by_moments(draw: Draw, channels: int, side: int) -> Case:
    """Build a norm from the moments of eleven groups, which PyTorch computes, ReLU and a margin."""
    groups = torch.arange(1.0, 12.0, device=draw.device)[:, None].expand(11, channels)
    ones = torch.ones(11, channels, device=draw.device)  # all groups equal: mean 0 and variance 1
    given = torch.stack((groups, 0 * ones, groups, ones), -1)[None]
    x = draw.planes(1, channels, side, side)
    dtype, x = x.dtype, x.double()
    variance, mean = torch.var_mean(x, (2, 3), correction=0, keepdim=True)
    x = ((x - mean) * torch.rsqrt(variance)).to(dtype)
    weight, bias = draw(channels).float(), draw(channels).float()

    def theirs(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = F.instance_norm(x, weight=weight.to(x.dtype), bias=bias.to(x.dtype))
        return F.pad(y.relu(), (1, 1, 1, 1), mode="reflect")

    return Case(
        "channel norm, ReLU, margin", f"{channels}x{side}x{side}", draw.precision,
        (x, weight, bias),
        theirs,
        lambda x, weight, bias: fused_channel_norm(x, given, weight, bias, None, 1e-5, True, 1),
        layout="NHWC",
    )  # fmt: skip


def margin(draw: Draw, channels: int, side: int) -> Case:
    """Build the margin before an enlarging convolution; PyTorch's copies are the reference."""
    x = draw.planes(1, channels, side, side)
    given = x, draw.planes(1, channels, *padded_size(side, side))

    ways = partial(_written, pad_reference), partial(_written, fused_enlarging_pad_out)
    shape = f"{channels}x{side}x{side}"
    return Case("margin before enlarging", shape, draw.precision, given, *ways, layout="NHWC")


def phases(draw: Draw, channels: int, side: int) -> Case:
    """Build the case of the step that follows an enlarging convolution and adds a picture.

    The convolution's result has `channels` channels.
    """
    z = draw.planes(1, channels, side + 6, side + 6)
    skip = draw.planes(1, channels // 4, 2 * side, 2 * side)
    given = z, skip, torch.zeros_like(skip)

    ours, theirs = fused_enlarging_interleave_out, interleave_reference
    ways = partial(_written, theirs), partial(_written, ours)
    shape = f"{channels}x{side}x{side}"
    return Case("phases after enlarging", shape, draw.precision, given, *ways, layout="NHWC")


def _written(run: Callable[..., None], *given: Tensor) -> Tensor:
    """Run what writes to its last argument, and return that."""
    run(*given)
    return given[-1]


def depthwise(draw: Draw, channels: int, side: int) -> Case:
    """Build the positions of tokens: a depthwise convolution with its margin."""
    given = draw.planes(1, channels, side, side), draw(channels, 1, 3, 3)

    def theirs(x: Tensor, weight: Tensor) -> Tensor:
        return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), weight, groups=channels)

    return Case(
        "depthwise convolution", f"{channels}x{side}x{side}", draw.precision, given, theirs,
        fused_depthwise_conv,
        layout="NHWC",
    )  # fmt: skip
