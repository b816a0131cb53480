"""The operations of style networks: norms, convolutions and blocks, and the samples of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.operations import transformer_cases
from benchmarks.operations.case import Case, Draw, changed, shape_of
from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.ops import (
    fused_conv_instancenorm_forward,
    fused_conv_reflection_pad_forward,
    fused_residual_block_forward,
)
from kernels.ops.style.convolution.api import unavailable_reason
from kernels.table.autograd import tensors_of
from kernels.table.registry import GENERAL, OPS, Operation

# Operations with explicit cases below or in transformer_cases. The other two instance norm
# operations run the same kernels on a GPU, and backward operations are not measured alone. Any
# other operation is measured on the samples of its row.
WRITTEN_OUT = (
    "fused_instance_norm", "fused_instance_norm_out", "fused_instance_norm_forward",
    "fused_conv_reflection_pad_forward", "fused_conv_instancenorm_forward",
    "fused_residual_block_forward",
    *transformer_cases.OPERATIONS,
)  # fmt: skip
PRECISIONS = {torch.float32: "FP32", torch.float16: "FP16", torch.bfloat16: "BF16"}
LAYERS = (  # channels in and out, sides of the picture and the kernel, stride
    (3, 32, 512, 9, 1),
    (32, 64, 512, 3, 2),
    (64, 128, 256, 3, 2),
    (128, 128, 128, 3, 1),
    (32, 3, 512, 9, 1),
)


def cases(device: torch.device) -> Iterator[Case]:
    """Yield the cases of a GPU: networks of one style, transformers, and samples."""
    for channels, side in ((64, 64), (128, 128), (32, 512)):
        for precision in ("FP32", "FP16"):
            for layout in ("NCHW", "NHWC"):
                yield norm(Draw(device, precision), layout, channels, side)
    for precision in ("FP32", "TF32", "FP16"):
        draw = Draw(device, precision)
        for layout in ("NCHW", "NHWC"):
            for cin, cout, side, kernel, stride in LAYERS:
                given = _layer(draw, layout, cin, cout, side, kernel)
                shape = f"{cin}-{cout} {kernel}x{kernel}/{stride} of {side}x{side}"
                yield convolution(given[:3], shape, precision, layout, stride)
                if cout > 3:
                    yield unit(given, shape, precision, layout, stride)
            given = _layer(draw, layout, 128, 64, 128, 3)
            shape = "128-64 3x3 after x2 of 128x128"
            yield unit(given, shape, precision, layout, enlarges=True)
            yield block(draw, layout, 128, 128)
    yield from transformer_cases.cases(device)
    yield from sampled_cases(device)


def sampled_cases(device: torch.device) -> Iterator[Case]:
    """Yield the samples of every operation that has a GPU kernel but no cases of its own here."""
    for op in OPS.values():
        if op.name in WRITTEN_OUT or op.family == GENERAL or not op.cuda or op.mutates:
            continue
        for sample in op.samples():
            yield _sampled(op, [changed(value, lambda x: x.to(device)) for value in sample])


def _sampled(op: Operation, given: Sequence[Any]) -> Case:
    floating = [value for value in tensors_of(given) if value.is_floating_point()]
    # FP32 tensors may accompany half-precision ones
    x = min(floating, key=lambda value: value.itemsize)
    precision = PRECISIONS.get(x.dtype, str(x.dtype).removeprefix("torch."))
    layout = "NCHW" if x.is_contiguous() else "NHWC"
    return Case(op.name, shape_of([x]), precision, given, op.reference, op.overload, layout=layout)


def norm(draw: Draw, layout: str, channels: int, side: int) -> Case:
    x = _drawn(draw, layout, 1, channels, side, side)
    ways = nn.InstanceNorm2d(channels, affine=True).to(x), FusedInstanceNorm2d(channels).to(x)
    shape = f"{channels}x{side}x{side}"
    return Case("instance norm", shape, draw.precision, (x,), *ways, F.instance_norm, layout)


def convolution(
    given: Sequence[Tensor], shape: str, precision: str, layout: str, stride: int
) -> Case:
    pad = given[1].shape[-1] // 2

    def ours(x: Tensor, weight: Tensor, bias: Tensor, own: bool = False) -> Tensor:
        return fused_conv_reflection_pad_forward(x, weight, bias, pad, stride, stride, own)

    return Case(
        "convolution", shape, precision, given, partial(_convolved, stride=stride), ours,
        layout=layout,
        own=partial(ours, own=True),
        why_not=partial(_why_not, given, layout, stride),
    )  # fmt: skip


def unit(
    given: Sequence[Tensor],
    shape: str,
    precision: str,
    layout: str,
    stride: int = 1,
    *,
    enlarges: bool = False,
) -> Case:
    pad = given[1].shape[-1] // 2

    def theirs(x: Tensor, weight: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        x = F.interpolate(x, scale_factor=2) if enlarges else x
        y = _convolved(x, weight, bias, stride)
        return F.instance_norm(y, weight=gamma, bias=beta).relu_()

    def ours(*given: Tensor, own: bool = False) -> Tensor:
        how = 1e-5, pad, stride, True, enlarges, own
        return fused_conv_instancenorm_forward(*given, *how)

    return Case(
        "convolution, norm, ReLU", shape, precision, given, theirs, ours,
        layout=layout,
        own=partial(ours, own=True),
        why_not=partial(_why_not, given, layout, stride, enlarges),
    )  # fmt: skip


def block(draw: Draw, layout: str, channels: int, side: int) -> Case:
    def theirs(x: Tensor, weight: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        y = F.instance_norm(_convolved(x, weight, bias), weight=gamma, bias=beta).relu_()
        return F.instance_norm(_convolved(y, weight, bias), weight=gamma, bias=beta) + x

    def ours(x: Tensor, *layer: Tensor, own: bool = False) -> Tensor:
        return fused_residual_block_forward(x, *layer, *layer, 1e-5, own)

    given = _layer(draw, layout, channels, channels, side, 3)
    return Case(
        "residual block", f"{channels} of {side}x{side}", draw.precision, given, theirs, ours,
        layout=layout,
        own=partial(ours, own=True),
        why_not=partial(_why_not, given, layout),
    )  # fmt: skip


def _drawn(draw: Draw, layout: str, *shape: int) -> Tensor:
    return draw.planes(*shape) if layout == "NHWC" else draw(*shape)


def _layer(
    draw: Draw, layout: str, cin: int, cout: int, side: int, kernel: int
) -> tuple[Tensor, ...]:
    """Draw a picture, a weight, a bias, and the scale and shift of a norm."""
    weight = _drawn(draw, layout, cout, cin, kernel, kernel) / (cin * kernel * kernel) ** 0.5
    return _drawn(draw, layout, 1, cin, side, side), weight, *(draw(cout) for _ in range(3))


def _convolved(x: Tensor, weight: Tensor, bias: Tensor, stride: int = 1) -> Tensor:
    pad = weight.shape[-1] // 2
    return F.conv2d(F.pad(x, (pad,) * 4, mode="reflect"), weight, bias, stride)


def _why_not(given: Sequence[Tensor], layout: str, stride: int = 1, enlarges: bool = False) -> str:
    """Return why a convolution is not our own kernel's by default."""
    x, weight = given[:2]
    return unavailable_reason(
        x.device,
        x.dtype,
        kernel_size=weight.shape[-1],
        stride=stride,
        out_channels=weight.shape[0],
        upsample=enlarges,
        channels_last=layout == "NHWC",
    )
