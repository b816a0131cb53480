"""Recorded calls of the layers of the network on the CPU, and of its weights."""

from __future__ import annotations

import ctypes
from ctypes import Structure
from pathlib import Path

import torch

from kernels.jit.openmp import use_openmp
from kernels.network.cpu import weights
from kernels.network.cpu.launchers import (
    CpuNetwork,
    FiltersStruct,
    Kind,
    LayerStruct,
    ValidWeights,
)
from tests.kernels.images.recorded import Call, Pointer
from tests.kernels.network.cpu.test_plan import SHAPES, Painter, frame, picture

SIZES = (36, 52), (64, 160)
ODD = 43, 57  # of a picture in bytes
LASTS = Kind.LAST, Kind.LAST_TO_BYTES
FLOAT = 4  # bytes


class Recorder(CpuNetwork):
    """The library's functions; it records each call."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(library)
        self.calls: list[Call] = []

    def _transform(self, call: FiltersStruct) -> None:
        inputs, outputs, side = call.inputs, call.outputs, call.side
        given = {
            "filters": FLOAT * 9 * inputs * outputs,
            "rows": 2 * FLOAT * call.phases * side * 3,
        }
        result = FLOAT * side**2 * call.phases**2 * inputs * outputs
        before = _blocks(call, given)
        super()._transform(call)
        words = f"weights {outputs}x{inputs} {side}"
        self._add(words, "styleforge_network_weights", call, before, {"result": result})

    def _call(self, kind: Kind, call: LayerStruct) -> None:
        given, results = _sizes(kind, call)
        before = _blocks(call, given)
        super()._call(kind, call)
        before["memory"] = bytes(self._scratch.numel())
        words = f"{kind.name} {call.height}x{call.width} {call.inputs}-{call.outputs}"
        self._add(words, "styleforge_network_layer", call, before, results, kind)

    def _add(
        self,
        words: str,
        name: str,
        call: Structure,
        before: dict[str, bytes | None],
        results: dict[str, int],
        kind: int = -1,
    ) -> None:
        after = _blocks(call, results)
        pointers = [Pointer(_at(call, field), block) for field, block in before.items()]
        pointers += [
            Pointer(_at(call, field), block and bytes(len(block)), is_result=True)
            for field, block in after.items()
        ]
        written = b"".join(block for block in after.values() if block is not None)
        self.calls.append(
            Call(words, name, bytes(call), tuple(pointers), written, kind, _at(call, "threads"))
        )


def record(image: Path, threads: int) -> list[Call]:
    """Paint pictures with a library for this machine; return the calls of all layers."""
    library = ctypes.CDLL(str(image))
    use_openmp(library)
    recorder = Recorder(library)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for shape in SHAPES.values():
            painter = Painter(recorder, shape)
            for size in SIZES:
                painter(picture(*size))
            painter.in_bytes(frame(*ODD))
        _convolve_first(recorder)
    finally:
        torch.set_num_threads(before)
    return recorder.calls


def _convolve_first(native: CpuNetwork) -> None:
    weight = torch.randn(32, 3, 9, 9, generator=torch.Generator().manual_seed(0))
    prepared = ValidWeights(weights.first_weights(weight, native), weights.tap_sums(weight))
    x = picture(43, 57).contiguous(memory_format=torch.channels_last)
    to = torch.empty(1, 32, 35, 49).contiguous(memory_format=torch.channels_last)
    native.convolve(Kind.VALID_FIRST, x, prepared, to, side=9)


def _sizes(kind: Kind, call: LayerStruct) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many bytes each pointer of a layer leads to: inputs, then results."""
    inputs, outputs, pixels = call.inputs, call.outputs, call.height * call.width
    painted = call.result_height * call.result_width
    filters = outputs * inputs * ((call.side + 2) // 3) ** 2
    positions = {Kind.HALVING: 49, Kind.ENLARGING: 25 * 4, Kind.LAST: 25, Kind.LAST_TO_BYTES: 25}
    of_input = 1 if kind is Kind.FIRST_OF_BYTES else FLOAT
    of_result = 1 if kind is Kind.LAST_TO_BYTES else FLOAT
    weights = FLOAT * filters * positions.get(kind, 36)
    given = {"input": of_input * pixels * inputs, "weights": weights}
    given |= {"residual": FLOAT * pixels * inputs, "sums": FLOAT * inputs * outputs}
    given |= {"scale": FLOAT * inputs, "shift": FLOAT * inputs}
    given |= {"gamma": FLOAT * outputs, "beta": FLOAT * outputs}
    results = {"kept": FLOAT * pixels * inputs, "result": of_result * painted * outputs}
    results |= {"range": 2 * FLOAT}
    if kind not in LASTS:
        results |= {"next_scale": FLOAT * outputs, "next_shift": FLOAT * outputs}
    return given, results


def _blocks(call: Structure, sizes: dict[str, int]) -> dict[str, bytes | None]:
    return {name: _block(getattr(call, name), size) for name, size in sizes.items()}


def _block(address: int | None, size: int) -> bytes | None:
    return None if address is None else ctypes.string_at(address, size)


def _at(call: Structure, name: str) -> int:
    return getattr(type(call), name).offset
