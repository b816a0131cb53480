"""A GPU measures areas of a frame with words of one bit per pixel, emulated on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.kernels.ops.emulated import Launcher, built_or_skipped

MORE = """
extern "C" __global__ void __launch_bounds__(1024)
    emulated_areas(const uint8_t* pixels, long long height, long long width, long long rows,
                   long long columns, styleforge::Cell* by_words, styleforge::Cell* by_pixels) {
    using namespace styleforge;
    const Picture picture = {pixels, static_cast<int>(height), static_cast<int>(width)};
    const int row = blockIdx.y, column = threadIdx.x;
    if (column >= columns) return;
    by_words[row * columns + column] = gray_area_by_words(picture, row, column, rows, columns);
    by_pixels[row * columns + column] = gray_area(picture, row, column, rows, columns);
}
extern "C" __global__ void __launch_bounds__(1024)
    emulated_means(const uint8_t* pixels, long long height, long long width, long long rows,
                   long long columns, styleforge::Values* whole, styleforge::Values* weighted) {
    using namespace styleforge;
    const Picture picture = {pixels, static_cast<int>(height), static_cast<int>(width)};
    const int row = blockIdx.y, column = threadIdx.x;
    if (column >= columns) return;
    whole[row * columns + column] =
        whole_area(picture, row, column, height / rows, width / columns);
    weighted[row * columns + column] = area(picture, row, column, rows, columns);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("area"), "frames/native/area.cuh", MORE)


@pytest.mark.parametrize("first", range(4), ids="begins at {}".format)
@pytest.mark.parametrize(
    ("size", "cells"),
    [
        ((8, 16), (2, 4)),
        ((20, 30), (2, 3)),
        ((15, 21), (5, 3)),
        ((12, 2), (4, 1)),
        ((16, 32), (1, 2)),
        ((34, 17), (2, 1)),  # 289 pixels, whose squares are not exact
        ((13, 19), (4, 5)),
        ((6, 6), (6, 6)),
    ],
    ids=str,
)
def test_an_area_by_words_has_the_bits_of_its_pixels(first, size, cells, library):
    count = size[0] * size[1] * 3
    bright = np.random.default_rng(count).integers(200, 256, count + 4, dtype=np.uint8)
    pixels = torch.from_numpy(bright)[first : first + count]
    by_words, by_pixels = torch.zeros(2, *cells, 2)
    grid = (1, cells[0], 1)
    Launcher(library)("emulated_areas", grid, 32, pixels, *size, *cells, by_words, by_pixels)
    assert torch.equal(by_words, by_pixels)
    assert by_words[..., 0].min() > 190


@pytest.mark.parametrize(
    ("size", "cells"), [((8, 16), (4, 8)), ((15, 21), (5, 3)), ((200, 300), (1, 1))], ids=str
)
def test_the_mean_of_whole_pixels_has_the_bits_of_weighted_ones(size, cells, library):
    count = size[0] * size[1] * 3
    bright = np.random.default_rng(count).integers(200, 256, count, dtype=np.uint8)
    whole, weighted = torch.zeros(2, *cells, 3)
    grid = (1, cells[0], 1)
    pixels = torch.from_numpy(bright)
    Launcher(library)("emulated_means", grid, 32, pixels, *size, *cells, whole, weighted)
    assert torch.equal(whole, weighted)
    assert whole.min() > 190
