"""The kernels of losses, run on the CPU thread by thread, against their references in float64."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.general.loss import operations, rows, scaling, squares
from kernels.table.autograd import tensors_of
from kernels.table.registry import OPS
from tests.kernels.ops.emulated import Launcher, built_or_skipped

RUNS = {
    "cross_entropy": operations.cross_entropy,
    "cross_entropy_backward": operations.cross_entropy_backward,
    "linear_cross_entropy": operations.linear_cross_entropy,
    "linear_cross_entropy_backward": operations.linear_cross_entropy_backward,
}
SQUARES = {"mse_loss": squares.on_cuda, "mse_loss_backward": squares.gradient_on_cuda}
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("loss"), "loss.cu")


def kernel_of(name: str, launch: Any) -> Any:
    if name in SQUARES:
        return partial(SQUARES[name], launch)
    return partial(RUNS[name], on_cuda(launch))


def on_cuda(launch: Any) -> rows.Kernels:
    return rows.on_cuda(launch)


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
        unit = max(1e-7, *(torch.finfo(dtype).eps for dtype in dtypes))  # given sums are in FP32
        pairs = [(found, exact)] if isinstance(found, Tensor) else zip(found, exact, strict=True)
        for mine, right in pairs:
            assert mine.shape == right.shape
            near = (mine.double() - right).abs() <= 8 * unit * (right.abs() + 1)
            assert bool((near | (mine == right.to(mine.dtype))).all())
            seen.add(mine.dtype)
    assert seen >= set(DTYPES)
    # Others have one kernel per dtype, plus one for the total if losses are reduced.
    kernels = {"mse_loss": 2, "mse_loss_backward": 1}.get(name, 4 + ("backward" not in name))
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


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("is_in_place", [False, True])
def test_a_thread_takes_all_vectors_of_a_long_row(library, dtype, is_in_place):
    classes = 5 * 512 * 16 // dtype.itemsize + 77  # vectors for each of 512 threads
    x = torch.randn(1, classes, generator=torch.Generator().manual_seed(0)).to(dtype)
    x[0, 16::1024] = -torch.inf
    given = rows.Labels(torch.tensor([classes - 40]), None, -100, 0.0)
    loss, lse, gradient = rows.in_pytorch(x.double(), given, None, True)
    read = x.clone()
    into = read if is_in_place else torch.empty_like(x)
    found = rows.computed(on_cuda(Launcher(library)), read, given, into=into)
    torch.testing.assert_close([found.losses.double(), found.lse.double()], [loss, lse])
    assert gradient is not None
    torch.testing.assert_close(into, gradient.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("of_loss", DTYPES, ids=str)
def test_a_total_has_all_rows_in_any_dtype(library, dtype, of_loss):
    launch = Launcher(library)
    labels = torch.arange(5000) % 3 - 1  # labels of -1 are ignored
    losses, weight = labels.to(rows.wide(dtype)) + 1, torch.tensor([2.0, 5.0])
    for of_classes, divisor in ((None, 3333), (weight, 1667 * 2 + 1666 * 5)):
        given = rows.Labels(labels, of_classes, -1, 0.0)
        mean, of_mean = rows.reduced(on_cuda(launch), losses, given, "mean", of_loss)
        total, of_total = rows.reduced(on_cuda(launch), losses, given, "sum", of_loss)
        assert (of_mean.dtype, int(of_mean), int(of_total)) == (losses.dtype, divisor, 1)
        assert torch.equal(mean, (losses.sum() / divisor).to(of_loss))
        assert torch.equal(total, losses.sum().to(of_loss))
    none = rows.Labels(torch.full_like(labels, -1), None, -1, 0.0)
    assert rows.reduced(on_cuda(launch), losses * 0, none, "mean", of_loss)[0].isnan()
    assert {name for name, _ in launch.launched} == {"styleforge_cross_entropy_total"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_made_gradients_are_multiplied_by_a_number_of_another_dtype(library, dtype):
    generator = torch.Generator().manual_seed(0)
    launch: Any = Launcher(library)
    whole = torch.randn(9001, generator=generator).to(dtype)
    for of_loss in DTYPES:
        grad = torch.tensor(3.3, dtype=of_loss)
        for divisor in (7.0, 0.0):
            by = torch.tensor(divisor, dtype=rows.wide(dtype))
            for first in (0, 1):  # an offset of 1 is not aligned
                mine, right = whole.clone()[first:], whole.clone()[first:]
                scaling.on_cuda(launch, [mine, mine[:0]], grad, by)
                scaling.in_pytorch([right], grad, by)
                assert torch.equal(mine, right)
    assert len(launch.launched) == len(DTYPES) * 2 * 2


def test_a_block_has_as_many_threads_as_a_row_keeps_busy():
    classes = 1, 512, 1000, 2048, 50257, 128256
    assert [rows.threads_for(8, n, 2, 4) for n in classes] == [32, 32, 64, 128, 512, 512]
    assert [rows.threads_for(9, n, 2, 4) for n in classes] == [32, 32, 64, 128, 256, 256]
