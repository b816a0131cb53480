"""A GPU block measures the motion of a scene like a single thread, emulated thread by thread."""

from __future__ import annotations

import ctypes
import json
import math
from ctypes import byref

import numpy as np
import pytest
import torch

from app.sources.scene import render
from kernels.frames.structs import CombParams
from kernels.frames.texture import TextureHistory
from tests.kernels.ops.emulated import Launcher, built_or_skipped
from utils.opencv import cv2

TEAM, BLOCKS = 512, 8  # threads per block, blocks per cluster
VIEW = 90, 160  # height, width
MORE = """
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_follow(const styleforge::TextureParams p) {
    using namespace styleforge;
    __shared__ MotionWork work;
    follow(Blocks<1>{{static_cast<int>(threadIdx.x)}}, p, work);
}
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_sums(float* told, long long rows, long long columns) {
    using namespace styleforge;
    const int rank = static_cast<int>(threadIdx.x);
    float values[5] = {};
    for (int again = 0; again < 2; ++again)
        Blocks<1>{{rank}}.sum(rows, columns, values, [](int row, int column, float (&sums)[5]) {
            sums[0] += 1, sums[1] += row, sums[2] += column, sums[3] += row * column;
            sums[4] += column == 0;
        });
    for (int i = 0; i < 5; ++i) told[rank * 5 + i] = values[i];
}
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_rows(const uint8_t* one, const uint8_t* other, long long count, int* told) {
    using namespace styleforge;
    const Blocks<1> team = {{static_cast<int>(threadIdx.x)}};
    told[threadIdx.x] = row_difference(team, one, other, count);
}
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_copy(const uint8_t* from, uint8_t* to, long long count) {
    using namespace styleforge;
    copy_bytes(Blocks<1>{{static_cast<int>(threadIdx.x)}}, from, to, count);
}
"""


TOGETHER = """
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_together(const styleforge::TextureParams p, float* told) {
    using namespace styleforge;
    __shared__ MotionWork work;
    const int rank = static_cast<int>(threadIdx.x);
    const Blocks<kMotionBlocks> team = {{rank}, cluster_rank()};
    follow(team, p, work);
    float values[5] = {};
    for (int again = 0; again < 2; ++again)
        team.sum(70, 61, values, [](int row, int column, float (&sums)[5]) {
            sums[0] += 1, sums[1] += row, sums[2] += column, sums[3] += row * column;
            sums[4] += column == 0;
        });
    for (int i = 0; i < 5; ++i) told[(cluster_rank() * kTeam + rank) * 5 + i] = values[i];
}
extern "C" __attribute__((visibility("default")))
const char* follow_together(const styleforge::TextureParams* p, float* told) {
    static std::string failure;
    failure = emulator::run_cluster([=] { emulated_together(*p, told); }, styleforge::kMotionBlocks,
                                    styleforge::kTeam);
    return failure.c_str();
}
"""
HALVES = """
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    emulated_halves(uint8_t* from, uint8_t* to, long long height, long long width) {
    using namespace styleforge;
    const Blocks<1> team = {{static_cast<int>(threadIdx.x)}};
    const int rows = static_cast<int>(height), columns = static_cast<int>(width);
    halve(team, GrayPicture{from, rows, columns},
          GrayPicture{to, max(rows / 2, 1), max(columns / 2, 1)});
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built_or_skipped(
        tmp_path_factory.mktemp("block"), "frames/native/block.cuh", MORE + HALVES
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return a function that follows a frame with a cluster and returns each thread's sums."""
    folder = tmp_path_factory.mktemp("cluster")
    built = built_or_skipped(folder, "frames/native/block.cuh", TOGETHER, at_once=True)
    built.follow_together.restype = ctypes.c_char_p

    def follow(p):
        told = torch.zeros(BLOCKS, TEAM, 5)
        failure = built.follow_together(byref(p), ctypes.c_void_p(told.data_ptr()))
        assert not failure, failure.decode()
        return told

    return follow


@pytest.mark.parametrize("size", [(1, 1), (3, 128), (200, 7), (72, 100), (5, 0), (0, 5)], ids=str)
def test_every_thread_learns_the_sums_of_all_pixels(size, library):
    told = torch.zeros(TEAM, 5)
    Launcher(library)("emulated_sums", 1, TEAM, told, *size)
    (rows, columns), pixels = size, math.prod(size)
    row, column = np.indices((rows, columns))
    once = pixels, row.sum(), column.sum(), (row * column).sum(), rows if columns else 0
    # The second time, each thread adds to its values from the first time.
    expected = [float(each) * (1 + TEAM) for each in once]
    assert told.tolist() == [pytest.approx(expected)] * TEAM


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 30, 32])
def test_rows_are_as_far_apart_as_their_bytes(count, library):
    random = np.random.default_rng(count)
    for first, second in np.ndindex(4, 4):
        one, other = torch.from_numpy(random.integers(0, 256, (2, 64), dtype=np.uint8))
        told = torch.full((TEAM,), -1, dtype=torch.int32)
        rows = one[first : first + count], other[second : second + count]
        Launcher(library)("emulated_rows", 1, TEAM, one[first:], other[second:], count, told)
        expected = sum(abs(int(a) - int(b)) for a, b in zip(*rows, strict=True))
        assert told.tolist() == [expected] * TEAM


