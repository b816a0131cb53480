"""The operations of transformers, at the shapes for which their documentation states times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.operations.case import Case, Draw, Run, shape_of
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
    given = draw(1, length, 3, HEADS, size).permute(2, 0, 3, 1, 4).unbind()

    def exact(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        # One head at a time: the float64 scores of all heads take gigabytes.
        heads = (slice(n, n + 1) for n in range(HEADS))
        found = [F.scaled_dot_product_attention(q[:, n], k[:, n], v[:, n]) for n in heads]
        return torch.cat(found, 1)

    shape = f"{HEADS} heads of {length}x{size}"
    return replace(_attention("attention", draw, given, shape), exact=exact)


def shared_keys(draw: Draw, queries: int, keys: int) -> Case:
    """Build attention to fewer keys, with six heads like the any-style network's tokens."""
    heads, size = 6, 64
    q = draw(1, queries, heads, size).transpose(1, 2)
    k, v = draw(1, keys, 2, heads, size).permute(2, 0, 3, 1, 4)
    shape = f"{heads} heads of {queries}x{size}, {keys} keys"
    return _attention("attention, shared keys", draw, (q, k, v), shape)


def _attention(name: str, draw: Draw, given: Sequence[Tensor], shape: str) -> Case:
    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return fused_attention(q, k, v, None, q.shape[-1] ** -0.5)[0]

    return _case("NLHD", name, draw, given, F.scaled_dot_product_attention, ours, shape)


