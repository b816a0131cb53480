"""GPU blocks comb tiles of texture like one thread per pixel, emulated on the CPU."""

from __future__ import annotations

import ctypes
import json
from ctypes import byref
from typing import NamedTuple

import numpy as np
import pytest
import torch

from kernels.frames.combing import Comb
from kernels.frames.structs import CombParams, TextureParams
from kernels.frames.texture import TextureHistory
from tests.kernels.ops.emulated import Launcher, built_or_skipped
from utils.stroke_directions import FOLLOW, HAND, SWIRL, Handle

AXES = """
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_axes(const styleforge::CombParams c) {
    using namespace styleforge;
    __shared__ AxesWork work;
    measure_axes(c, blockIdx.y * kAxisRows, blockIdx.x * kAxisColumns, work);
}
"""
COMB = """
extern "C" __global__ void __launch_bounds__(styleforge::kCombTeam)
    emulated_comb(const styleforge::TextureParams p, const styleforge::CombParams c) {
    using namespace styleforge;
    __shared__ CombWork work;
    comb_tile(p, c, blockIdx.y * kCombPixels, blockIdx.x * kCombPixels, work);
}
"""
COMBS = {
    "follow": Comb(FOLLOW),
    "longest": Comb(FOLLOW, 1.0),
    "swirl": Comb(SWIRL, 0.7),
    "shortest": Comb(30.0, 0.0),
    "by hand": Comb(HAND, 0.6, (Handle(0.2, 0.3, 30.0), Handle(0.8, 0.7, 120.0))),
}
SIZES = [(128, 96), (131, 77), (61, 200), (9, 7), (1, 1)]


class Begun(NamedTuple):
    """A stream after two frames, and the last one's parameters and pixels."""

    history: TextureHistory
    p: TextureParams
    combs: CombParams
    given: torch.Tensor
    made: torch.Tensor


@pytest.fixture(scope="module")
def axes_library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("axes"), "frames/native/axes.cuh", AXES)


@pytest.fixture(scope="module")
def comb_library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("comb"), "frames/native/comb.cuh", COMB)


@pytest.fixture
def told(host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    frame = json.loads(host.styleforge_frames_abi())["frame"]
    return {"threads": frame["threads"], **frame["texture"]}


@pytest.fixture
def begun(host, told):
    """Return a function that follows two equal frames of a size."""

    def begin(size: tuple[int, int], comb: Comb) -> Begun:
        history = TextureHistory(*size, torch.device("cpu"), told)
        history.keep_field()
        random = np.random.default_rng(size[0]).normal(120, 3, (*size, 3))
        means = random.cumsum(0) / np.arange(1, size[0] + 1)[:, None, None]
        given = torch.from_numpy(means.clip(0, 255).astype(np.uint8))
        made = torch.zeros_like(given)

        def frame() -> Begun:
            addresses = given.data_ptr(), made.data_ptr()
            p, combs = history.params(*addresses, 1.0, continues=True, comb=comb)
            assert combs is not None
            host.frame_texture_cells(byref(p))
            host.frame_texture_flat(byref(p), byref(combs))
            host.frame_texture_comb(byref(p), byref(combs))
            return Begun(history, p, combs, given, made)

        frame()
        begun = frame()
        history.offset.copy_(torch.tensor([3.3, -1.7]))
        return begun

    return begin


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", COMBS)
def test_a_block_measures_the_axes_of_single_pixels(name, size, axes_library, begun, told):
    history, _, combs, _, _ = begun(size, COMBS[name])
    expected = history._axes.clone()
    history._axes.zero_()
    rows, columns = history.tracked.shape
    grid = -(-columns // told["axis_columns"]), -(-rows // told["axis_rows"]), 1
    before = history._kept.clone()
    Launcher(axes_library)("emulated_axes", grid, told["team"], combs)
    assert torch.equal(history._kept, before)
    if name == "swirl":
        assert history._axes.abs().max() > 0
    else:
        assert torch.allclose(
            history._axes, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max())
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", COMBS)
def test_a_block_adds_the_combed_texture_of_single_pixels(
    name, size, comb_library, begun, host, told
):
    history, p, combs, given, made = begun(size, COMBS[name])
    assert history.field is not None
    history.field.zero_()
    host.frame_texture_comb(byref(p), byref(combs))
    expected, field = made.clone(), history.field.clone()
    made.zero_()
    history.field.zero_()
    grid = *(-(-side // told["comb_pixels"]) for side in size[::-1]), 1
    Launcher(comb_library)("emulated_comb", grid, told["comb_team"], p, combs)
    assert torch.allclose(field, history.field, atol=0.02)
    apart = (expected.int() - made.int()).abs()
    assert apart.max() <= 1
    assert (apart > 0).float().mean() < 0.01
    assert not torch.equal(made, given)
