"""Every launch of the single operations' launchers, with a stub's record of each."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator, Mapping
from ctypes import c_int, c_longlong, c_void_p, sizeof
from pathlib import Path
from typing import Any

from kernels.ops.style import structs
from tests.kernels.driver.launches import Told, launch

FILE = Path(__file__).with_name("launches.txt")
WHAT = "Launches of the single operations"
STREAM = 0x1234
WITHOUT_STREAM = ("styleforge_packed_bytes", "styleforge_tiles", "styleforge_norm_scratch")
# The arguments of a kernel, by the name of its template.
ARGUMENTS = {
    "whole_planes": (structs.Planes,),
    "parts_of_planes": (c_void_p, c_void_p, c_longlong, c_int),
    "parts_of_pixels": (c_void_p, c_void_p, structs.Cut),
    "merge_planes": (
        *(structs.PartialMomentsView, structs.AffineParameters),
        *(c_void_p, c_int, c_int),
    ),
    "write_pixels": (structs.Planes, c_void_p, structs.Cut, structs.Margin),
    "write_planes": (structs.Planes, structs.PartialMomentsView, c_int),
    "conv2d_kernel": (structs.Convolution,),
    "pack_weight_kernel": (structs.Convolution, c_void_p, c_void_p),
}


def template(kernel: str) -> str:
    """Return the name of a kernel's template from its C++ name."""
    return kernel.removeprefix("styleforge::").partition("<")[0]


def norm(**fields):
    given = {
        **{"x": 1 << 12, "y": 2 << 12, "gamma": 3 << 12, "beta": 4 << 12, "scratch": 5 << 12},
        **{"eps": 1e-5, "relu": 1, "vectorized": 1, "multiprocessors": 132, "clusters": 1},
        **{"samples": 2, "channels": 24, "pixels": 4096},
    }
    return structs.StyleforgeNorm(**(given | fields))


def norms():
    """Yield every type, layout and alignment, with planes on each side of every limit."""
    for type_, last, clusters, pixels, channels in itertools.product(
        (0, 1, 2),
        (0, 1),
        (0, 1),
        (0, 1, 1024, 1025, 4096, 4101, 16384, 16385, 32768, 32769, 262144, 262145, 1 << 20),
        (3, 24, 512),
    ):
        yield norm(
            type=type_, channels_last=last, clusters=clusters, pixels=pixels, channels=channels
        )
    for type_, last, field in itertools.product((0, 1, 2), (0, 1), ("x", "y", "residual")):
        yield norm(type=type_, channels_last=last, **{field: 0x1008})
    for type_, last in itertools.product((0, 1, 2), (0, 1)):
        yield norm(type=type_, channels_last=last, vectorized=0, parameter_type=1)
        yield norm(type=type_, channels_last=last, gamma=None, beta=None, relu=0, residual=1 << 20)
        yield norm(type=type_, channels_last=last, samples=1, multiprocessors=16)
    for type_, pad, border in itertools.product((0, 1, 2), (1, 4), (0, 1)):
        yield norm(type=type_, channels_last=1, width=128, pad=pad, border=border)
    yield norm(type=7)


def convolution(inputs=32, outputs=32, side=(40, 56), *, last=0, **fields):
    height, width = side
    strides = (inputs * height * width, height * width, width, 1)
    y_strides = (outputs * height * width, height * width, width, 1)
    if last:
        strides = (strides[0], 1, width * inputs, inputs)
        y_strides = (y_strides[0], 1, width * outputs, outputs)
    given = {
        **{"x": 1 << 12, "packed": 2 << 12, "bias": 3 << 12, "y": 4 << 12, "parts": 5 << 12},
        **{"samples": 2, "in_channels": inputs, "out_channels": outputs},
        **{"height": height, "width": width, "out_height": height, "out_width": width},
        **{"kernel": 3, "pad": 1, "stride_h": 1, "stride_w": 1, "phases": 1},
        **{"math": 1, "multiprocessors": 132},
    }
    p = structs.StyleforgeConvolution(**(given | fields))
    p.x_strides[:], p.y_strides[:] = strides, y_strides
    return p


