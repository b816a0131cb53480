"""Recorded launches are repeated in order, with each call's own addresses."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from ctypes import Structure, c_int, c_longlong, c_void_p

import pytest

from kernels.driver.launch import Kernel
from kernels.driver.sequence import Launch, LaunchSequence, place


class Inner(Structure):
    _fields_ = [("number", c_int), ("address", c_void_p)]


class Params(Structure):
    _fields_ = [("first", c_void_p), ("count", c_longlong), ("inner", Inner * 2)]


@pytest.fixture
def kernel(driver, stub):
    c_int.in_dll(stub, "stub_parameter_bytes").value = ctypes.sizeof(Params)
    found = driver.kernel(driver.load(b"image\0", "x"), "kernel", 0, 50_000)
    return Kernel(driver, found, 256, 50_000, overlap=True, cluster=2)


def params(first: int, second: int | None = None, third: int | None = None) -> Params:
    return Params(first, 77, (Inner * 2)(Inner(1, second), Inner(2, third)))


def launched(stub):
    for line in stub.stub_take().decode().splitlines():
        *fields, argument = line.split(" ")
        yield fields, Params.from_buffer_copy(bytes.fromhex(argument))


def addresses(p: Params) -> tuple[int | None, ...]:
    return p.first, p.inner[0].address, p.inner[1].address


def test_addresses_take_their_places_and_nothing_else_changes(kernel, stub):
    given = params(place(1), place(0, 0x1008) + 0x400, 0x9000)
    sequence = LaunchSequence([Launch(kernel, (3, 4, 5), (given,))])
    given.count = 0  # the record holds a copy
    for call in (1, 2):
        assert sequence(0xABC, [0x10000008 * call, 0x20000000 * call]) == 0
        ((fields, told),) = launched(stub)
        assert fields == [
            "kernel", "3,4,5", "256,1,1", "50000", "50000", "0xabc", "6=1;4=2,1,1;",
        ]  # fmt: skip
        assert addresses(told) == (0x20000000 * call, 0x10000008 * call + 0x400, 0x9000)
        assert (told.count, told.inner[0].number, told.inner[1].number) == (77, 1, 2)


def test_launches_keep_their_order_grids_and_arguments(kernel, stub):
    launches = [Launch(kernel, (n, 1, 1), (params(place(n)),)) for n in (2, 1, 0)]
    LaunchSequence(launches)(None, [0x100, 0x200, 0x300])
    told = [(fields[1], addresses(p)) for fields, p in launched(stub)]
    assert told == [
        ("2,1,1", (0x300, None, None)),
        ("1,1,1", (0x200, None, None)),
        ("0,1,1", (0x100, None, None)),
    ]


def test_an_error_ends_the_sequence():
    ran: list[int] = []

    class Failing:
        def bound(self, grid, arguments):
            def launch(stream):
                ran.append(grid[0])
                return 700 if grid[0] == 2 else 0

            return launch

    launches = [Launch(Failing(), (n, 1, 1), ()) for n in (1, 2, 3)]
    assert LaunchSequence(launches)(None, []) == 700
    assert ran == [1, 2]


def test_threads_do_not_mix_their_addresses(kernel, stub):
    sequence = LaunchSequence([Launch(kernel, (1, 1, 1), (params(place(0), place(0)),))])

    def call(number: int) -> None:
        for _ in range(100):
            sequence(number, [number << 12])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(call, range(1, 5)))
    told = list(launched(stub))
    assert len(told) == 400
    for fields, p in told:
        number = int(fields[5], 16)
        assert addresses(p) == (number << 12, number << 12, None)
