"""Recorded calls of C functions, to be repeated elsewhere, and the calls of the instance norm."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.jit.openmp import use_openmp
from kernels.ops.style.normalization import on_cpu as cpu_norm
from kernels.ops.style.normalization.reference import dense_layout
from kernels.table.launcher import CpuLauncher

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
LAYOUTS = (torch.contiguous_format, torch.channels_last)
# Small ones run on one thread; the last has several chunks of statistics, and leftover lanes.
PLAIN = (None, None, None, 1e-5, False, 0, "reflect", False)
SHAPES = ((1, 4, 4, 4), (2, 8, 13, 22), (1, 40, 63, 52))


class Pointer(NamedTuple):
    """A pointer in a struct: its offset, the bytes behind it, or None, and whether they change."""

    at: int
    block: bytes | None
    is_result: bool = False


class Call(NamedTuple):
    """A call of a C function with a struct.

    Attributes:
        arguments: The arguments in words.
        kind: The number before the struct; -1 for functions without one.
        struct: The struct; a host program writes the pointers, and the threads at `threads_at`.
        result: The bytes behind all pointers that are results, after the call.
    """

    arguments: str
    name: str
    struct: bytes
    pointers: tuple[Pointer, ...]
    result: bytes
    kind: int = -1
    threads_at: int = 0


class Recorder(CpuLauncher):
    """A launcher that records each call of a function."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(library)
        self.heard: list[tuple[str, bytes]] = []

    def function(self, name: str, *types: type[Any]) -> Callable[..., int]:
        run = super().function(name, *types)

        def recorded(call: bytes) -> int:
            norm = ctypes.cast(int.from_bytes(call[8:16], sys.byteorder), ctypes.c_void_p)
            self.heard.append((name, ctypes.string_at(norm, ctypes.sizeof(cpu_norm.NormStruct))))
            return run(call)

        return recorded


def cases() -> Iterator[tuple[Any, ...]]:
    """Yield arguments of `fused_instance_norm`: every dtype, layout and option, small and large."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in DTYPES:
        for layout in LAYOUTS:
            for shape in SHAPES:
                n, c, h, w = shape
                x = (normal(*shape) * 3 + 5).to(dtype).contiguous(memory_format=layout)
                weight, bias = normal(c), normal(c)
                # The interior of a padded tensor, as the network passes it.
                wide = normal(n, c, h + 2, w + 2).to(dtype).contiguous(memory_format=layout)
                inner = wide[..., 1:-1, 1:-1]
                phases = c // 4
                larger = normal(n, phases, 2 * h - 2, 2 * w - 2).to(dtype)
                larger = larger.contiguous(memory_format=torch.channels_last)
                affine = weight[:phases], bias[:phases]
                yield x, *PLAIN
                yield x, weight, bias, None, 1e-5, True, 3, "reflect", False
                yield x, weight, None, inner, 1e-3, True, 1, "reflect", False
                yield x, None, bias, x, 1e-5, False, 5, "replicate", False
                yield x, *affine, None, 1e-5, True, 1, "reflect", True
                yield x, *affine, larger, 1e-5, False, 2, "replicate", True
    # Many merged chunks in a plane: some compilers fused the mean's product and sum, others did
    # not.
    yield normal(1, 40, 300, 520).double(), *PLAIN


def record(image: Path, given: Iterable[tuple[Any, ...]] | None = None) -> list[Call]:
    """Run the cases (`given`, or `cases`) with a library for this machine and return the calls."""
    library = ctypes.CDLL(str(image))
    use_openmp(library)
    launcher = Recorder(library)
    found: list[Call] = []
    for arguments in cases() if given is None else given:
        x, weight, bias, residual = arguments[:4]
        result = cpu_norm.norm(launcher, *arguments)
        name, norm = launcher.heard.pop()
        parameters = torch.promote_types(x.dtype, torch.float32)
        layout = dense_layout(x, arguments[8])
        inputs = (
            x.contiguous(memory_format=layout),
            None if weight is None else weight.to(parameters),
            None if bias is None else bias.to(parameters),
            residual,
        )
        words = f"{x.dtype} {layout} {list(x.shape)} {arguments[4:]}"
        written = bytes_of(result) or b""
        blocks = norm, *map(bytes_of, inputs), bytes(len(written))
        # StyleforgeInstanceNormCall: threads, then pointers, the last to the result.
        pointers = [Pointer(8 + 8 * number, block) for number, block in enumerate(blocks)]
        pointers[-1] = pointers[-1]._replace(is_result=True)
        struct = bytes(8 * (1 + len(pointers)))
        found.append(Call(words, name, struct, tuple(pointers), written))
    return found


def write(calls: list[Call], path: Path) -> None:
    """Write calls as the program of host.c reads them."""

    def block(content: bytes | None) -> bytes:
        return number(-1) if content is None else number(len(content)) + content

    def number(value: int) -> bytes:
        return value.to_bytes(8, "little", signed=True)

    with path.open("wb") as file:
        file.write(number(len(calls)))
        for call in calls:
            file.write(block(call.name.encode()) + number(call.kind) + block(call.struct))
            file.write(number(call.threads_at) + number(len(call.pointers)))
            for each in call.pointers:
                file.write(number(each.at) + number(each.is_result) + block(each.block))


def differences(calls: list[Call], results: bytes) -> list[str]:
    """Describe the calls whose results differ in any bit from the recorded ones."""
    assert len(results) == sum(len(call.result) for call in calls)
    at, found = 0, []
    for call in calls:
        if results[at : at + len(call.result)] != call.result:
            found.append(call.arguments)
        at += len(call.result)
    return found


def bytes_of(x: Tensor | None) -> bytes | None:
    """Return the memory from the first element to the last, gaps included."""
    if x is None:
        return None
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return ctypes.string_at(x.data_ptr(), (last + 1) * x.element_size())
