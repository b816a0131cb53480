"""Timing of each operation of style networks and transformers against PyTorch, with both errors.

"ours" is the default implementation of an operation. If cuDNN is faster, that is cuDNN's
convolution with our norm, and our own kernel is measured as well. `python -m kernel_fusion bench`
times the operations for any model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from app.commands.bench import transformer_cases
from app.commands.bench.operation_case import Case, Way
from app.provenance import report_header
from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.ops import (
    fused_conv_instancenorm_forward,
    fused_conv_reflection_pad_forward,
    fused_residual_block_forward,
)
from kernels.ops.style.convolution.api import unavailable_reason
from kernels.table.autograd import tensors_of
from kernels.table.registry import LIBRARY, OPS, Operation, prepare, statuses
from utils.benchmark import interleave

MOST_CALLS = 20  # maximum calls per timed run; a single call is too short to time
LONG_MS = 2.0  # target length of a timed run, which limits its calls
EAGER, GRAPH, COMPILED, OURS, OURS_GRAPH, OWN_GRAPH = WAYS = (
    "PyTorch", "PyTorch, graph", "compiled, graph", "ours", "ours, graph", "own kernel, graph",
)  # fmt: skip
GAINS = OURS, OURS_GRAPH, OWN_GRAPH
HEADER = ("operation", "precision", *(f"{way} us" for way in WAYS), *GAINS, "error")

# Operations with explicit cases below or in files of their own. The other two instance norm
# operations run the same kernels on a GPU, and backward operations are not measured alone. Any
# other operation is measured on the samples of its row.
WRITTEN_OUT = (
    "fused_instance_norm", "fused_instance_norm_out", "fused_instance_norm_forward",
    "fused_conv_reflection_pad_forward", "fused_conv_instancenorm_forward",
    "fused_residual_block_forward",
    *transformer_cases.OPERATIONS,
)  # fmt: skip
PRECISIONS = {torch.float32: "FP32", torch.float16: "FP16", torch.bfloat16: "BF16"}


def report(
    device: torch.device, runs: int, compiled: bool, told: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Measure every case: microseconds per call, and errors from a float64 reference.

    Errors are relative to the largest value of the reference.

    Args:
        device: A GPU, or the CPU, which only measures the operations of transformers.
        compiled: Also measure PyTorch's layers through torch.compile, on a GPU.
    """
    measured = [op.name for op in OPS.values() if op.family != LIBRARY]
    prepare(measured)
    rows = []
    before = torch.backends.cudnn.allow_tf32
    try:
        on_gpu = device.type == "cuda"
        current = torch.cuda.device(device) if on_gpu else nullcontext()
        with current, torch.inference_mode():
            for case in _cases(device) if on_gpu else transformer_cases.cases(device):
                torch.backends.cudnn.allow_tf32 = case.precision == "TF32"
                compiles = on_gpu and compiled and case.measures_compiled
                rows.append(_measure(case, device, runs, compiles))
                told(rows[-1])
    finally:
        torch.backends.cudnn.allow_tf32 = before
    return {
        **report_header(device),
        "runs": runs,
        "kernels": [asdict(s) for s in statuses(device) if s.name in measured],
        "rows": rows,
    }


def sampled_cases(device: torch.device) -> Iterator[Case]:
    """Yield the samples of every operation that has a GPU kernel but no cases of its own here."""
    for op in OPS.values():
        if op.name in WRITTEN_OUT or op.family == LIBRARY or not op.cuda or op.mutates:
            continue
        for sample in op.samples():
            yield _sampled(op, sample, device)


def _sampled(op: Operation, sample: tuple[Any, ...], device: torch.device) -> Case:
    floating = [value for value in tensors_of(sample) if value.is_floating_point()]
    # FP32 tensors may accompany half-precision ones
    x = min(floating, key=lambda value: value.itemsize)
    given = [_each(value, lambda x: x.to(device)) for value in sample]
    exact = [_each(value, lambda x: x.double() if x.is_floating_point() else x) for value in given]
    return Case(
        op.name,
        "x".join(map(str, x.shape)),
        PRECISIONS.get(x.dtype, str(x.dtype).removeprefix("torch.")),
        "NCHW" if x.is_contiguous() else "NHWC",
        partial(_first, op.reference, given),
        lambda _: _first(op.overload, given),
        partial(_first, op.reference, exact),
    )


