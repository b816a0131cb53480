"""A prepared kernel launches with the given grid, stream, attributes and argument."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from ctypes import Structure, c_int, c_void_p

import pytest

from kernels.driver.launch import Kernel


class Params(Structure):
    _fields_ = [("a", c_int), ("b", c_int)]


@pytest.fixture
def found(driver):
    return driver.kernel(driver.load(b"image\0", "x"), "kernel", 0, 50_000)


def launched(stub):
    return [line.split(" ") for line in stub.stub_take().decode().splitlines()]


def test_a_launch_is_what_was_prepared_and_what_is_given(driver, found, stub):
    c_int.in_dll(stub, "stub_parameter_bytes").value = ctypes.sizeof(Params)
    kernel = Kernel(driver, found, 256, 50_000, overlap=True)
    assert kernel((3, 4, 5), c_void_p(0xABC), Params(1, 2)) == 0
    argument = bytes(Params(1, 2)).hex()
    assert launched(stub) == [
        ["kernel", "3,4,5", "256,1,1", "50000", "50000", "0xabc", "6=1;", argument]
    ]


def test_without_overlap_a_launch_has_no_attribute(driver, found, stub):
    kernel = Kernel(driver, found, 32, 0)
    kernel((1, 1, 1), None, Params())
    assert launched(stub)[0][5:7] == ["(nil)", ""]


def test_blocks_that_wait_for_one_another_are_launched_together(driver, found, stub):
    Kernel(driver, found, 32, 0, cooperative=True)((8, 1, 1), None, Params())
    assert launched(stub)[0][6] == "2=1;"


@pytest.mark.parametrize(("overlap", "told"), [(False, "4=8,1,1;"), (True, "6=1;4=8,1,1;")])
def test_a_cluster_is_an_attribute(overlap, told, driver, found, stub):
    Kernel(driver, found, 32, 0, overlap=overlap, cluster=8)((8, 1, 1), None, Params())
    assert launched(stub)[0][6] == told


def test_a_cluster_of_one_block_is_none(driver, found, stub):
    Kernel(driver, found, 32, 0, cluster=1)((8, 1, 1), None, Params())
    assert launched(stub)[0][6] == ""


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(("device", "told"), [(0, 0), (1, 101)])
def test_a_thread_without_a_context_gets_that_of_the_gpu(device, told, bound, driver, found, stub):
    """An autograd thread has no context before PyTorch's first call on it."""
    kernel = Kernel(driver, found, 32, 0, device=device)
    without = c_int.in_dll(stub, "stub_without_context")
    without.value = 1
    launch = kernel.bound((1, 1, 1), (Params(),)) if bound else None
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            call = launch or (lambda stream: kernel((1, 1, 1), stream, Params()))
            assert pool.submit(call, None).result() == told
    without.value = 0
    assert len(launched(stub)) == (0 if told else 2)


def test_threads_do_not_mix_their_launches(driver, found, stub):
    """A driver call releases the interpreter's lock, and the kernel reuses one config."""
    c_int.in_dll(stub, "stub_parameter_bytes").value = ctypes.sizeof(Params)
    kernel = Kernel(driver, found, 32, 0)

    def launch(number):
        for _ in range(100):
            kernel((number, number, number), c_void_p(number), Params(number, number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(launch, range(1, 5)))
    lines = launched(stub)
    assert len(lines) == 400
    for _, grid, _, _, _, stream, _, argument in lines:
        number = int(stream, 16)
        assert grid == f"{number},{number},{number}"
        assert argument == bytes(Params(number, number)).hex()
