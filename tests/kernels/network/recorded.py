"""Every launch of the network's launchers, with a stub's record of each."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from ctypes import Structure, c_char_p, c_int, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from kernels.network import abi
from tests.kernels.driver.launches import Told, launch

FILE = Path(__file__).with_name("launches.txt")
WHAT = "Launches of the network's layers"
BLOCKS = (7, 132)
STREAM = c_void_p(0x1234)


class Call(NamedTuple):
    """A call of a launcher: its C name and its arguments without the stream."""

    launcher: str
    arguments: tuple[Any, ...]

    @property
    def params(self) -> Structure:
        return next(each for each in self.arguments if isinstance(each, Structure))


def calls(told: abi.Abi) -> Iterator[Call]:
    """Yield calls for every layer, dtype, precision and variant, and for invalid numbers."""
    networks = told.sm80.networks
    yield from _sm80(told.sm80, networks["full"])
    yield from _sm90(told.sm90)
    yield from _sm80(told.sm80, networks["lite"])
    for sm80, name in itertools.product((told.sm80_tf32, told.sm80_fp32, told.sm75), networks):
        yield from _sm80(sm80, sm80.networks[name])
    yield from _sm80_int8(told.sm80_int8)
    numbers = len(networks)
    first, last = filled(abi.FirstLayerParams()), filled(abi.LastLayerParams())
    yield Call("styleforge_sm80_first", (numbers, False, 0, False, first, 7, 1))
    yield Call("styleforge_sm80_last", (numbers, False, 0, False, last, 7, 1))
    precisions = [row.number for row in told.sm90.precisions.values()]
    for precision, blocks, samples in itertools.product(
        [*precisions, len(precisions)], BLOCKS, (1, 2)
    ):
        params = filled(abi.ResidualParams())
        yield Call("styleforge_sm90_residual", (precision, params, blocks, samples))


def _sm80_int8(told: abi.Sm80Int8) -> Iterator[Call]:
    (precision,) = told.precisions.values()
    grids = itertools.product(BLOCKS, (1, 2))  # blocks and samples
    for conv, residual, activated, grid in itertools.product(
        told.convs.values(), (None, 8), (None, 16), grids
    ):
        params = filled(abi.Sm80ConvParams())
        params.residual, params.activated = residual, activated
        yield Call("styleforge_sm80_conv", (conv.kind, precision, params, *grid))
    first = filled(abi.FirstLayerParams())  # the FP16 one
    yield Call("styleforge_sm80_first", (0, False, precision, False, first, 7, 1))


def _sm80(told: abi.Sm80, network: abi.Sm80Network) -> Iterator[Call]:
    grids = list(itertools.product(BLOCKS, (1, 2)))  # blocks and samples
    numbers = list(told.precisions.values())
    for conv, precision, residual, activated, grid in itertools.product(
        network.convs.values(), numbers, (None, 8), (None, 16), grids
    ):
        params = filled(abi.Sm80ConvParams())
        params.residual, params.activated = residual, activated
        yield Call("styleforge_sm80_conv", (conv.kind, precision, params, *grid))
    beyond = 1 + max(conv.kind for each in told.networks.values() for conv in each.convs.values())
    yield Call("styleforge_sm80_conv", (beyond, numbers[0], filled(abi.Sm80ConvParams()), 7, 1))
    for precision, in_bytes, grid in itertools.product(numbers, (False, True), grids):
        first, last = filled(abi.FirstLayerParams()), filled(abi.LastLayerParams())
        for small, (layer, params) in itertools.product(
            (False, True), (("first", first), ("last", last))
        ):
            arguments = network.number, small, precision, in_bytes, params, *grid
            yield Call(f"styleforge_sm80_{layer}", arguments)


def _sm90(told: abi.Sm90) -> Iterator[Call]:
    grids = list(itertools.product(BLOCKS, (1, 2)))  # blocks and samples
    numbers = [row.number for row in told.precisions.values()]
    kinds = {conv.kind for row in told.precisions.values() for conv in row.convs.values()}
    for kind, precision, residual, activated, grid in itertools.product(
        [*sorted(kinds), len(kinds)], [*numbers, len(numbers)], (None, 8), (None, 16), grids
    ):
        params = filled(abi.Sm90ConvParams())
        params.residual, params.activated = residual, activated
        yield Call("styleforge_sm90_conv", (kind, precision, params, *grid))
    for launcher, precision, in_bytes, grid in itertools.product(
        ("styleforge_sm90_first", "styleforge_sm90_last"),
        [*numbers, len(numbers)],
        (False, True),
        grids,
    ):
        yield Call(launcher, (precision, in_bytes, filled(abi.EdgeConvParams()), *grid))


def filled(params: Any) -> Any:
    """Return `params` with a different number in each byte, so that a swapped field shows."""
    size = ctypes.sizeof(params)
    return type(params).from_buffer_copy(bytes(1 + i % 250 for i in range(size)))


def told(library: Any, stub: Any, made: Iterator[Call]) -> Iterator[Told]:
    """Make the calls with `record` and yield the outcome of each."""
    for call, error, line in record(library, stub, made):
        launches = (line.rstrip("\n").split(" "),) if line else ()
        yield Told(
            call.launcher, error, tuple(launch(fields, values) for *fields, values in launches)
        )


def record(library: Any, stub: Any, made: Iterator[Call]) -> list[tuple[Call, int, str]]:
    """Make the calls with the launchers of `library` and the loaded stub behind them.

    Returns:
        Each call with its error and the stub's line, empty if nothing was launched.
    """
    stub.stub_take.restype = c_char_p
    size = c_int.in_dll(stub, "stub_parameter_bytes")
    made_of: list[tuple[Call, int, str]] = []
    for call in made:
        size.value = ctypes.sizeof(call.params)
        error = getattr(library, call.launcher)(*call.arguments, STREAM)
        made_of.append((call, error, stub.stub_take().decode()))
    return made_of
