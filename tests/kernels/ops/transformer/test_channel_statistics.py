"""The statistics of channels, thread by thread on the CPU."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.transformer.channel_norm import statistics
from kernels.ops.transformer.channel_norm.statistics import (
    fused_channel_moments_out,
    fused_channel_statistics,
)
from tests.kernels.ops.emulated import Launcher, built_or_skipped


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("channel_statistics")
    return built_or_skipped(folder, "channel_statistics.cu")


@pytest.fixture
def launch(library) -> Any:
    launcher: Any = Launcher(library)
    # so few that each thread handles several pixels
    launcher.gpu = SimpleNamespace(multiprocessors=2)
    return launcher


def moments(launch: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    made = torch.full((*x.shape[:2], 2), torch.nan)
    statistics._launch_moments(launch, x, made[..., 0], made[..., 1])
    return made[..., 0], made[..., 1]


def wanted(x: Tensor) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(x.double(), (2, 3), correction=0)
    return mean, variance


def test_its_kernels_compute_mean_and_inverse_deviation(launch):
    for x, eps in statistics._samples():
        mean, inverse = statistics._launch(launch, x, eps)
        exact, variance = wanted(x)
        torch.testing.assert_close(mean.double(), exact, atol=0, rtol=1e-6)
        torch.testing.assert_close(inverse.double(), torch.rsqrt(variance + eps), atol=0, rtol=1e-5)
    vectors = {given[3] for name, given in launch.launched if name == "styleforge_channel_parts"}
    assert vectors == {False, True}


def test_moments_are_written_where_they_belong_and_nowhere_else(launch):
    for x, mean, variance in statistics._samples_moments():
        base = mean._base
        assert base is not None
        statistics._launch_moments(launch, x, mean, variance)
        exact = wanted(x)
        torch.testing.assert_close(mean.double(), exact[0], atol=0, rtol=1e-6)
        torch.testing.assert_close(variance.double(), exact[1], atol=0, rtol=1e-5)
        assert not bool(base[..., [0, 3]].any())


@pytest.mark.parametrize("chunks", [1, 2, 129, 1024, 1025, 2500])
def test_any_number_of_parts_is_merged(launch, chunks):
    generator = torch.Generator().manual_seed(chunks)
    x = torch.randn(1, chunks, 7, 3, generator=generator) * 3 + 5  # 7 pixels per part
    variance, mean = torch.var_mean(x, 2, correction=0)
    count = torch.full_like(mean, 7)
    parts = torch.stack((count, mean, torch.zeros_like(mean), variance * 7), -1).contiguous()
    made = torch.full((2, 1, 3), torch.nan)
    shape = 1, 3, chunks, *made[0].stride()
    launch("styleforge_channel_merge", 2, 256, parts, *made, *shape, False, 0.0)
    exact = torch.var_mean(x.double(), (1, 2), correction=0)
    torch.testing.assert_close(made[0].double(), exact[1], atol=0, rtol=1e-6)
    torch.testing.assert_close(made[1].double(), exact[0], atol=0, rtol=1e-6)


def test_a_large_mean_costs_no_digits_of_the_variance(launch):
    x = torch.randn(1, 8, 20, 15, generator=torch.Generator().manual_seed(1)).add_(1000)
    _, variance = moments(launch, x)
    torch.testing.assert_close(variance.double(), wanted(x)[1], atol=0, rtol=1e-5)


def test_one_pixel_far_from_the_others_costs_no_digits(launch):
    x = torch.randn(1, 8, 16, 16, generator=torch.Generator().manual_seed(2)).add_(100)
    x[..., 0, 0] = 1e6  # the first pixel of a chunk
    mean, variance = moments(launch, x)
    torch.testing.assert_close(mean.double(), wanted(x)[0], atol=0, rtol=1e-6)
    torch.testing.assert_close(variance.double(), wanted(x)[1], atol=0, rtol=1e-5)


def test_without_a_kernel_it_is_pytorchs_variance():
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    mean, inverse = fused_channel_statistics(x, 1e-3)
    torch.testing.assert_close(mean, x.mean((2, 3)))
    torch.testing.assert_close(inverse, (x.var((2, 3), correction=0) + 1e-3).rsqrt())
    made = torch.zeros(2, 2, 3, dtype=torch.float64)
    fused_channel_moments_out(x, *made)
    torch.testing.assert_close(made[1], x.var((2, 3), correction=0))


@pytest.mark.parametrize(
    ("x", "mean", "told"),
    [
        (torch.zeros(3, 4, 4), torch.zeros(3, 4), r"x must be \[N, C, H, W\] with pixels, got"),
        (torch.zeros(1, 3, 0, 4), torch.zeros(1, 3), r"got \[1, 3, 0, 4\]"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(1, 4), r"\[1, 3\], got torch.float32 \[1, 4\]"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(1, 3).half(), "got torch.float16"),
    ],
)
def test_what_does_not_fit_is_a_sentence(x, mean, told):
    with pytest.raises(ValueError, match=told):
        fused_channel_moments_out(x, mean, mean.clone())


def test_results_of_other_strides_are_refused():
    x, made = torch.zeros(2, 3, 4, 4), torch.zeros(2, 3, 2)
    with pytest.raises(ValueError, match="the same strides"):
        fused_channel_moments_out(x, made[..., 0], torch.zeros(2, 3))
