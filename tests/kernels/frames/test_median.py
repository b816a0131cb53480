"""A GPU block finds the median of counted values, emulated thread by thread."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.kernels.ops.emulated import Launcher, built_or_skipped

COUNTS, BINS, THREADS = 25088, 3 * 8192 + 1, 128  # kCounts, kBins and kThreads
MORE = """
extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    emulated_median(const unsigned* counts, long long number, float* median) {
    using namespace styleforge;
    median[threadIdx.x] = median_of(counts, static_cast<unsigned>(number));
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built_or_skipped(tmp_path_factory.mktemp("median"), "frames/native/median.cuh", MORE)


@pytest.mark.parametrize(
    "counted",
    [
        [0],
        [BINS - 1] * 3,
        [3, 4],
        [127, 128],
        [895, 896],  # the last of seven times 128, and the next one
        [0, 0, BINS - 1, BINS - 1],
        [5, 5, 5, 6, 7, 7],
        [8, 9, 10, 11, 11, 12, 12, 12],
    ],
    ids=str,
)
def test_every_thread_learns_the_median_of_bins(counted, library):
    assert _median(np.array(counted), library) == _expected(np.array(counted))


@pytest.mark.parametrize("number", [1999, 2000])
def test_every_thread_learns_the_median_of_many_bins(number, library):
    counted = np.random.default_rng(number).integers(0, BINS, number)
    assert _median(counted, library) == _expected(counted)


def _median(counted, library):
    counts = torch.from_numpy(np.bincount(counted, minlength=COUNTS).astype(np.int32))
    median = torch.full((THREADS,), -1.0)
    Launcher(library)("emulated_median", 1, THREADS, counts, len(counted), median)
    return median.tolist()


def _expected(counted):
    middles = (counted + 0.5).astype(np.float32) / np.float32(8192)
    return [float(np.median(middles))] * THREADS
