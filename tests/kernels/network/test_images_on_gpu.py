"""On a GPU, the bundled images paint the same bits as a local build."""

from __future__ import annotations

import pytest
import torch

from kernels.jit import build, prebuilt
from kernels.jit.libraries import LIBRARIES
from kernels.network import dispatch
from kernels.network.dispatch import BACKENDS, OF_INT8, available, plan_for
from kernels.network.shapes import WITH_KERNELS
from kernels.self_test.network import random_weights, self_test
from kernels.table.registry import NETWORK
from tests.kernels.network.ptx import turing_network

pytestmark = pytest.mark.gpu

SIZES = [(2, 37, 54), (1, 512, 512), (1, 720, 1280)]
PRECISIONS = {
    "fp32": (torch.float32, {}),
    "tf32": (torch.float32, {"tf32": True}),
    "fp16": (torch.float16, {}),
    "bf16": (torch.bfloat16, {}),
    "int8": (torch.float16, {"int8": True}),
}


@pytest.fixture(scope="module")
def device():
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture(scope="module")
def compiled():
    if not build.load(NETWORK):
        pytest.skip(f"the network cannot be compiled here: {build.reason(NETWORK)}")
    if build.origin(NETWORK) != "compiled on this machine":
        pytest.skip("the network in use is an image; STYLEFORGE_BUILD=1 compiles it here")
    return dispatch.loaded(torch.device("cuda"))


@pytest.fixture(scope="module")
def images(device):
    try:
        image = prebuilt.find(LIBRARIES[NETWORK])
    except prebuilt.NoImage as reason:
        pytest.skip(f"there are no images: {reason}")
    return image.load().on(device)


@pytest.mark.parametrize("backend", [row.name for row in (*BACKENDS, *OF_INT8)])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("network", WITH_KERNELS)
def test_images_paint_what_is_compiled_here(
    network, shape, precision, backend, device, compiled, images
):
    (dtype, allowed), network = PRECISIONS[precision], WITH_KERNELS[network]
    int8 = "int8" in allowed
    if backend not in [row.name for row in available(network, device, dtype, compiled, int8=int8)]:
        pytest.skip(f"{backend} does not run {precision} here")
    generator = torch.Generator().manual_seed(1)
    weights = random_weights(network, generator)
    frames = torch.randint(0, 256, (*shape, 3), dtype=torch.uint8, generator=generator)
    x = frames.to(device).permute(0, 3, 1, 2).to(dtype)
    made = []
    with torch.inference_mode():
        for library in (compiled, images):
            plan = plan_for(
                weights, network, shape, dtype, device, library, **allowed, backend=backend
            )
            values = plan(x)
            plan.frames.copy_(frames)
            plan.replay()
            made.append((values, plan.pictures.clone(), plan.ranges.clone()))
    for theirs, ours in zip(*made, strict=True):
        assert torch.equal(theirs, ours)


def test_the_images_pass_the_self_test(images, device):
    assert self_test(images, device) > 30


def test_the_layers_for_turing_pass_the_self_test_on_a_newer_gpu(device):
    assert self_test(turing_network(device.index), device) > 50


def test_the_images_are_used_once_they_were_tested_in_a_process_of_their_own(
    images, monkeypatch, tmp_path
):
    monkeypatch.delenv("STYLEFORGE_BUILD", raising=False)
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path))
    for name in ("_reasons", "_origins", "_handles"):
        monkeypatch.setattr(build, name, {})
    monkeypatch.setattr(build, "_looked", set())
    assert not build.load_built(NETWORK)
    assert build.reason(NETWORK) == build.NOT_TESTED
    assert build.load(NETWORK), build.reason(NETWORK)
    assert build.origin(NETWORK).startswith("image ")
    for network in WITH_KERNELS.values():
        assert dispatch.unavailable_reason(network, torch.device("cuda"), torch.float16) == ""
