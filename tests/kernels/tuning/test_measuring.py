"""A single layer, thread by thread on the CPU: its output is compared with another layer's."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from kernels.driver.compiling import sources_of
from kernels.driver.driver import Driver
from kernels.jit.libraries import LIBRARIES
from kernels.network import launchers
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import ENDS, TunedLayer, described
from kernels.self_test.network import random_weights
from kernels.tuning.layer_plan import BLOCKS, LayerPlan
from kernels.tuning.measuring import difference
from tests.kernels.driver.standins import write_images
from tests.kernels.network.emulated import EmulatedKernels, EmulatedLibrary

SHAPE = 1, 21, 38  # pictures, height, width: none is a multiple of a tile
CPU = torch.device("cpu")
# A network, a role, and a library layer that computes the same with other tiles.
PAIRS = [
    ("lite", "same", "same_wide"),
    *(
        pytest.param("full", role, f"{role}_small", marks=pytest.mark.full)
        for role in ("down1", "same", "up2", "first", "last")
    ),
]


@pytest.fixture(scope="module")
def kernels(description, tmp_path_factory):
    sources = {source.name: source for source in sources_of(LIBRARIES["network"], description)}
    names = [name for name in sources["network_sm80.cu"].kernels if "__half" in name]
    return EmulatedKernels(tmp_path_factory.mktemp("emulated"), names)


@pytest.fixture
def plans(kernels, description, stub_path, tmp_path, monkeypatch):
    """Return plans with the library's layer for a role, and with another layer in its place."""
    library = EmulatedLibrary(kernels)
    monkeypatch.setattr(launchers, "DriverLibrary", lambda *_: library)
    monkeypatch.setattr(torch.cuda, "device", lambda _device: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: SimpleNamespace(cuda_stream=0))
    # Few multiprocessors, so that a block computes several tiles.
    monkeypatch.setattr(Gpu, "of", lambda _device: Gpu((8, 0), 166_912, 167_936, 2))

    def made(network: str, role: str, other: str, **changes: int) -> tuple[LayerPlan, LayerPlan]:
        layers = description["sm80"]["networks"][network]
        row = layers[other] if role in ENDS else layers["convs"][other]
        row = {key: value for key, value in row.items() if key != "kind"} | changes
        one = TunedLayer(network, False, 1, 1, role, other, row, 0.0, 0.0)
        sm80 = description["sm80"]
        sm80 = {**sm80, "tuned": described(sm80, [(network, False, (1, 1), [one])])}
        images = write_images("network", description, tmp_path)
        images = replace(images, description={**description, "sm80": sm80})
        on_cpu = Network(images, tmp_path, (9, 0), 0, Driver(str(stub_path)))
        shape = replace(WITH_KERNELS[network], num_residual_blocks=BLOCKS)
        weights = random_weights(shape, torch.Generator().manual_seed(0))
        told = on_cpu.abi.sm80
        tuned, shipped = (
            LayerPlan(role, each, weights, shape, SHAPE, torch.float16, CPU, on_cpu)
            for each in (told.tuned[0].layers, told.networks[network])
        )
        return tuned, shipped

    return made


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(("network", "role", "other"), PAIRS)
@torch.inference_mode()
def test_layers_of_other_tiles_store_the_same_within_rounding(network, role, other, plans):
    tuned, shipped = plans(network, role, other)
    assert difference(tuned, shipped) == ""
    for name, stored in shipped.stored.items():
        # Separate launches write values and bytes; the last one writes bytes.
        assert bool(stored.any()) == (name != "values"), name
        assert stored.data_ptr() != tuned.stored[name].data_ptr()
    stored = {"first": {"y"}, "last": {"values", "bytes", "ranges"}}
    layers = {"same": {"res2.conv1", "res2.conv1 activated", "res2.conv2"}, "down1": {"conv2"}}
    assert shipped.stored.keys() == {**stored, **layers, "up2": {"deconv2"}}[role]
    assert len(shipped.statistics()) == {"last": 0, "same": 2}.get(role, 1)


@pytest.mark.slow
@torch.inference_mode()
def test_what_an_earlier_candidate_left_is_not_compared(plans):
    tuned, shipped = plans("lite", "last", "last")
    assert difference(tuned, shipped) == ""
    another, _ = plans("lite", "last", "last")
    assert difference(another, shipped) == ""


@pytest.mark.slow
@torch.inference_mode()
def test_statistics_are_those_of_what_is_stored(plans):
    plan, other = plans("lite", "same", "same_wide")
    difference(plan, other)
    values = plan.stored["res2.conv2"].double().reshape(SHAPE[0], -1, 48)
    told = plan.statistics()["res2.in2"]
    assert torch.allclose(told[..., 0], values.mean(1), atol=1e-3)
    assert torch.allclose(told[..., 1], values.var(1, correction=0), rtol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "change", "name"),
    [
        ("first", {"tile_w": 64}, "y"),
        ("first", {"tile_h": 32}, "y"),
        ("last", {"tile_h": 32}, "values"),
        ("same", {"block_k": 48}, "res2.conv1"),
    ],
)
@torch.inference_mode()
def test_a_layer_that_is_described_falsely_stores_other_values(role, change, name, plans):
    wrong, shipped = plans("lite", role, role, **change)
    assert difference(wrong, shipped) == f"stores different values of {name}"


@pytest.mark.slow
@torch.inference_mode()
def test_other_statistics_are_noticed(plans, monkeypatch):
    tuned, shipped = plans("lite", "same", "same_wide")
    told = tuned.statistics
    monkeypatch.setattr(
        tuned, "statistics", lambda: {**told(), "res2.in1": 1.01 * told()["res2.in1"]}
    )
    assert difference(tuned, shipped) == "stores different statistics of res2.in1"