def rung(draw: Draw, length: int, number: str) -> Case:
    """Build self-attention with its projections, by a rung of LADDER."""
    w_qkv = draw(3 * WIDTH, WIDTH, scale=WIDTH**-0.5)
    w_out = draw(WIDTH, WIDTH, scale=WIDTH**-0.5)
    given = draw(1, length, WIDTH), w_qkv, w_out, draw(3 * WIDTH), draw(WIDTH)

    def theirs(x: Tensor, w_qkv: Tensor, w_out: Tensor, b_qkv: Tensor, b_out: Tensor) -> Tensor:
        qkv = F.linear(x, w_qkv, b_qkv).view(1, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return F.linear(out.transpose(1, 2).flatten(2), w_out, b_out)

    def ours(*given: Tensor) -> Tensor:
        return LADDER[number](*given, (WIDTH // HEADS) ** -0.5, HEADS)

    return _tokens(f"self-attention, rung {number}", draw, given, theirs, ours)


def module(draw: Draw, length: int) -> Case:
    """Build the module with a residual; PyTorch's module returns no attention weights."""
    x = draw(1, length, WIDTH)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x).eval()
    wide = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(x.double()).eval()
    versions: tuple[Version, Version] = ("auto", "v3")
    automatic, own = (FusedAttention(WIDTH, HEADS, each).to(x).eval() for each in versions)
    for each in (wide, automatic, own):
        each.load_state_dict(theirs.state_dict())

    def pytorch(module: nn.Module, x: Tensor) -> Tensor:
        return module(x, x, x, need_weights=False)[0] + x

    def ours(module: nn.Module, x: Tensor) -> Tensor:
        return module(x, residual=x)[0]

    ways = partial(pytorch, theirs), partial(ours, automatic)
    return replace(
        _tokens("FusedAttention, residual", draw, (x,), *ways),
        exact=partial(pytorch, wide),
        own=partial(ours, own),
        why_not=partial(automatic.remark, draw.device, x.dtype, length),
    )


def ffn(draw: Draw, length: int) -> Case:
    first = draw(HIDDEN, WIDTH, scale=WIDTH**-0.5)
    second = draw(WIDTH, HIDDEN, scale=HIDDEN**-0.5)
    given = draw(length, WIDTH), first, draw(HIDDEN), second, draw(WIDTH)

    def theirs(x: Tensor, first: Tensor, bias: Tensor, second: Tensor, last: Tensor) -> Tensor:
        return F.linear(F.gelu(F.linear(x, first, bias)), second, last)

    def ours(*given: Tensor) -> Tensor:
        return fused_ffn_forward(*given, True)

    return _tokens(
        "feed-forward", draw, given, theirs, ours, f"{length} of {WIDTH}-{HIDDEN}-{WIDTH}"
    )


def projection(draw: Draw, length: int) -> Case:
    weight = draw(WIDTH, WIDTH, scale=WIDTH**-0.5)
    given = draw(length, WIDTH), weight, draw(WIDTH), draw(length, WIDTH)

    def theirs(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return F.linear(x, weight, bias) + residual

    return _tokens("projection, residual", draw, given, theirs, output_projection_forward)


def token_norm(draw: Draw, length: int) -> Case:
    """Build a bias, a residual and the layer norm of their sum."""
    given = draw(1, length, WIDTH), draw(WIDTH).float(), draw(1, length, WIDTH)

    def theirs(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return F.layer_norm(x + bias.to(x.dtype) + residual, (WIDTH,))

    def ours(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return fused_token_norm(x, bias=bias, residual=residual)[1]

    return _tokens("token norm, residual", draw, given, theirs, ours)


def pooled_norm(draw: Draw, side: int) -> Case:
    """Build the layer norm of a square picture's tokens, and its means over 2x2 tokens."""
    given = (draw(1, side * side, WIDTH),)

    def theirs(x: Tensor) -> Tensor:
        planes = F.layer_norm(x, (WIDTH,)).transpose(1, 2).reshape(1, WIDTH, side, side)
        return F.avg_pool2d(planes, 2).flatten(2).transpose(1, 2)

    def ours(x: Tensor) -> Tensor:
        return fused_pooled_token_norm(x, side, side, 2)[2]

    return _tokens("token norm, means of 2x2", draw, given, theirs, ours, f"{side}x{side}x{WIDTH}")


def statistics(draw: Draw, channels: int, side: int) -> Case:
    """Build the mean and the inverse deviation per channel; the latter is compared."""
    given = (draw.planes(1, channels, side, side),)

    def theirs(x: Tensor) -> Tensor:
        return torch.rsqrt(_variance(x) + 1e-5)

    def ours(x: Tensor) -> Tensor:
        return fused_channel_statistics(x, 1e-5)[1]

    return _pictures("channel statistics", draw, given, theirs, ours)


def moments(draw: Draw, channels: int, side: int) -> Case:
    """Build the mean and the variance, which is compared, where another kernel reads them."""
    given = (draw.planes(1, channels, side, side),)
    mean, variance = torch.empty(2, 1, channels, device=draw.device)

    def ours(x: Tensor) -> Tensor:
        fused_channel_moments_out(x, mean, variance)
        return variance

    return _pictures("channel moments", draw, given, _variance, ours)


def _variance(x: Tensor) -> Tensor:
    """Return the variance of each channel, at least in FP32."""
    x = x if x.dtype == torch.float64 else x.float()
    return torch.var_mean(x, (2, 3), correction=0)[0]


def norm_by_moments(draw: Draw, channels: int, side: int) -> Case:
    """Build a norm from the moments of eleven groups, which PyTorch computes, ReLU and a margin."""
    groups = torch.arange(1.0, 12.0, device=draw.device)[:, None].expand(11, channels)
    ones = torch.ones(11, channels, device=draw.device)  # all groups equal: mean 0 and variance 1
    moments = torch.stack((groups, 0 * ones, groups, ones), -1)[None]
    x = draw.planes(1, channels, side, side)
    variance, mean = torch.var_mean(x.double(), (2, 3), correction=0, keepdim=True)
    x = ((x.double() - mean) * torch.rsqrt(variance)).to(x.dtype)
    given = x, draw(channels).float(), draw(channels).float()

    def theirs(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = F.instance_norm(x, weight=weight.to(x.dtype), bias=bias.to(x.dtype))
        return F.pad(y.relu(), (1, 1, 1, 1), mode="reflect")

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return fused_channel_norm(x, moments, weight, bias, None, 1e-5, True, 1)

    return _pictures("channel norm, ReLU, margin", draw, given, theirs, ours)


def margin(draw: Draw, channels: int, side: int) -> Case:
    """Build the margin before an enlarging convolution; PyTorch's copies are the reference."""
    out = draw.planes(1, channels, *padded_size(side, side))
    given = draw.planes(1, channels, side, side), out
    ways = partial(_written, pad_reference), partial(_written, fused_enlarging_pad_out)
    return _pictures("margin before enlarging", draw, given, *ways, f"{channels}x{side}x{side}")


def phases(draw: Draw, channels: int, side: int) -> Case:
    """Build the case of the step that follows an enlarging convolution and adds a picture.

    The convolution's result has `channels` channels.
    """
    skip = draw.planes(1, channels // 4, 2 * side, 2 * side)
    given = draw.planes(1, channels, side + 6, side + 6), skip, torch.zeros_like(skip)
    ours, theirs = fused_enlarging_interleave_out, interleave_reference
    ways = partial(_written, theirs), partial(_written, ours)
    return _pictures("phases after enlarging", draw, given, *ways, f"{channels}x{side}x{side}")


def _written(run: Callable[..., None], *given: Tensor) -> Tensor:
    """Run what writes to its last argument, and return that."""
    run(*given)
    return given[-1]


def depthwise(draw: Draw, channels: int, side: int) -> Case:
    """Build the positions of tokens: a depthwise convolution with its margin."""
    given = draw.planes(1, channels, side, side), draw(channels, 1, 3, 3)

    def theirs(x: Tensor, weight: Tensor) -> Tensor:
        return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), weight, groups=channels)

    return _pictures("depthwise convolution", draw, given, theirs, fused_depthwise_conv)


def _case(
    layout: str,
    name: str,
    draw: Draw,
    given: Sequence[Tensor],
    theirs: Run,
    ours: Run,
    shape: str = "",
) -> Case:
    """Build a case; its shape is the first argument's without the batch unless it is given."""
    shape = shape or shape_of([given[0].squeeze(0)])
    return Case(name, shape, draw.precision, given, theirs, ours, layout=layout)


_tokens, _pictures = partial(_case, "NLE"), partial(_case, "NHWC")
