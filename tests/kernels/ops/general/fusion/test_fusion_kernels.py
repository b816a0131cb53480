"""The CUDA kernels of norms and reductions, run on the CPU thread by thread on their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import CDLL
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.general.fusion import channels, groups, held, row_kernels, rows, samples
from kernels.ops.general.fusion.rows import Norm
from kernels.ops.general.reduction import reductions
from kernels.table.launcher import Calls, Gpu
from tests.kernels.ops.emulated import Launcher, built_or_skipped


class OnGpu(Launcher):
    """A launcher with a CudaLauncher's information about its GPU."""

    gpu = Gpu(-1, 2, 8)

    def __init__(self, library: CDLL) -> None:
        super().__init__(library)
        calls = Calls()
        self.calls, self.keep = calls.calls, calls.keep


@pytest.fixture(scope="module")
def launchers(tmp_path_factory) -> dict[str, OnGpu]:
    return {
        name: OnGpu(built_or_skipped(tmp_path_factory.mktemp(name), f"{name}.cu"))
        for name in ("fusion", "reduction")
    }


def sums() -> Iterator[tuple[Any, ...]]:
    """Yield sums and their norms with every activation, as arguments of `rows.reference`."""
    for number, given in enumerate(samples.of_sums()):
        x, residual, shape, weight, bias, eps, kind = given
        norm = Norm("norm", tuple(rows.ACTIVATIONS)[number % 3], kind == "layer")
        yield norm, x, shape, weight, bias, eps, residual if number % 4 else None


def batches() -> Iterator[tuple[Any, ...]]:
    for *given, training, _momentum, eps in samples.of_channels():
        yield *given, training, eps


