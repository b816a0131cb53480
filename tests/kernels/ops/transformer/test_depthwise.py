"""The depthwise convolution, thread by thread on the CPU."""

from __future__ import annotations

import ctypes

import pytest
import torch

from kernels.ops.transformer.depthwise import api as depthwise
from kernels.ops.transformer.depthwise.api import fused_depthwise_conv
from tests.kernels.ops.emulated import Launcher, built_or_skipped

TOLERANCE = {torch.float32: 1e-6, torch.float16: 4e-3, torch.bfloat16: 4e-2}


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("depthwise"), "depthwise.cu")


@pytest.fixture
def launch(library) -> Launcher:
    return Launcher(library)


def test_its_kernel_computes_what_pytorch_does(launch):
    for x, weight in depthwise._samples():
        found = depthwise._launch(launch, x, weight)
        wanted = depthwise._reference(x.double(), weight.double())
        assert found.is_contiguous(memory_format=torch.channels_last)
        tolerance = TOLERANCE[x.dtype]
        torch.testing.assert_close(found.double(), wanted, atol=tolerance, rtol=tolerance)
    vectors = [arguments[4] for _, arguments in launch.launched]
    assert len(vectors) == 9
    assert set(vectors) == {False, True}


@pytest.mark.parametrize(
    ("x", "weight", "told"),
    [
        (
            torch.zeros(1, 3, 1, 4),
            torch.zeros(3, 1, 3, 3),
            r"x must be \[N, C, H, W\] of 2x2 or more",
        ),
        (
            torch.zeros(1, 3, 4, 4),
            torch.zeros(4, 1, 3, 3),
            r"the weight must be .* \[3, 1, 3, 3\], got",
        ),
        (torch.zeros(1, 3, 4, 4), torch.zeros(3, 1, 3, 3).half(), "got torch.float16"),
    ],
)
def test_what_does_not_fit_is_a_sentence(x, weight, told):
    with pytest.raises(ValueError, match=told):
        fused_depthwise_conv(x, weight)
