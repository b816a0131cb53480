"""The norm of tokens fused with the operation before it, in PyTorch and thread by thread."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.token_norm import api as token_norm
from kernels.ops.transformer.token_norm.api import fused_pooled_token_norm, fused_token_norm
from tests.kernels.ops.binding import bound
from tests.kernels.ops.emulated import Launcher, built_or_skipped

TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("token_norm"), "token_norm.cu")


@pytest.fixture
def launch(library) -> Launcher:
    return Launcher(library)


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


run = bound("fused_token_norm", token_norm._launch)


def test_it_is_adain_and_a_layer_norm():
    x, weight, bias = normal(2, 9, 8), normal(8, seed=1), normal(8, seed=2)
    variance, mean = torch.var_mean(x, 1, correction=0)
    y, normed = fused_token_norm(x, mean, torch.rsqrt(variance + 1e-5), weight, bias)
    planes = F.instance_norm(x.transpose(1, 2), weight=weight, bias=bias).transpose(1, 2)
    torch.testing.assert_close(y, planes)
    torch.testing.assert_close(normed, F.layer_norm(planes, (8,)))


def test_it_is_a_sum_with_bias_and_residual_and_its_norm():
    x, residual, bias = normal(1, 5, 8), normal(1, 5, 8, seed=1), normal(8, seed=2)
    y, normed = fused_token_norm(x, bias=bias, residual=residual)
    torch.testing.assert_close(y, x + bias + residual)
    torch.testing.assert_close(normed, F.layer_norm(x + bias + residual, (8,)))


def test_without_anything_it_is_a_copy_and_its_norm():
    x = normal(1, 5, 8)
    y, normed = fused_token_norm(x)
    torch.testing.assert_close(y, x)
    assert y.data_ptr() != x.data_ptr()
    torch.testing.assert_close(normed, F.layer_norm(x, (8,)))


def test_the_kernel_computes_what_the_reference_does(launch):
    count = 0
    for sample in token_norm._samples():
        found, wanted = run(launch, *sample), token_norm._reference(*sample)
        tolerance = TOLERANCE[sample[0].dtype]
        for got, expected in zip(found, wanted, strict=True):
            torch.testing.assert_close(got, expected, atol=tolerance, rtol=tolerance)
        count += 1
    assert count == 72
    assert len(launch.launched) == 48  # two of six widths do not fit a warp's loads
    kernels = {name for name, _ in launch.launched}
    assert kernels == {"styleforge_token_norm", "styleforge_wide_token_norm"}


def test_a_large_mean_loses_no_digits(launch):
    x = (normal(1, 4, 384) + 1000).float()
    _, normed = run(launch, x)
    wanted = F.layer_norm(x.double(), (384,))
    torch.testing.assert_close(normed.double(), wanted, atol=1e-4, rtol=1e-4)


def test_the_means_of_groups_are_those_of_the_norm():
    x = normal(1, 15, 8)
    y, normed, means = fused_pooled_token_norm(x, 5, 3, 2)
    torch.testing.assert_close(y, x)
    assert y.data_ptr() != x.data_ptr()
    torch.testing.assert_close(normed, F.layer_norm(x, (8,)))
    planes = normed.view(5, 3, 8)
    assert means.shape == (1, 6, 8)
    torch.testing.assert_close(means[0, 2], planes[2:4, 0:2].mean((0, 1)))
    torch.testing.assert_close(means[0, 5], planes[4, 2])  # a single-token group


def test_the_kernel_of_groups_computes_what_the_reference_does(launch):
    count = 0
    for sample in token_norm._pooled_samples():
        found = token_norm._launch_pooled(launch, *sample)
        wanted = token_norm._pooled_reference(*sample)
        tolerance = TOLERANCE[sample[0].dtype]
        for got, expected in zip(found, wanted, strict=True):
            torch.testing.assert_close(got, expected, atol=tolerance, rtol=tolerance)
        count += 1
    assert count == 36
    assert len(launch.launched) == 30  # one of six widths does not fit a warp's loads
    kernels = {name for name, _ in launch.launched}
    assert kernels == {"styleforge_pooled_token_norm", "styleforge_wide_pooled_token_norm"}


def test_parameters_anywhere_in_memory_are_read_right(launch):
    x, memory = normal(1, 6, 8).half(), normal(4 * 8 + 1).float()
    parts = [memory[1 + 8 * number :][:8] for number in range(4)]  # not aligned to 16 bytes
    given = parts[0][None], parts[1][None], parts[2], parts[3], None, 1e-5
    found, wanted = run(launch, x, *given), token_norm._reference(x, *given)
    for got, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(got, expected, atol=4e-3, rtol=4e-3)


@pytest.mark.parametrize(
    ("given", "said"),
    [((2, 4, 2), "9 tokens are not 2 rows of 4"), ((3, 3, 0), "must be at least 1, got 0")],
)
def test_groups_that_do_not_fit_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        fused_pooled_token_norm(normal(1, 9, 8), *given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((normal(4, 8),), r"x must be floating \[N, T, E\], got \[4, 8\]"),
        ((normal(1, 4, 8), normal(1, 8)), "needs both mean"),
        ((normal(1, 4, 8), normal(2, 8), normal(1, 8)), r"mean must be \[1, 8\], got \[2, 8\]"),
        ((normal(1, 4, 8), None, None, normal(7)), r"weight must be \[8\], got \[7\]"),
        ((normal(1, 4, 8), None, None, None, None, normal(1, 4, 7)), "the residual must be"),
    ],
)
def test_what_does_not_fit_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        fused_token_norm(*given)
