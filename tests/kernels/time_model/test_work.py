"""The model counts exactly what the plans launch: kernels, blocks, threads and shared memory.

The plans run on the CPU, with a CUDA driver that only records launches.
"""

from __future__ import annotations

import ctypes
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks.time_model.describe import without_names
from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.network import abi
from kernels.network.gpu import Gpu, standing_for
from kernels.network.launchers import Network
from kernels.network.sm80 import Sm80Plan
from kernels.network.sm90 import Sm90Plan, layers_apart
from kernels.time_model.cards import find
from kernels.time_model.prediction import calibration
from kernels.time_model.work import Work, work
from models.network_config import CONFIGS
from tests.kernels.driver import stubs
from tests.kernels.driver.standins import write_images

H200 = find("H200").gpu
RUNS = [("full", "sm80"), ("full", "sm80-small"), ("full", "sm90"), ("lite", "sm80")]
SIZES = [(64, 48), (250, 130), (512, 512)]


@pytest.fixture(scope="module")
def network(description, tmp_path_factory, stub_path):
    folder = tmp_path_factory.mktemp("images")
    write_images("network", description, folder)
    images = ImageList.read(folder, "network")
    return Network(images, folder, (9, 0), 0, Driver(str(stub_path)))


@pytest.fixture
def launched(network, stub_path, monkeypatch):
    """Return a function that yields a plan's launches for a network, a size and a GPU."""
    stub = stubs.loaded(stub_path)
    ctypes.c_int.in_dll(stub, "stub_parameter_bytes").value = 8
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())

    def of(name: str, backend: str, size: tuple[int, int], gpu: Gpu) -> list[list[str]]:
        config = CONFIGS[name]
        weights = {name: torch.zeros(shape) for name, shape in config.state_shapes().items()}
        shape = (1, size[1], size[0])
        plan_of: Any = Sm90Plan
        if backend != "sm90":
            plan_of = partial(Sm80Plan, small=backend == "sm80-small")
        with standing_for(gpu), layers_apart():
            plan = plan_of(weights, config, shape, torch.float16, torch.device("cpu"), network)
        lines = []
        for step in plan.steps():
            step(ctypes.c_void_p(1), True)
            lines.append(stub.stub_take().decode().rstrip("\n").split(" "))
        return lines

    return of


def grid_of(fields: list[str]) -> int:
    return math.prod(int(part) for part in fields[1].split(","))


@pytest.mark.parametrize(("multiprocessors", "shared_kb"), [(28, 100), (132, 228)])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "backend"), RUNS)
def test_the_model_counts_the_blocks_that_the_plan_launches(
    name, backend, size, multiprocessors, shared_kb, launched, description
):
    told = abi.traits(description)
    gpu = find("H200").part(multiprocessors, shared_kb).gpu
    counted = work(name, backend, told, size[0], size[1], gpu)
    lines = launched(name, backend, size, gpu)
    assert len(lines) == len(counted) == 16
    for fields, one in zip(lines, counted, strict=True):
        layer = layer_of(told, name, backend, one)
        assert (grid_of(fields), fields[2], fields[3]) == (
            one.blocks,
            f"{layer.threads},1,1",
            str(layer.shared_bytes),
        ), one.layer
        assert one.tiles >= one.blocks


def layer_of(told: abi.Abi, name: str, backend: str, one: Work) -> Any:
    if backend == "sm90":
        layers: Any = told.sm90.precisions["fp16"]
    else:
        layers = told.sm80.networks[name]
    return layers.convs.get(one.kernel) or getattr(layers, one.kernel)


@pytest.mark.parametrize("name", ["full", "lite"])
def test_layers_for_less_shared_memory_do_with_100_kb_on_every_card(name):
    whole, part = (
        work(name, "sm80-small", calibration().traits, 1280, 720, card.gpu)
        for card in (find("H200"), find("H200").part(132, 100))
    )
    assert whole == part


@pytest.mark.parametrize(
    ("tiles", "blocks", "together", "most"),
    [(132, 132, 1, 1), (133, 67, 1, 2), (264, 264, 2, 2), (460, 230, 2, 4), (500, 250, 2, 4)],
)
def test_blocks_and_tiles_are_those_of_the_multiprocessor_with_the_most(
    tiles, blocks, together, most
):
    one = Work("conv", "same", tiles, blocks, 0, 0, 0, 0)
    assert (one.blocks_together(132), one.most_tiles(132)) == (together, most)


@pytest.mark.parametrize(("name", "backend"), RUNS)
def test_the_products_are_the_networks_and_some_padding(name, backend):
    """Upsampling leaves four of nine taps, or six if two columns share a product."""
    width, height = 1280, 720
    config = CONFIGS[name]
    outer, middle, inner = config.widths
    pixels = width * height
    published = config.multiply_adds(width, height)
    saved = 5 * (inner * middle * pixels // 4 + middle * outer * pixels)
    counted = work(name, backend, calibration().traits, width, height, H200)
    products = sum(one.products * one.tiles for one in counted)
    # The edge layers have 16 outputs, which five columns of three colors do not fill.
    most = 1.25 if name == "full" else 1.5
    assert published - saved <= products < most * (published - saved)


def test_layers_move_their_activations_once():
    width, height = 512, 512
    first, *_, last = work("full", "sm80", calibration().traits, width, height, H200)
    pixels = width * height
    assert (first.bytes_in, first.bytes_out) == (3 * pixels, 64 * pixels)
    assert (last.bytes_in, last.bytes_out) == (64 * pixels, 3 * pixels)
    layers = {
        one.layer: one for one in work("full", "sm80", calibration().traits, width, height, H200)
    }
    plain, summed = layers["res2.conv2"], layers["res2.conv1"]
    assert (summed.bytes_in, summed.bytes_out) == (2 * plain.bytes_in, 2 * plain.bytes_out)


def test_an_unknown_backend_is_one_sentence():
    with pytest.raises(ValueError, match=r"^the time model was not fitted to the backend sm100$"):
        work("full", "sm100", calibration().traits, 64, 64, H200)


def test_the_calibration_is_of_the_kernels_as_they_are(description):
    """If this fails, run `python -m benchmarks.time_model describe`, then measure and fit again."""
    assert abi.traits(without_names(description)) == calibration().traits


def test_plans_can_be_made_for_another_gpu(monkeypatch):
    properties = SimpleNamespace(
        major=9,
        minor=0,
        shared_memory_per_block_optin=232_448,
        shared_memory_per_multiprocessor=233_472,
        multi_processor_count=132,
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    # No machine has so many GPUs, so no other test queries this one.
    device, other = torch.device("cuda", 61), replace(H200, multiprocessors=28)
    with standing_for(other):
        assert Gpu.of(device) == other
    assert Gpu.of(device) == H200