def convolutions():
    """Yield every type, arithmetic and tile, with slices that padding would fill and others."""
    for type_, math, last, inputs, outputs in itertools.product(
        (0, 1, 2), (0, 1), (0, 1), (3, 8, 16, 20, 128), (3, 8, 9, 32, 33, 64, 65, 128, 200)
    ):
        yield convolution(inputs, outputs, type=type_, math=math, last=last)
    for type_, (samples, side, phases) in itertools.product(
        (0, 1, 2), [(1, (8, 8), 1), (1, (128, 128), 1), (1, (64, 64), 4), (4, (200, 300), 4)]
    ):
        yield convolution(64, 128, side, type=type_, samples=samples, phases=phases, kernel=2)
    yield convolution(32, 32, type=1, last=1, x=0x1008)
    yield convolution(32, 32, type=1, last=1, kernel=9, pad=4)
    yield convolution(32, 32, type=7)


def calls():
    """Yield launchers and their arguments, the struct first, without the stream."""
    for p in convolutions():
        yield "styleforge_packed_bytes", (p,)
        yield "styleforge_tiles", (p,)
        yield "styleforge_pack_weight", (p, 0x7000, 0x8000)
        yield "styleforge_convolve", (p,)
    for p in norms():
        yield "styleforge_norm_scratch", (p,)
        yield "styleforge_norm", (p,)
        yield "styleforge_finish_norm", (p, 0x7000, 11)
        yield "styleforge_merge_norm", (p, 0x7000, 11, 0x8000)
    for type_, last, phases in itertools.product((0, 1, 2), (0, 1), (1, 4)):
        conv = convolution(32, 64, type=type_, last=last, phases=phases)
        after = norm(type=type_, channels_last=last, channels=64, pixels=40 * 56 * phases)
        fused = structs.StyleforgeConvNormRelu(conv, after)
        yield "styleforge_conv_norm_relu", (fused,)
        conv = convolution(64, 64, type=type_, last=last)
        block = structs.StyleforgeResidualBlock(conv, conv, after, after, 0x9000)
        yield "styleforge_residual_block", (block,)


def values(struct, data):
    """Return a struct's values without the padding between its fields, which C++ leaves
    uninitialized.
    """
    if not issubclass(struct, ctypes.Structure):
        return data
    found = []
    for field in struct._fields_:
        name, kind = field[0], field[1]
        at = getattr(struct, name).offset
        found.append(values(kind, data[at : at + sizeof(kind)]))
    return tuple(found)


def expect(stub: Any, names: Mapping[str, Mapping[str, str]]) -> None:
    """Register each kernel's arguments with a stub, by the names in the images of each source."""
    for of_source in names.values():
        for kernel, name in of_source.items():
            sizes = [sizeof(argument) for argument in ARGUMENTS[template(kernel)]]
            stub.stub_expect(name.encode(), (c_int * len(sizes))(*sizes), len(sizes))


def record(library: Any, stub: Any) -> Iterator[Told]:
    """Make the calls of `calls` with the library's launchers and the stub behind them.

    Call `expect` for the stub first.
    """
    stub.stub_take()
    for launcher, arguments in calls():
        stream = () if launcher in WITHOUT_STREAM else (STREAM,)
        result = getattr(library, launcher)(*arguments, *stream)
        lines = stub.stub_take().decode().splitlines()
        yield Told(launcher, result, tuple(map(_launch, lines)))


def _launch(line: str) -> Any:
    *fields, arguments = line.split(" ")
    kinds = ARGUMENTS[template(fields[0])]
    parts = [bytes.fromhex(part) for part in arguments.split(",")]
    return launch(fields, [values(kind, part) for kind, part in zip(kinds, parts, strict=True)])
