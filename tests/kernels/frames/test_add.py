"""GPU blocks add texture to tiles like one thread per pixel, emulated on the CPU."""

from __future__ import annotations

import ctypes
import json
from ctypes import byref

import numpy as np
import pytest
import torch

from kernels.frames.structs import CombParams
from kernels.frames.texture import TextureHistory
from tests.kernels.ops.emulated import Launcher, built_or_skipped

MORE = """
extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    emulated_add(const styleforge::TextureParams p) {
    using namespace styleforge;
    const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) / kWarp * kWarp;
    if (column < p.width) add_texture(p, blockIdx.y * kAddRows, column);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("add"), "frames/native/add.cuh", MORE)


@pytest.fixture
def told(host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    frame = json.loads(host.styleforge_frames_abi())["frame"]
    return {"threads": frame["threads"], **frame["texture"]}


def picture(height: int, width: int, first: int) -> torch.Tensor:
    """Return bytes of a [height, width, 3] picture that begin `first` bytes into their memory."""
    count = height * width * 3
    random = np.random.default_rng(count).integers(0, 256, count + first, dtype=np.uint8)
    random[: count // 2] //= 32  # some of them go below 0
    return torch.from_numpy(random)[first:]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("size", [(5, 520), (7, 1027), (9, 3), (3, 512), (8, 36)], ids=str)
def test_a_block_adds_the_texture_of_single_pixels(size, first, library, host, told):
    height, width = size
    history = TextureHistory(height, width, torch.device("cpu"), told)
    history.keep_field()
    given = picture(height, width, first)
    one, other = torch.zeros(2, given.numel(), dtype=torch.uint8)
    p, _ = history.params(given.data_ptr(), one.data_ptr(), 1.0, continues=False)
    host.frame_texture_cells(byref(p))
    host.frame_texture_flat(byref(p), byref(CombParams()))
    history._flat.copy_(torch.rand(history._flat.shape, generator=torch.Generator().manual_seed(0)))
    host.frame_texture_add(byref(p))
    assert history.field is not None
    field = history.field.clone()
    history.field.zero_()
    p.textured = other.data_ptr()
    Launcher(library)("emulated_add", history.add_grid, told["threads"], p)
    assert torch.allclose(field, history.field, atol=2e-3)
    apart = (one.int() - other.int()).abs()
    assert apart.max() <= 1
    assert (apart > 0).float().mean() < 0.01
    assert not torch.equal(one, given)
