"""The norm of channels-last pictures, from partial statistics on, thread by thread."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.style.normalization.on_cuda import BORDERS
from kernels.ops.style.structs import AffineParameters, Cut, Margin, PartialMomentsView, Planes
from kernels.table.calls import TYPES
from tests.kernels.ops.emulated import Launcher, built_or_skipped

THREADS, MERGED = 256, 2
KERNELS = """
extern "C" __global__ void __launch_bounds__(256)
    merged(styleforge::PartialMomentsView parts, styleforge::AffineParameters a, float4* affine,
           long long samples, long long channels) {
    styleforge::merge_planes(parts, a, affine, samples, channels);
}
extern "C" __global__ void __launch_bounds__(256)
    vectors(styleforge::Planes p, const float4* affine, styleforge::Cut cut,
            styleforge::Margin margin) {
    styleforge::write_pixels<__half, 8>(p, affine, cut, margin);
}
extern "C" __global__ void __launch_bounds__(256)
    scalars(styleforge::Planes p, const float4* affine, styleforge::Cut cut,
            styleforge::Margin margin) {
    styleforge::write_pixels<__half, 1>(p, affine, cut, margin);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("norm_pixels"), "instance_norm.cu", KERNELS)


@pytest.fixture
def launch(library) -> Launcher:
    return Launcher(library)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("count", [1, 130, 1024, 1100])
@pytest.mark.parametrize("channels", [3, 8])
def test_parts_become_scale_and_shift(launch, channels, count):
    x = normal(2, count, 5, channels) * 3 + 40  # 5 pixels per part
    variance, mean = torch.var_mean(x, 2, correction=0)
    columns = torch.full_like(mean, 5), mean, torch.zeros_like(mean), variance * 5
    parts = torch.stack(columns, -1).contiguous()
    gamma, beta = normal(channels, seed=1), normal(channels, seed=2)
    affine = torch.full((2, channels, 4), torch.nan)
    view = PartialMomentsView(parts.data_ptr(), count * channels, 1, channels, count)
    given = AffineParameters(gamma.data_ptr(), beta.data_ptr(), TYPES[torch.float32], 1e-5)
    launch("merged", -(-2 * channels // MERGED), THREADS, view, given, affine, 2, channels)
    variance, mean = torch.var_mean(x.double(), (1, 2), correction=0)
    scale = gamma * torch.rsqrt(variance + 1e-5)
    probe = 41.5  # close to the mean, like the values to normalize
    center, factor, shift, _ = affine.double().unbind(-1)
    wanted = (probe - mean) * scale + beta
    torch.testing.assert_close((probe - center) * factor + shift, wanted, atol=1e-5, rtol=1e-5)


def written(
    launch: Launcher, name: str, x: Tensor, residual: Tensor | None, pad: int, border: str
) -> tuple[Tensor, Tensor]:
    """Return a kernel's output for x [N, H, W, C] without an affine, and the expected one."""
    n, height, width, channels = x.shape
    affine = torch.tensor([0.5, 2.0, -1.0, 0.0]).repeat(n, channels, 1)
    out = torch.full((n, height + 2 * pad, width + 2 * pad, channels), torch.nan).half()
    groups = channels // (8 if name == "vectors" else 1)
    columns = min(groups, 32)
    rows, pixels = THREADS // columns, out.shape[1] * out.shape[2]
    chunk = 5 * rows + 3  # several iterations, the last one incomplete
    chunks = -(-pixels // chunk)
    p = Planes(x.data_ptr(), None if residual is None else residual.data_ptr(), out.data_ptr())
    p.pixels, p.channels, p.relu = height * width, channels, residual is None
    cut = Cut(pixels, channels, columns, rows, chunk, chunks)
    margin = Margin(height, width, pad, BORDERS[border]) if pad else Margin()
    launch(name, (chunks, -(-groups // columns), n), THREADS, p, affine, cut, margin)
    meant = (x.float() - 0.5) * 2 - 1
    meant = meant.relu() if residual is None else meant + residual.float()
    if pad:
        meant = F.pad(meant.permute(0, 3, 1, 2), (pad,) * 4, mode=border).permute(0, 2, 3, 1)
    return out, meant


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("pad", [0, 1, 4])
@pytest.mark.parametrize(("name", "channels"), [("vectors", 24), ("vectors", 64), ("scalars", 3)])
@pytest.mark.parametrize("adds", [False, True], ids=["alone", "residual"])
def test_pixels_and_their_margin_are_those_of_pytorch(launch, name, channels, pad, border, adds):
    x = normal(2, 11, 37, channels).half()
    residual = normal(2, 11, 37, channels, seed=1).half() if adds else None
    out, meant = written(launch, name, x, residual, pad, border)
    torch.testing.assert_close(out.float(), meant, atol=4e-3, rtol=2e-3)


def test_a_picture_is_normalized_in_place(launch):
    x = normal(1, 40, 30, 16).half()
    meant = ((x.float() - 0.5) * 2 - 1).half()
    affine = torch.tensor([0.5, 2.0, -1.0, 0.0]).repeat(1, 16, 1)
    cut = Cut(1200, 16, 2, 128, 500, 3)
    p = Planes(x.data_ptr(), None, x.data_ptr())
    p.pixels, p.channels = 1200, 16
    launch("vectors", (3, 1, 1), THREADS, p, affine, cut, Margin())
    torch.testing.assert_close(x, meant)
