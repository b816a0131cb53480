"""What the model counts is what the plans launch: kernels, blocks, threads and shared memory.

The plans are made on the processor, over a CUDA driver that only writes down each launch.
"""

from __future__ import annotations

import ctypes
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.network import abi
from kernels.network.gpu import Gpu, limited_to
from kernels.network.launchers import Network
from kernels.network.sm80 import Sm80Plan
from kernels.network.sm90 import Sm90Plan
from kernels.time_model.prediction import calibration
from kernels.time_model.work import work
from models.network_config import FULL
from tests.kernels.driver import stubs
from tests.kernels.driver.standins import write_images
from tools.time_model.describe import without_names

SIZES = [(64, 48), (250, 130), (512, 512)]


@pytest.fixture(scope="module")
def network(description, tmp_path_factory, stub_path):
    folder = tmp_path_factory.mktemp("images")
    write_images("network", description, folder)
    images = ImageList.read(folder, "network")
    return Network(images, folder, (9, 0), 0, Driver(str(stub_path)))


@pytest.fixture
def launched(network, stub_path, monkeypatch):
    """The launches of a plan for a size and a number of multiprocessors."""
    stub = stubs.loaded(stub_path)
    ctypes.c_int.in_dll(stub, "stub_parameter_bytes").value = 8
    weights = {name: torch.zeros(shape) for name, shape in FULL.state_shapes().items()}
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())

    def of(backend: str, size: tuple[int, int], multiprocessors: int) -> list[list[str]]:
        gpu = Gpu((9, 0), 232_448, multiprocessors)
        monkeypatch.setattr(Gpu, "of", lambda _: gpu)
        shape = (1, size[1], size[0])
        plan_of: Any = Sm90Plan
        if backend != "sm90":
            plan_of = partial(Sm80Plan, small=backend == "sm80-small")
        plan = plan_of(weights, 5, shape, torch.float16, torch.device("cpu"), network)
        lines = []
        for step in plan.steps():
            step(ctypes.c_void_p(1), True)
            lines.append(stub.stub_take().decode().rstrip("\n").split(" "))
        return lines

    return of


def grid_of(fields: list[str]) -> int:
    return math.prod(int(part) for part in fields[1].split(","))


@pytest.mark.parametrize("multiprocessors", [28, 132])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("backend", ["sm80", "sm80-small", "sm90"])
def test_the_model_counts_the_blocks_that_the_plan_launches(
    backend, size, multiprocessors, launched, description
):
    told = abi.traits(description)
    counted = work(backend, told, size[0], size[1], multiprocessors)
    lines = launched(backend, size, multiprocessors)
    assert len(lines) == len(counted) == 16
    for fields, one in zip(lines, counted, strict=True):
        blocks = one.blocks
        if backend == "sm90":  # persistent blocks share the tiles evenly
            blocks = -(-blocks // -(-blocks // multiprocessors))
        assert (grid_of(fields), fields[2], fields[3]) == (
            blocks,
            f"{one.threads},1,1",
            str(one.shared_bytes),
        ), one.layer


@pytest.mark.parametrize("backend", ["sm80", "sm80-small", "sm90"])
def test_the_products_are_the_networks_and_some_padding(backend):
    """After upsampling, four taps of nine remain, and six where two columns share a product."""
    width, height = 1280, 720
    outer, middle, inner = FULL.widths
    pixels = width * height
    published = FULL.multiply_adds(width, height)
    saved = 5 * (inner * middle * pixels // 4 + middle * outer * pixels)
    counted = work(backend, calibration().traits, width, height, 132)
    products = sum(one.products * one.blocks for one in counted)
    assert published - saved <= products < 1.25 * (published - saved)


def test_layers_move_their_activations_once():
    width, height = 512, 512
    first, *_, last = work("sm80", calibration().traits, width, height, 132)
    pixels = width * height
    assert (first.bytes_in, first.bytes_out) == (3 * pixels, 64 * pixels)
    assert (last.bytes_in, last.bytes_out) == (64 * pixels, 3 * pixels)
    layers = {one.layer: one for one in work("sm80", calibration().traits, width, height, 132)}
    plain, summed = layers["res2.conv2"], layers["res2.conv1"]
    assert (summed.bytes_in, summed.bytes_out) == (2 * plain.bytes_in, 2 * plain.bytes_out)


def test_an_unknown_backend_is_one_sentence():
    with pytest.raises(ValueError, match=r"^the model of time does not know the backend sm100$"):
        work("sm100", calibration().traits, 64, 64, 132)


def test_the_calibration_is_of_the_kernels_as_they_are(description):
    """Otherwise run `python -m tools.time_model describe`, then measure and fit anew."""
    assert abi.traits(without_names(description)) == calibration().traits


def test_every_kernel_of_the_general_path_has_its_resources():
    told = calibration()
    assert set(told.resources) == {*told.traits.sm80.convs, "first", "last"}
    for resources in told.resources.values():
        assert 32 <= resources.registers <= 255


def test_plans_can_be_made_for_a_part_of_a_gpu(monkeypatch):
    properties = type(
        "Properties",
        (),
        {
            "major": 9,
            "minor": 0,
            "shared_memory_per_block_optin": 232_448,
            "multi_processor_count": 132,
        },
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    whole, device = Gpu((9, 0), 232_448, 132), torch.device("cuda")
    with limited_to(28):
        assert Gpu.of(device) == replace(whole, multiprocessors=28)
    assert Gpu.of(device) == whole
