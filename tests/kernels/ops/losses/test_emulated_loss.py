"""The kernels of losses, run on the CPU thread by thread, against their references in float64."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.autograd import tensors_of
from kernels.ops.library import loss
from kernels.ops.losses import rows, squares
from kernels.ops.registry import OPS
from tests.kernels.ops.emulated import Launcher, built_or_skipped

RUNS = {
    "cross_entropy": loss._cross_entropy,
    "cross_entropy_backward": loss._cross_entropy_backward,
    "linear_cross_entropy": loss._linear_cross_entropy,
    "linear_cross_entropy_backward": loss._linear_cross_entropy_backward,
}
SQUARES = {"mse_loss": squares.on_cuda, "mse_loss_backward": squares.gradient_on_cuda}
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("loss"), "loss.cu")


def kernel_of(name: str, launch: Any) -> Any:
    """What runs an operation on a GPU."""
    if name in SQUARES:
        return partial(SQUARES[name], launch)
    return partial(RUNS[name], rows.on_cuda(launch))


def wide(sample: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in sample
    )


def is_fp32(sample: tuple[Any, ...]) -> bool:
    tensors = [x for x in sample if isinstance(x, Tensor)]
    return all(x.dtype in (torch.float32, torch.int64) for x in tensors)


@pytest.mark.parametrize("name", [*RUNS, *SQUARES])
def test_a_kernel_means_what_its_reference_means(library, name):
    launch = Launcher(library)
    samples, seen = list(OPS[name].samples()), set[torch.dtype]()
    for sample in (*samples, *map(wide, filter(is_fp32, samples))):
        found, exact = kernel_of(name, launch)(*sample), OPS[name].reference(*wide(sample))
        dtypes = {x.dtype for x in tensors_of(sample) if x.is_floating_point()}
        unit = max(1e-7, *(torch.finfo(dtype).eps for dtype in dtypes))  # given sums are of FP32
        pairs = [(found, exact)] if isinstance(found, Tensor) else zip(found, exact, strict=True)
        for mine, right in pairs:
            assert mine.shape == right.shape
            near = (mine.double() - right).abs() <= 8 * unit * (right.abs() + 1)
            assert bool((near | (mine == right.to(mine.dtype))).all())
            seen.add(mine.dtype)
    assert seen >= set(DTYPES)
    kernels = {"mse_loss": 2, "mse_loss_backward": 1}.get(name, 4)  # else one of each dtype
    assert len({name for name, _ in launch.launched}) == kernels


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_row_may_begin_anywhere_and_be_masked(library, dtype):
    x = torch.randn(6, 1001, generator=torch.Generator().manual_seed(0)).to(dtype)
    x[0] = -torch.inf
    x[1, 1:] = -torch.inf
    x[2, 5] = torch.nan
    labels = torch.tensor([0, 0, 3, 1001, -1, 1000])
    run, reference = kernel_of("cross_entropy", Launcher(library)), OPS["cross_entropy"].reference
    found, expected = (
        each(x, labels, -100, "none", 0.0, None, None)[0] for each in (run, reference)
    )
    assert expected.isnan().tolist() == [True, False, True, True, True, False]
    torch.testing.assert_close(found, expected, equal_nan=True)


def test_a_block_has_as_many_threads_as_a_row_keeps_busy():
    assert [rows.threads_for(n, 2) for n in (1, 512, 1000, 2048, 50257, 128256)] == [
        *(32, 32, 64, 128, 512, 512)
    ]
