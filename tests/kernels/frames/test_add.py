"""A GPU block adds texture to a row like one thread per pixel, emulated on the CPU."""

from __future__ import annotations

import ctypes
import json
from ctypes import byref

import numpy as np
import pytest
import torch

from kernels.frames.texture import TextureHistory
from tests.kernels.ops.emulated import Launcher, built_or_skipped

THREADS = 128
MORE = """
extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    emulated_add(const styleforge::TextureParams p) {
    __shared__ int levels[styleforge::kAddPixels];
    styleforge::add_texture(p, blockIdx.y, blockIdx.x * styleforge::kAddPixels, levels);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("add"), "frames/native/add.cuh", MORE)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("size", [(5, 520), (7, 1027), (9, 3), (3, 512)], ids=str)
def test_a_block_adds_the_texture_of_single_pixels(size, first, library, host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    told = json.loads(host.styleforge_frames_abi())["frame"]["texture"]
    height, width = size
    history = TextureHistory(height, width, torch.device("cpu"), told)
    history.keep_field()
    count = height * width * 3
    random = np.random.default_rng(count).integers(0, 256, count + first, dtype=np.uint8)
    random[: count // 2] //= 32  # some of them go below 0
    given = torch.from_numpy(random)[first:]
    one, other = torch.zeros(2, count, dtype=torch.uint8)
    p, _ = history.params(given.data_ptr(), one.data_ptr(), 1.0, continues=False)
    host.frame_texture_cells(byref(p))
    host.frame_texture_flat(byref(p))
    history._flat.fill_(1)
    host.frame_texture_add(byref(p))
    assert history.field is not None
    field = history.field.clone()
    history.field.zero_()
    p.textured = other.data_ptr()
    grid = (-(-width // told["add_pixels"]), height, 1)
    Launcher(library)("emulated_add", grid, THREADS, p)
    assert torch.equal(one, other)
    assert torch.equal(field, history.field)
    assert not torch.equal(one, given)
