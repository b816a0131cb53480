"""Recorded calls of the layers of the network on the CPU."""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

from kernels.jit.openmp import use_openmp
from kernels.network.cpu.launchers import CpuNetwork, Kind, LayerStruct
from tests.kernels.images.recorded import Call, Pointer
from tests.kernels.network.cpu.test_plan import SHAPES, Painter, picture

SIZES = (36, 52), (64, 160)


class Recorder(CpuNetwork):
    """The library's functions; it records each call of a layer."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(library)
        self.calls: list[Call] = []

    def _call(self, kind: Kind, call: LayerStruct) -> None:
        given, results = _sizes(kind, call)
        before = {name: _block(call, name, size) for name, size in given.items()}
        super()._call(kind, call)
        after = {name: _block(call, name, size) for name, size in results.items()}
        written = [block for block in after.values() if block is not None]
        pointers = [Pointer(_at(name), block) for name, block in before.items()]
        pointers += [
            Pointer(_at(name), block and bytes(len(block)), is_result=True)
            for name, block in after.items()
        ]
        pointers.append(Pointer(_at("memory"), bytes(self._scratch.numel())))
        words = f"{kind.name} {call.height}x{call.width} {call.inputs}-{call.outputs}"
        self.calls.append(
            Call(
                words,
                "styleforge_network_layer",
                bytes(call),
                tuple(pointers),
                b"".join(written),
                int(kind),
                _at("threads"),
            )
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
            for size in SIZES:
                Painter(recorder, shape)(picture(*size))
    finally:
        torch.set_num_threads(before)
    return recorder.calls


def _sizes(kind: Kind, call: LayerStruct) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many FP32 numbers each pointer of a layer leads to: inputs, then results."""
    inputs, outputs, pixels = call.inputs, call.outputs, call.height * call.width
    cells = (call.side + 2) // 3
    weights = {
        Kind.FIRST: 36 * inputs * cells**2 * outputs,
        Kind.HALVING: 49 * inputs * outputs,
        Kind.PLAIN: 36 * inputs * outputs,
        Kind.ENLARGING: 25 * inputs * 4 * outputs,
        Kind.LAST: 25 * cells**2 * inputs * outputs,
    }[kind]
    halves = (call.height + 1) // 2 * ((call.width + 1) // 2)
    painted = {Kind.HALVING: halves, Kind.ENLARGING: 4 * pixels}.get(kind, pixels)
    given = {"input": pixels * inputs, "residual": pixels * inputs, "weights": weights}
    given |= {"scale": inputs, "shift": inputs, "gamma": outputs, "beta": outputs}
    results = {"kept": pixels * inputs, "result": painted * outputs}
    if kind is not Kind.LAST:
        results |= {"next_scale": outputs, "next_shift": outputs}
    return given, results


def _block(call: LayerStruct, name: str, floats: int) -> bytes | None:
    address = getattr(call, name)
    return None if address is None else ctypes.string_at(address, 4 * floats)


def _at(name: str) -> int:
    return getattr(LayerStruct, name).offset
