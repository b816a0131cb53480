"""The norm with given moments, thread by thread on the CPU."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from kernels.ops.transformer.channel_norm import api as channel_norm
from kernels.ops.transformer.channel_norm.api import fused_channel_norm
from tests.kernels.ops.emulated import Launcher, built_or_skipped

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("channel_norm")
    return built_or_skipped(folder, "channel_statistics.cu")


@pytest.fixture
def launch(library) -> Any:
    launcher: Any = Launcher(library)
    launcher.gpu = SimpleNamespace(multiprocessors=2)
    return launcher


def test_its_kernel_computes_what_the_reference_does(launch):
    for sample in channel_norm._samples():
        found, wanted = channel_norm._launch(launch, *sample), channel_norm._reference(*sample)
        assert found.is_contiguous(memory_format=torch.channels_last)
        tolerance = TOLERANCE[sample[0].dtype]
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance)
    assert {given[7] for _, given in launch.launched} == {False, True}
    # a quarter of the samples has more groups than one kernel merges
    assert len(launch.launched) == 18


def test_moments_of_the_picture_make_it_an_instance_norm():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 6, 8, generator=generator, dtype=torch.float64) * 3 + 5
    weight, bias = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    groups = x.unflatten(2, (3, 2)).permute(0, 2, 1, 3, 4).flatten(3)  # groups of two rows
    variance, mean = torch.var_mean(groups, 3, correction=0)
    count = torch.full_like(mean, 16)
    moments = torch.stack((count, mean, variance * 16, count), -1)
    found = fused_channel_norm(x, moments, weight, bias, x, 1e-5, True, 2)
    wanted = F.instance_norm(x, weight=weight, bias=bias) + x
    torch.testing.assert_close(found, F.pad(wanted.relu(), (2, 2, 2, 2), mode="reflect"))


def test_a_large_mean_costs_no_digits(launch):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(1, 8, 10, 12, generator=generator) + 1000
    groups = x.unflatten(2, (10, 1)).permute(0, 2, 1, 3, 4).flatten(3)
    variance, mean = torch.var_mean(groups.double(), 3, correction=0)
    count = torch.full_like(mean, 12)
    moments = torch.stack((count, mean, variance * 12, count), -1).float()
    found = channel_norm._launch(launch, x, moments, torch.ones(8), torch.zeros(8))
    wanted = F.instance_norm(x.double())
    torch.testing.assert_close(found.double(), wanted, atol=2e-4, rtol=1e-4)


X, MOMENTS, ONES = torch.zeros(1, 8, 4, 4), torch.ones(1, 2, 8, 4), torch.ones(8)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((X[0], MOMENTS, ONES, ONES), r"x must be floating \[N, C, H, W\], got \[8, 4, 4\]"),
        ((X, MOMENTS[0], ONES, ONES), r"moments must be \[1, G, 8, 4\], got \[2, 8, 4\]"),
        ((X, MOMENTS[:, :, :7], ONES, ONES), r"got \[1, 2, 7, 4\]"),
        ((X, MOMENTS, ONES[:7], ONES), "expected 8 weights and biases"),
        ((X, MOMENTS, ONES, ONES, X.half()), "the residual must be torch.float32"),
        ((X, MOMENTS, ONES, ONES, None, 1e-5, False, 4), "cannot pad 4x4 by 4"),
    ],
)
def test_what_does_not_fit_is_a_sentence(given, told):
    with pytest.raises(ValueError, match=told):
        fused_channel_norm(*given)