@pytest.mark.parametrize(("first", "count"), [(0, 9216), (0, 9215), (16, 5), (3, 9216), (8, 700)])
def test_bytes_of_any_alignment_are_copied_and_none_beside_them(first, count, library):
    given = torch.from_numpy(np.random.default_rng(count).integers(0, 255, 9300, dtype=np.uint8))
    told = torch.full((9300,), 255, dtype=torch.uint8)
    Launcher(library)("emulated_copy", 1, TEAM, given[first:], told[first:], count)
    expected = torch.full((9300,), 255, dtype=torch.uint8)
    expected[first : first + count] = given[first : first + count]
    assert torch.equal(told, expected)


@pytest.mark.parametrize("size", [(72, 128), (36, 64), (7, 16), (8, 12), (1, 5), (5, 1)], ids=str)
def test_a_picture_is_halved_by_words_as_by_pixels(size, library):
    pixels = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    rows, columns = (max(side // 2, 1) for side in size)
    told = torch.zeros(rows * columns, dtype=torch.uint8)
    Launcher(library)("emulated_halves", 1, TEAM, torch.from_numpy(pixels.copy()), told, *size)
    below, beside = (
        np.minimum(np.arange(n) * 2 + 1, m - 1) for n, m in zip((rows, columns), size, strict=True)
    )
    even = pixels[: 2 * rows : 2].astype(int), pixels[below].astype(int)
    upper, lower = (each[:, : 2 * columns : 2] + each[:, beside] for each in even)
    assert told.reshape(rows, columns).tolist() == ((upper + lower + 2) >> 2).tolist()


def test_a_block_follows_a_scene_as_one_thread_does(library, host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    told = json.loads(host.styleforge_frames_abi())["frame"]["texture"]
    launch, kernels = (
        Launcher(library),
        [TextureHistory(*VIEW, torch.device("cpu"), told) for _ in range(2)],
    )
    scene = cv2.resize(render(1.0, 640, 360), (320, 180))
    for number in range(4):
        left, top = 20 + 5 * number, 30 - 2 * number
        view = np.ascontiguousarray(scene[top : top + VIEW[0], left : left + VIEW[1]])
        address = view.ctypes.data
        block, alone = (each.params(address, address, 1.0, continues=True)[0] for each in kernels)
        host.frame_texture_cells(byref(block))
        host.frame_texture_cells(byref(alone))
        launch("emulated_follow", 1, TEAM, block)
        host.frame_texture_flat(byref(alone), byref(CombParams()))
    one, other = (each.offset.tolist() for each in kernels)
    assert one == pytest.approx(other, abs=1e-3)
    assert one == pytest.approx((-15, 6), abs=0.5)


@pytest.mark.parametrize("steps", [[(5, -2)] * 3, [(5, -2), (60, 30), (4, 1)]], ids=["near", "far"])
def test_a_cluster_follows_a_scene_as_one_thread_does(steps, cluster, host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    told = json.loads(host.styleforge_frames_abi())["frame"]["texture"]
    kernels = [TextureHistory(*VIEW, torch.device("cpu"), told) for _ in range(2)]
    scene = cv2.resize(render(1.0, 640, 360), (320, 180))
    left, top, one = 20, 30, [0.0, 0.0]
    rows, columns = np.indices((70, 61))
    pixels = rows.size, rows.sum(), columns.sum(), (rows * columns).sum(), 70
    for right, down in [(0, 0), *steps]:
        left, top = left + right, top + down
        view = np.ascontiguousarray(scene[top : top + VIEW[0], left : left + VIEW[1]])
        address = view.ctypes.data
        together, alone = (
            each.params(address, address, 1.0, continues=True)[0] for each in kernels
        )
        host.frame_texture_cells(byref(together))
        host.frame_texture_cells(byref(alone))
        sums = cluster(together).flatten(0, 1)
        assert (sums == sums[0]).all(), "every thread has the same"
        # The second time, each thread adds to its values from the first time.
        expected = [float(each) * (1 + BLOCKS * TEAM) for each in pixels]
        assert sums[0].tolist() == pytest.approx(expected, rel=1e-5)
        host.frame_texture_flat(byref(alone), byref(CombParams()))
        one, other = (each.offset.tolist() for each in kernels)
        assert one == pytest.approx(other, abs=1e-3)
        for name in ("_before", "_reference"):
            assert torch.equal(*(getattr(each, name) for each in kernels))
        assert kernels[0].presence == kernels[1].presence
    if len(set(steps)) == 1:
        assert one == pytest.approx((-15, 6), abs=0.5)
