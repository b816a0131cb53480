"""The statistics of channels-last pictures, thread by thread."""

from __future__ import annotations

import ctypes

import pytest
import torch
from torch import Tensor

from kernels.ops.style.structs import Cut
from tests.kernels.ops.emulated import Launcher, built_or_skipped

THREADS = 256
KERNELS = """
extern "C" __global__ void __launch_bounds__(256)
    scalars(const void* x, float4* parts, styleforge::Cut cut) {
    styleforge::parts_of_pixels<float, 1>(static_cast<const float*>(x), parts, cut);
}
extern "C" __global__ void __launch_bounds__(256)
    vectors(const void* x, float4* parts, styleforge::Cut cut) {
    styleforge::parts_of_pixels<float, 4>(static_cast<const float*>(x), parts, cut);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("norm_statistics")
    return built_or_skipped(folder, "instance_norm.cu", KERNELS)


def statistics(library: ctypes.CDLL, x: Tensor, chunk: int, width: int) -> tuple[Tensor, Tensor]:
    """Return mean and variance [N, C] of x [N, pixels, C] in float64, from the kernel's parts."""
    samples, pixels, channels = x.shape
    vectors = -(-channels // width)
    columns = min(vectors, 32)
    chunks = -(-pixels // chunk)
    cut = Cut(pixels, channels, columns, THREADS // columns, chunk, chunks)
    parts = torch.full((samples, chunks, channels, 4), float("nan"))
    grid = chunks, -(-vectors // columns), samples
    name = "vectors" if width > 1 else "scalars"
    Launcher(library)(name, grid, THREADS, x, parts, cut)
    count, high, low, squares = parts.double().unbind(-1)
    mean = (count * (high + low)).sum(1) / pixels
    off = high + low - mean[:, None]
    return mean, (squares + count * off.square()).sum(1) / pixels


@pytest.mark.parametrize(
    ("channels", "width"),
    [(8, 4), (32, 4), (24, 4), (160, 4), (1, 1), (3, 1), (40, 1)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("pixels", [1, 2, 70, 301])
def test_parts_have_the_moments_of_their_pixels(library, channels, width, pixels):
    generator = torch.Generator().manual_seed(channels)
    x = torch.randn(2, pixels, channels, generator=generator) * 3 + 40
    mean, variance = statistics(library, x, 64, width)
    wanted_variance, wanted_mean = torch.var_mean(x.double(), 1, correction=0)
    torch.testing.assert_close(mean, wanted_mean, rtol=1e-6, atol=0)
    torch.testing.assert_close(variance, wanted_variance, rtol=2e-5, atol=1e-9)


def test_one_pixel_far_from_the_others_is_not_the_center(library):
    x = torch.randn(1, 128, 8, generator=torch.Generator().manual_seed(0)).add_(1000)
    x[0, 0] = 1e6  # the first pixel of the chunk
    mean, variance = statistics(library, x, 128, 4)
    wanted_variance, wanted_mean = torch.var_mean(x.double(), 1, correction=0)
    torch.testing.assert_close(mean, wanted_mean, rtol=1e-6, atol=0)
    torch.testing.assert_close(variance, wanted_variance, rtol=1e-5, atol=0)


def test_a_large_mean_costs_no_digits_of_the_variance(library):
    x = torch.randn(1, 300, 16, generator=torch.Generator().manual_seed(1)).add_(1000)
    _, variance = statistics(library, x, 100, 4)
    torch.testing.assert_close(variance, x.double().var(1, correction=0), rtol=1e-5, atol=0)