def by(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda launch, *given: run(partial(channels.on_cuda, launch), *given)


def reduced() -> Iterator[tuple[Any, ...]]:
    for name in reductions.TERMS:
        for given in samples.of_reductions():
            yield name, *given


# By name: the library, the arguments, the launching function, its reference, and the tolerance in
# units of the dtype.
PASSES: dict[str, tuple[str, Any, Any, Any, float]] = {
    "rows": ("fusion", sums, row_kernels.forward_on_cuda, rows.reference, 16),
    "rows backward": (
        *("fusion", samples.of_row_gradients),
        *(row_kernels.backward_on_cuda, rows.reference_backward, 64),
    ),
    "channels": ("fusion", batches, by(channels.forward), channels.reference, 16),
    "channels backward": (
        *("fusion", samples.of_channel_gradients),
        *(by(channels.backward), channels.reference_backward, 64),
    ),
    "groups": ("fusion", samples.of_groups, groups.forward_on_cuda, groups.reference, 16),
    "groups backward": (
        *("fusion", samples.of_group_gradients, groups.backward_on_cuda),
        *(groups.reference_backward, 64),
    ),
    "reductions": ("reduction", reduced, reductions.forward_on_cuda, reductions.reference, 16),
    "channel sums": (
        *("reduction", samples.of_channel_sums, reductions.channel_sums_on_cuda),
        *(reductions.channel_sums, 16),
    ),
    "reductions backward": (
        *("reduction", partial(samples.gradients_of, *reductions.TERMS)),
        *(reductions.backward_on_cuda, reductions.reference_backward, 2),
    ),
}
KERNELS = {
    "rows": {"row_norm"},
    "rows backward": {
        *("row_norm_backward", "row_norm_backward_elements", "row_norm_parameters"),
    },
    "channels": {"channels_sums", "channels_totals", "channels_relu"},
    "channels backward": {"channels_sums", "channels_totals", "channels_gradient"},
    "groups": {"channels_sums", "groups_totals", "channels_relu"},
    "groups backward": {"channels_sums", "groups_gradients", "channels_gradient"},
    "reductions": {"reduce_rows", "reduce_columns"},
    "channel sums": {"reduce_rows", "reduce_columns"},
    "reductions backward": {"reduce_backward"},
}


def each(results: Any) -> tuple[Tensor, ...]:
    return (results,) if isinstance(results, Tensor) else tuple(results)


@pytest.mark.parametrize("name", PASSES)
def test_a_kernel_computes_what_its_reference_does(launchers, name):
    library, given, run, reference, units = PASSES[name]
    launch = launchers[library]
    launch.launched.clear()
    for sample in given():
        pairs = zip(each(run(launch, *sample)), each(reference(*sample)), strict=True)
        for got, expected in pairs:
            unit = torch.finfo(got.dtype).eps
            largest = float(expected.abs().max()) if expected.numel() else 0.0
            assert got.dtype == expected.dtype
            torch.testing.assert_close(got, expected, atol=units * unit * (1 + largest), rtol=0)
    launched = {kernel.removeprefix("styleforge_") for kernel, _ in launch.launched}
    assert launched == KERNELS[name]


def test_vectors_are_taken_where_rows_are_made_of_them(launchers):
    launch = launchers["fusion"]
    for width, offset, vector in ((16, 0, True), (18, 0, False), (16, 1, False)):
        x = torch.zeros(2 * width + offset)[offset:].view(2, width)
        launch.launched.clear()
        row_kernels.forward_on_cuda(launch, Norm("norm"), x, [width], None, None, 1e-5)
        ((_, arguments),) = launch.launched
        assert arguments[8] is vector


SUMMED = [
    *((150, 256), (70, 250), (30, 1000), (9, 1023)),
    pytest.param((21, 4096), marks=pytest.mark.full),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SUMMED)
def test_a_block_sums_the_gradients_of_all_its_rows(launchers, shape, dtype, monkeypatch):
    launch = launchers["fusion"]
    monkeypatch.setattr(launch, "gpu", Gpu(-1, 1, 8))
    x, grad = samples._normal(0, *shape).to(dtype), samples._normal(1, *shape).to(dtype)
    weight, bias = (samples._normal(seed, shape[1]).to(dtype) for seed in (2, 3))
    added = samples._normal(4, *shape).to(dtype) if shape[0] % 2 else None
    statistics = rows.reference(Norm("norm"), x, [shape[1]], weight, bias, 1e-5)[-1]
    given = (grad, x, [shape[1]], weight, bias, statistics, added, "gelu", True, 1e-5)
    found = row_kernels.backward_on_cuda(launch, *given)
    unit = torch.finfo(dtype).eps
    for got, expected in zip(found, rows.reference_backward(*given), strict=True):
        largest = 1 + float(expected.abs().max())
        torch.testing.assert_close(got, expected, atol=32 * unit * largest, rtol=0)
    assert all(map(torch.equal, found, row_kernels.backward_on_cuda(launch, *given)))


# Large planes, split into chunks per block: one, three with a short last one, and an odd size.
PLANES = {(2, 3, 32, 33): 1, (2, 2, 96, 100): 3, (1, 3, 41, 41): 2}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", PLANES, ids=str)
def test_blocks_take_chunks_of_large_planes(launchers, shape, dtype, training):
    launch, unit = launchers["fusion"], torch.finfo(dtype).eps
    x = samples._normal(0, *shape).to(dtype) + 2
    grad = samples._normal(1, *shape).to(dtype)
    weight, bias, mean = (samples._normal(seed, shape[1]) for seed in (2, 3, 4))
    given = (weight, bias, None if training else mean, None if training else mean.square() + 0.5)
    run = partial(channels.on_cuda, launch)
    launch.launched.clear()
    y, middle, inverse = channels.forward(run, x, *given, training, 1e-5)
    exact = channels.reference(x.double(), *given, training, 1e-5)
    for got, expected, units in zip((y, middle, inverse), exact, (16, 0, 0), strict=True):
        allowed = (16 * 1.2e-7 + units * unit) * (1 + float(expected.abs().max()))
        torch.testing.assert_close(got.double(), expected.double(), atol=allowed, rtol=0)
    back = (grad, x, weight, bias, middle, inverse, training, 1e-5)
    found = channels.backward(run, *back)
    for got, expected in zip(found, channels.reference_backward(*back), strict=True):
        allowed = 64 * unit * (1 + float(expected.abs().max()))
        torch.testing.assert_close(got, expected, atol=allowed, rtol=0)
    if dtype == torch.float32:
        passes = {kernel: arguments[-1] for kernel, arguments in launch.launched}
        assert passes["styleforge_channels_relu"] == PLANES[shape]
        assert passes["styleforge_channels_gradient"] == PLANES[shape]
    assert all(map(torch.equal, found, channels.backward(run, *back)))


# By shape: the loads in a warp's chunk when planes of FP32 are summed, and the blocks per channel.
# Chunks are whole, even, short at the end, or more than warps, and planes are odd.
SUMMED = {
    (1, 3, 32, 32): (256, 1),
    (2, 3, 32, 32): (256, 1),
    (3, 2, 56, 56): (224, 2),
    (2, 3, 32, 33): (160, 1),
    (21, 1, 32, 32): (256, 3),
    (2, 2, 41, 41): (256, 2),
    (1, 2, 96, 100): (256, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SUMMED, ids=str)
def test_warps_take_chunks_of_the_planes_of_a_channel(launchers, shape, dtype):
    launch = launchers["fusion"]
    launch.launched.clear()
    x = samples._normal(0, *shape).to(dtype) + 2
    layout = channels.checked(x, None, None, None, None, True)
    given = x, torch.ones(shape[1]), torch.zeros(shape[1]), torch.empty_like(x), 1e-5
    mean, inverse = channels.on_cuda(launch, layout, dtype).train(*given)
    var, middle = torch.var_mean(x.double(), (0, 2, 3), correction=0)
    torch.testing.assert_close(mean.double(), middle, rtol=1e-6, atol=0)
    torch.testing.assert_close(inverse.double(), (var + 1e-5).rsqrt(), rtol=1e-5, atol=0)
    again = channels.on_cuda(launch, layout, dtype).train(*given)
    assert all(map(torch.equal, (mean, inverse), again))
    if dtype == torch.float32:
        (_, arguments), *_ = launch.launched
        chunk, splits = SUMMED[shape]
        assert arguments[-2:] == (splits, chunk)


# By shape and channels per group: the blocks of a team, forward and backward, in FP32 on a GPU with
# three multiprocessors of 16 KB shared memory. Slabs of one block and of several, with short last
# parts, teams that start later, planes that start and end inside parts, and one slab of all blocks.
SMALL = Gpu(-1, 3, 8, 1 << 14)
HELD = {
    ((3, 5, 32, 16), 0): (1, 2),
    ((7, 5, 16, 36), 0): (3, 6),
    ((2, 26, 32, 16), 0): (1, 2),
    ((2, 8, 32, 16), 2): (1, 2),
    ((3, 6, 16, 34), 3): (2, 3),
    ((1, 7, 24, 24), 7): (6, 6),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("shape", "group"), HELD, ids=str)
def test_a_team_of_blocks_holds_what_is_normed_together(
    launchers, shape, group, dtype, monkeypatch
):
    launch = launchers["fusion"]
    monkeypatch.setattr(launch, "gpu", SMALL)
    monkeypatch.setattr(held, "_LEAST_ROW", 64)  # twice that in FP32
    held.share.cache_clear()
    launch.launched.clear()
    x = samples._normal(0, *shape).to(dtype) + 2
    grad = samples._normal(1, *shape).to(dtype)
    weight, bias, shift = (samples._normal(seed, shape[1]) for seed in (2, 3, 4))
    of: Any = groups if group else channels
    if group:
        forward, backward, runs = of.forward_on_cuda, of.backward_on_cuda, launch
        given = x, shift, shape[1] // group, weight, bias
        more = (1e-5,)
    else:
        forward, backward, runs = of.forward, of.backward, partial(channels.on_cuda, launch)
        given = x, weight, bias
        more = None, None, True, 1e-5
    computed = forward(runs, *given, *more)
    exact = of.reference(x.double(), *given[1:], *more)
    back = grad, *given, *computed[1:], *more[-1 if group else -2 :]
    found, expected = backward(runs, *back), of.reference_backward(*back)
    unit = torch.finfo(dtype).eps
    for number, (got, right) in enumerate(zip(computed, exact, strict=True)):
        allowed = (16 * 1.2e-7 + unit * (number == 0)) * (1 + float(right.abs().max()))
        torch.testing.assert_close(got.double(), right.double(), atol=allowed, rtol=0)
    for got, right in zip(found, expected, strict=True):
        allowed = 64 * unit * (1 + float(right.abs().max()))
        torch.testing.assert_close(got, right, atol=allowed, rtol=0)
    assert all(map(torch.equal, computed, forward(runs, *given, *more)))
    assert all(map(torch.equal, found, backward(runs, *back)))
    by = {kernel.removeprefix("styleforge_"): arguments for kernel, arguments in launch.launched}
    assert by.keys() - {"groups_gradients"} == {"slabs_relu", "slabs_gradient"}
    if dtype == torch.float32:
        teams = by["slabs_relu"][0].team, by["slabs_gradient"][0].team
        assert teams == HELD[shape, group]


# On an H200, by plane size and number of input tensors: the blocks of a team, the loads of each,
# and the phases. A channel of 1 GB exceeds the multiprocessors' memory, and 32 loads per plane are
# too few for a warp.
SHARES = {
    (64 * 64, 1): (4, 4096, 1),
    (128 * 128, 2): (20, 3277, 2),
    (512 * 128, 1): (44, 5958, 2),
    (16 * 8, 1): None,
    (1 << 24, 1): None,
}


@pytest.mark.parametrize(("inner", "tensors"), SHARES)
def test_teams_are_of_as_many_blocks_as_hold_a_slab(inner, tensors):
    gpu, slabs = Gpu(0, 132, 9, 228 << 10), held.Slabs(16, 64, inner)
    assert held.share(gpu, slabs, inner // 4, tensors) == SHARES[inner, tensors]
    for other in (Gpu(0, 132, 9), Gpu(0, 132, 7, 228 << 10)):  # GPUs that report no size, or copy
        assert held.share(other, slabs, inner // 4, tensors) is None


@pytest.mark.parametrize(
    ("width", "threads"), [(1, (32, 128)), (512, (32, 128)), (2048, (128, 128)), (8192, (512, 512))]
)
def test_a_row_has_as_many_threads_as_hold_it(width, threads):
    assert row_kernels._team(width, 16) == threads


@pytest.mark.parametrize("block", [row_kernels.BACKWARD, row_kernels.BACKWARD_ELEMENTS])
@pytest.mark.parametrize("width", [1, 64, 1000, row_kernels.MOST_WIDTH_BACKWARD])
def test_a_block_has_threads_for_every_row_that_it_takes(block, width):
    team, threads = row_kernels._team(width, block.held)
    assert team * block.held >= width
    assert team <= threads <= block.threads


# By shape and dimension, the launched kernels: rows that one batch of loads covers, longer rows,
# odd rows, and parts, in whole batches and with a short last one.
SUMS: dict[tuple[tuple[int, ...], int], list[str]] = {
    ((3, 512), 1): ["rows"],
    ((40, 20480), 1): ["rows"],
    ((300, 2051), 1): ["rows"],
    ((1, 40960), 1): ["rows", "rows"],
    ((2, 35008), 1): ["rows", "rows"],
    ((1, 12345), 1): ["rows", "rows"],
    ((5, 2048), 0): ["columns"],
    ((1100, 24), 0): ["columns", "columns"],
    ((515, 7), 0): ["columns", "columns"],
}


@pytest.mark.parametrize("dtype", samples.DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "dim"), SUMS, ids=str)
def test_sums_take_one_launch_or_one_more_over_parts_in_fp32(launchers, shape, dim, dtype):
    launch = launchers["reduction"]
    launch.launched.clear()
    x = samples._normal(0, *shape).to(dtype) + 1
    found = reductions.forward_on_cuda(launch, "mean_abs", x, [dim])
    kernels = [name.removeprefix("styleforge_reduce_") for name, _ in launch.launched]
    assert kernels == SUMS[shape, dim]
    made = [arguments[4] for _, arguments in launch.launched]
    assert made == [*[reductions.TYPES[torch.float32]] * (len(made) - 1), reductions.TYPES[dtype]]
    expected = x.double().abs().mean(dim)
    allowed = 0.6 * torch.finfo(dtype).eps + 4e-7  # rounded once
    torch.testing.assert_close(found.double(), expected, rtol=allowed, atol=0)
    assert torch.equal(found, reductions.forward_on_cuda(launch, "mean_abs", x, [dim]))


# By shape and whether channels are contiguous, the kernels that sum channels.
OF_CHANNELS = {
    ((16, 8, 32, 32), False): ["rows", "columns"],
    ((1, 8, 32, 32), False): ["rows"],
    ((2, 1, 200, 200), False): ["rows", "rows", "rows"],
    ((70, 8, 4, 4), False): ["rows", "columns", "columns"],
    ((2, 24, 4, 4), True): ["columns", "columns"],
}


@pytest.mark.parametrize("dtype", samples.DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "last"), OF_CHANNELS, ids=str)
def test_channels_are_summed_in_fp32_where_they_lie(launchers, shape, last, dtype):
    launch = launchers["reduction"]
    launch.launched.clear()
    x = (samples._normal(0, *shape).to(dtype) + 1) / 2
    if last:
        x = x.contiguous(memory_format=torch.channels_last)
    found = reductions.channel_sums_on_cuda(launch, x)
    kernels = [name.removeprefix("styleforge_reduce_") for name, _ in launch.launched]
    assert kernels == OF_CHANNELS[shape, last]
    assert launch.launched[0][1][0].data_ptr() == x.data_ptr()
    made = [arguments[4] for _, arguments in launch.launched]
    assert made == [*[reductions.TYPES[torch.float32]] * (len(made) - 1), reductions.TYPES[dtype]]
    allowed = 0.6 * torch.finfo(dtype).eps + 4e-6  # rounded once
    torch.testing.assert_close(found.double(), x.double().sum((0, 2, 3)), rtol=allowed, atol=0)


@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_another_dtype_are_not_rounded_first(launchers, dim):
    x = samples._normal(0, 24, 40).half()
    grad = samples._normal(1, *(1 if d == dim else size for d, size in enumerate(x.shape)))
    given = grad * 1e-6, x, "sum_squared", [dim]
    found = reductions.backward_on_cuda(launchers["reduction"], *given)
    assert torch.equal(found, reductions.reference_backward(*given))