def _each(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    return change(value) if isinstance(value, Tensor) else value


def _first(run: Callable[..., Any], given: list[Any]) -> Tensor:
    """Return the result, or the first of several."""
    found = run(*given)
    return found if isinstance(found, Tensor) else found[0]


def table_row(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a report row below `HEADER`, including speedups below 1."""
    times = [row["us"].get(way, {}).get("median") for way in WAYS]
    return (
        f"{row['operation']} {row['shape']} {row['layout']}",
        row["precision"],
        *("-" if t is None else f"{t:.1f}" for t in times),
        *(f"{row['gain'][way]:.2f}x" if way in row["gain"] else "-" for way in GAINS),
        f"{row['error']:.1e} ({row['their_error']:.1e})",
    )


def _measure(case: Case, device: torch.device, runs: int, compiled: bool) -> dict[str, Any]:
    exact = case.reference()
    largest = float(exact.abs().max())
    ours, theirs = partial(case.ours, False), case.pytorch
    ways = {EAGER: case.pytorch, OURS: ours}
    if compiled:
        torch._dynamo.reset()
        ways[COMPILED] = torch.compile(case.pytorch, dynamic=False)
    # On a GPU, each is also measured in a CUDA graph, because the launch overhead is a separate
    # factor.
    count = _calls_in_a_run((case.pytorch, ours), device)
    calls: dict[str, Callable[[], object]] = {
        name: partial(_repeat, way, count) for name, way in ways.items() if name != COMPILED
    }
    reason = case.unavailable_reason()
    if device.type == "cuda":
        calls[GRAPH] = _capture_graph(case.pytorch, count)
        calls[OURS_GRAPH] = _capture_graph(ours, count)
    if reason and device.type == "cuda":
        calls[OWN_GRAPH] = _capture_graph(partial(case.ours, True), count)
    if compiled:
        calls[COMPILED] = _capture_graph(ways[COMPILED], count)
    results = interleave(calls, 3, runs, device)
    us = {
        name: {key: result[f"{key}_ms"] * 1e3 / count for key in ("median", "p20", "p80")}
        for name, result in results.items()
    }
    return {
        "operation": case.operation,
        "shape": case.shape,
        "precision": case.precision,
        "layout": case.layout,
        "why_not": reason,
        "calls": count,
        "us": us,
        "gain": {
            way: us[EAGER if way == OURS else GRAPH]["median"] / us[way]["median"]
            for way in GAINS
            if way in us
        },
        "error": float((ours().double() - exact).abs().max()) / largest,
        "their_error": float((theirs().double() - exact).abs().max()) / largest,
    }


def _calls_in_a_run(ways: Sequence[Way], device: torch.device) -> int:
    """Return how many calls to time together, from the second call of the slowest way."""
    results = interleave({str(n): way for n, way in enumerate(ways)}, 1, 1, device)
    longest = max(result.median_ms for result in results.values())
    return max(1, min(MOST_CALLS, round(LONG_MS / longest)))


def _repeat(way: Way, count: int) -> None:
    for _ in range(count):
        way()


def _capture_graph(way: Way, count: int) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            way()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _repeat(way, count)
    return graph.replay


def _cases(device: torch.device) -> Iterator[Case]:
    for channels, height, width in ((64, 64, 64), (128, 128, 128), (32, 512, 512)):
        for precision in ("FP32", "FP16"):
            for layout in ("NCHW", "NHWC"):
                yield _norm(device, channels, height, width, precision, layout)
    for precision in ("FP32", "TF32", "FP16"):
        for layout in ("NCHW", "NHWC"):
            for cin, cout, side, kernel, stride in (
                (3, 32, 512, 9, 1),
                (32, 64, 512, 3, 2),
                (64, 128, 256, 3, 2),
                (128, 128, 128, 3, 1),
                (32, 3, 512, 9, 1),
            ):
                given = _layer(device, cin, cout, side, kernel, precision, layout)
                shape = f"{cin}-{cout} {kernel}x{kernel}/{stride} of {side}x{side}"
                yield _convolution(given, shape, stride, precision, layout)
                if cout > 3:
                    yield _unit(given, shape, stride, 1, precision, layout)
            given = _layer(device, 128, 64, 128, 3, precision, layout)
            yield _unit(given, "128-64 3x3 after x2 of 128x128", 1, 2, precision, layout)
            yield _block(device, 128, 128, precision, layout)
    yield from transformer_cases.cases(device)
    yield from sampled_cases(device)


def _random(device: torch.device, precision: str, layout: str, *shape: int) -> Tensor:
    dtype = torch.float16 if precision == "FP16" else torch.float32
    generator = torch.Generator().manual_seed(math.prod(shape))
    x = torch.randn(shape, generator=generator).to(device, dtype)
    if len(shape) != 4 or layout == "NCHW":
        return x
    return x.contiguous(memory_format=torch.channels_last)


def _norm(
    device: torch.device, channels: int, height: int, width: int, precision: str, layout: str
) -> Case:
    x = _random(device, precision, layout, 1, channels, height, width)
    theirs = nn.InstanceNorm2d(channels, affine=True).to(x)
    ours = FusedInstanceNorm2d(channels).to(x)
    shape = f"{channels}x{height}x{width}"
    return Case(
        "instance norm", shape, precision, layout, partial(theirs, x), lambda _: ours(x),
        lambda: F.instance_norm(x.double()),
    )  # fmt: skip


def _layer(
    device: torch.device, cin: int, cout: int, side: int, kernel: int, precision: str, layout: str
) -> tuple[Tensor, ...]:
    x = _random(device, precision, layout, 1, cin, side, side)
    weight = _random(device, precision, layout, cout, cin, kernel, kernel)
    weight = weight / (cin * kernel * kernel) ** 0.5
    return x, weight, *(_random(device, precision, layout, cout) for _ in range(3))


def _convolved(x: Tensor, weight: Tensor, bias: Tensor, stride: int) -> Tensor:
    pad = weight.shape[-1] // 2
    return F.conv2d(F.pad(x, (pad,) * 4, mode="reflect"), weight, bias, stride)


def _unavailable_reason(x: Tensor, weight: Tensor, stride: int, layout: str, upsample: bool) -> str:
    return unavailable_reason(
        x.device,
        x.dtype,
        kernel_size=weight.shape[-1],
        stride=stride,
        out_channels=weight.shape[0],
        upsample=upsample,
        channels_last=layout == "NHWC",
    )


def _convolution(
    given: tuple[Tensor, ...], shape: str, stride: int, precision: str, layout: str
) -> Case:
    x, weight, bias = given[:3]
    return Case(
        "convolution", shape, precision, layout,
        lambda: _convolved(x, weight, bias, stride),
        lambda own: fused_conv_reflection_pad_forward(
            x, weight, bias, weight.shape[-1] // 2, stride, stride, own
        ),
        lambda: _convolved(x.double(), weight.double(), bias.double(), stride),
        partial(_unavailable_reason, x, weight, stride, layout, False),
    )  # fmt: skip


def _unit(
    given: tuple[Tensor, ...], shape: str, stride: int, upsample: int, precision: str, layout: str
) -> Case:
    def layers(x: Tensor, weight: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        x = F.interpolate(x, scale_factor=2) if upsample > 1 else x
        y = _convolved(x, weight, bias, stride)
        return F.instance_norm(y, weight=gamma, bias=beta).relu_()

    x, weight, bias, gamma, beta = given
    pad = weight.shape[-1] // 2
    return Case(
        "convolution, norm, ReLU", shape, precision, layout,
        lambda: layers(*given),
        lambda own: fused_conv_instancenorm_forward(
            x, weight, bias, gamma, beta, 1e-5, pad, stride, True, upsample > 1, own
        ),
        lambda: layers(*(t.double() for t in given)),
        partial(_unavailable_reason, x, weight, stride, layout, upsample > 1),
    )  # fmt: skip


def _block(device: torch.device, channels: int, side: int, precision: str, layout: str) -> Case:
    x, *first = _layer(device, channels, channels, side, 3, precision, layout)
    weight, bias, gamma, beta = second = first

    def layers(x: Tensor, first: list[Tensor], second: list[Tensor]) -> Tensor:
        y = _convolved(x, first[0], first[1], 1)
        y = F.instance_norm(y, weight=first[2], bias=first[3]).relu_()
        y = _convolved(y, second[0], second[1], 1)
        return F.instance_norm(y, weight=second[2], bias=second[3]) + x

    def wide(tensors: list[Tensor]) -> list[Tensor]:
        return [t.double() for t in tensors]

    return Case(
        "residual block", f"{channels} of {side}x{side}", precision, layout,
        lambda: layers(x, first, second),
        lambda own: fused_residual_block_forward(
            x, weight, bias, gamma, beta, weight, bias, gamma, beta, 1e-5, own
        ),
        lambda: layers(x.double(), wide(first), wide(second)),
        partial(_unavailable_reason, x, weight, 1, layout, False),
    )  # fmt: skip
