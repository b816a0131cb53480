"""The launchers of kernels for any model choose the best kernel and the number of blocks."""

from __future__ import annotations

from ctypes import Structure
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit.errors import BuildError
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.ops.general.elementwise.launchers import LibraryKernels
from kernels.ops.general.elementwise.layout import described, walk
from tests.kernels.driver import stubs
from tests.kernels.driver.standins import write_images

MULTIPROCESSORS = 132


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    described = stubs.description_once("general", tmp_path_factory.mktemp("abi"))
    folder = tmp_path_factory.mktemp("images")
    write_images("general", described, folder)
    return folder


@pytest.fixture
def library(folder, tmp_path):
    driver = Driver(str(stubs.driver_stub(tmp_path)))
    images = ImageList.read(folder, "general")
    return LibraryKernels(images, folder, (9, 0), 0, driver)


def launched(library: LibraryKernels, monkeypatch, *inputs: Tensor, function: str = "add_relu"):
    told: list[tuple[str, int, int]] = []

    def kernel(source: str, name: str, threads: int, **_: Any):
        def launch(grid: tuple[int, int, int], _stream: int, _p: Structure) -> int:
            assert grid[1:] == (1, 1)
            told.append((name, threads, grid[0]))
            return 0

        assert source == "elementwise.cu"
        return launch

    monkeypatch.setattr(library._library, "kernel", kernel)
    shape = torch.broadcast_shapes(*(x.shape for x in inputs))
    found = walk(shape, torch.empty(shape).stride(), [(x.shape, x.stride()) for x in inputs])
    dtype = inputs[0].dtype
    p = described(found, FUNCTIONS[function].number, TYPES[dtype], backward=False)
    for number, x in enumerate(inputs):
        p.inputs[number] = x.data_ptr()
    p.outputs[0] = 1 << 12
    name = str(dtype).removeprefix("torch.")
    assert library.elements(p, found, name, MULTIPROCESSORS, 0) == 0
    (only,) = told
    return only


def test_contiguous_tensors_take_vectors(library, monkeypatch):
    x = torch.zeros(64, 64)
    name, threads, blocks = launched(library, monkeypatch, x, x)
    assert name.endswith("AddRelu, float, false, 4>")
    assert blocks == 64 * 64 // (2 * 4) // threads
    half = x.half()
    assert launched(library, monkeypatch, half, half)[0].endswith("__half, false, 8>")
    assert launched(library, monkeypatch, x.double(), x.double())[0].endswith("double, false, 2>")


def test_a_row_and_a_column_take_vectors_too(library, monkeypatch):
    x = torch.zeros(6, 64)
    for other in (torch.zeros(64), torch.zeros(6, 1), torch.zeros(())):
        assert launched(library, monkeypatch, x, other)[0].endswith("false, 4>")


def test_what_lies_otherwise_is_read_one_by_one(library, monkeypatch):
    x = torch.zeros(64, 64)
    for other in (x.t(), torch.zeros(64 * 64 + 1)[1:].view(64, 64), torch.zeros(64, 128)[:, ::2]):
        assert launched(library, monkeypatch, x, other)[0].endswith("false, 1>")


def test_there_are_no_more_blocks_than_the_gpu_runs_in_two_turns(library, monkeypatch):
    x = torch.zeros(1).expand(1 << 28)
    assert launched(library, monkeypatch, x, x)[2] == 2 * 5 * MULTIPROCESSORS
    rows, row = torch.zeros(1, 1024).expand(1 << 18, 1024), torch.zeros(1024)
    assert launched(library, monkeypatch, rows, row)[2] == 2 * 5 * MULTIPROCESSORS
    single = torch.zeros(1)
    assert launched(library, monkeypatch, single, single)[2] == 1


def test_a_block_has_one_tile_of_tensors_that_lie_in_one_dimension(library, monkeypatch):
    x = torch.empty(1 << 24)  # no page of it is touched
    tile = 256 * 2 * 4
    assert launched(library, monkeypatch, x, x)[2] == x.numel() // tile
    longer = torch.empty(x.numel() + 4)
    assert launched(library, monkeypatch, longer, longer)[2] == x.numel() // tile + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_a_block_has_one_tile_of_rows_with_a_bias(library, monkeypatch, dtype):
    rows, bias = torch.empty(1 << 14, 1024, dtype=dtype), torch.zeros(1024, dtype=dtype)
    tile = 256 * 4 * (16 // rows.element_size())
    for function in ("bias_gelu", "bias_gelu_tanh"):
        found = launched(library, monkeypatch, rows, bias, function=function)
        assert found[2] == rows.numel() // tile
    number = torch.zeros(1, dtype=dtype)
    found = launched(library, monkeypatch, rows, bias, number, function="prelu_bias")
    assert found[2] == rows.numel() // tile


def test_a_gpu_that_no_image_is_for_is_an_error(folder, tmp_path):
    driver = Driver(str(stubs.driver_stub(tmp_path)))
    with pytest.raises(BuildError, match="compute capability"):
        LibraryKernels(ImageList.read(folder, "general"), folder, (5, 0), 0, driver)
