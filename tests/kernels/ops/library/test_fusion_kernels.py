"""The CUDA kernels of norms and reductions, run on the CPU thread by thread, on their samples."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from ctypes import CDLL
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER
from kernels.ops.fusions import (
    channels,
    joined_channels,
    reductions,
    row_kernels,
    rows,
    samples,
)
from kernels.ops.fusions.counts import RESERVED, Counts
from kernels.ops.fusions.rows import Norm
from kernels.ops.launcher import Calls, Gpu
from tests.kernels.ops.emulated import Launcher, built_or_skipped

NVCC = nvcc()


class OnGpu(Launcher):
    """With what a CudaLauncher tells of its GPU."""

    gpu = Gpu(-1, 2, 8, shared_bytes=0)  # which no batch norm is joined for
    stream, is_capturing = 0, False

    def __init__(self, library: CDLL, at_once: CDLL | None = None) -> None:
        super().__init__(library, at_once)
        calls = Calls()
        self.calls, self.keep = calls.calls, calls.keep

    def blocks_at_once(self, *_: Any) -> int:
        return self.gpu.multiprocessors


@pytest.fixture(scope="module")
def launchers(tmp_path_factory) -> dict[str, OnGpu]:
    folder = tmp_path_factory.mktemp("built")
    at_once = built_or_skipped(folder, "fusion.cu", at_once=True)
    return {
        "fusion": OnGpu(built_or_skipped(folder, "fusion.cu"), at_once),
        "reduction": OnGpu(built_or_skipped(folder, "reduction.cu")),
    }


def sums() -> Iterator[tuple[Any, ...]]:
    """Sums and their norms with every activation, as `rows.reference` takes them."""
    for number, given in enumerate(samples.of_sums()):
        x, residual, shape, weight, bias, eps, kind = given
        norm = Norm("norm", rows.ACTIVATIONS[number % 3], kind == "layer")
        yield norm, x, shape, weight, bias, eps, residual if number % 4 else None


def batches() -> Iterator[tuple[Any, ...]]:
    for *given, training, _momentum, eps in samples.of_channels():
        yield *given, training, eps


def by(run: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a function of channels with the launcher that it is given first."""
    return lambda launch, *given: run(partial(channels.on_cuda, launch), *given)


def reduced() -> Iterator[tuple[Any, ...]]:
    for name in reductions.TERMS:
        for given in samples.of_reductions():
            yield name, *given


# By name: the library, the arguments, what launches, what it means, and how far apart results may
# be, in units of the dtype.
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
    "reductions": ("reduction", reduced, reductions.forward_on_cuda, reductions.reference, 16),
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
    "reductions": {"reduce_rows", "reduce_columns"},
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
        assert arguments[7] is vector


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(150, 256), (70, 250), (30, 1000), (21, 4096), (9, 1023)])
def test_a_block_sums_the_gradients_of_all_its_rows(launchers, shape, dtype, monkeypatch):
    launch = launchers["fusion"]
    launch.launched.clear()
    monkeypatch.setattr(launch, "gpu", Gpu(-1, 1, 8))
    x, grad = samples._normal(0, *shape).to(dtype), samples._normal(1, *shape).to(dtype)
    weight, bias = (samples._normal(seed, shape[1]).to(dtype) for seed in (2, 3))
    added = samples._normal(4, *shape).to(dtype) if shape[0] % 2 else None
    given = (grad, x, [shape[1]], weight, bias, added, "gelu", True, 1e-5)
    found = row_kernels.backward_on_cuda(launch, *given)
    unit = torch.finfo(dtype).eps
    for got, expected in zip(found, rows.reference_backward(*given), strict=True):
        largest = 1 + float(expected.abs().max())
        torch.testing.assert_close(got, expected, atol=32 * unit * largest, rtol=0)
    assert all(map(torch.equal, found, row_kernels.backward_on_cuda(launch, *given)))
    # One block for the one multiprocessor: what all of its teams have is summed in it.
    summed = [arguments for kernel, arguments in launch.launched if "parameters" in kernel]
    assert {arguments[-2] for arguments in summed} == {1}


# Large planes, of which a block takes a chunk: of one, of three with a short last one, and odd.
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
        beside = {"styleforge_channels_totals"}
        passes = [arguments[-1] for kernel, arguments in launch.launched if kernel not in beside]
        assert set(passes) == {PLANES[shape]}
    assert all(map(torch.equal, found, channels.backward(run, *back)))


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


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((4096, 4096), (256, 512, 132)),  # two rows at a time
        ((2048, 2048), (128, 512, 132)),
        ((265, 4096), (256, 512, 132)),
        ((200, 4096), (256, 256, 200)),
        ((100, 256), (32, 128, 25)),
    ],
)
def test_blocks_of_gradients_are_large_where_there_are_rows_for_them(shape, found):
    given = rows.Rows(torch.empty(shape, device="meta"), None, None, (), *shape)
    assert row_kernels._persistent(given, row_kernels.BACKWARD, 132) == found


def test_gradients_ask_for_no_more_shared_memory_than_a_gpu_has():
    beside = 256  # bytes, which the kernel has in any case
    for major, most in ((7, 64 << 10), (8, 99 << 10), (9, 227 << 10)):
        assert row_kernels._shared_bytes(major) + beside <= most


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    ("shape", "multiprocessors", "several"),
    [
        ((2, 5, 64, 66), 5, True),  # more parts than a block has stages
        ((3, 2, 48, 50), 8, True),
        ((1, 7, 32, 36), 3, False),
    ],
    ids=str,
)
def test_blocks_tell_each_other_the_sums_of_a_channel(
    launchers, shape, multiprocessors, several, dtype, monkeypatch
):
    launch, unit = launchers["fusion"], torch.finfo(dtype).eps
    monkeypatch.setattr(launch, "gpu", Gpu(-1, multiprocessors, 8, 100 << 10))
    x = samples._normal(0, *shape).to(dtype) + 2
    grad = samples._normal(1, *shape).to(dtype)
    weight, bias = (samples._normal(seed, shape[1]) for seed in (2, 3))
    run = partial(channels.on_cuda, launch)
    launch.launched.clear()
    y, mean, inverse = channels.forward(run, x, weight, bias, None, None, True, 1e-5)
    exact = channels.reference(x.double(), weight, bias, None, None, True, 1e-5)
    for got, expected, units in zip((y, mean, inverse), exact, (16, 0, 0), strict=True):
        allowed = (16 * 1.2e-7 + units * unit) * (1 + float(expected.abs().max()))
        torch.testing.assert_close(got.double(), expected.double(), atol=allowed, rtol=0)
    back = (grad, x, weight, bias, mean, inverse, True, 1e-5)
    found = channels.backward(run, *back)
    for got, expected in zip(found, channels.reference_backward(*back), strict=True):
        allowed = 64 * unit * (1 + float(expected.abs().max()))
        torch.testing.assert_close(got, expected, atol=allowed, rtol=0)
    kernels, given = zip(*launch.launched, strict=True)
    assert kernels == ("styleforge_channels_joined", "styleforge_channels_joined_gradient")
    members = [arguments[at] for arguments, at in zip(given, (-3, -2), strict=True)]
    assert [count > 1 for count in members] == [several] * 2
    assert all(map(torch.equal, found, channels.backward(run, *back)))


@pytest.mark.parametrize(
    ("gpu", "slots"),
    [
        (Gpu(0, 132, 9, 228 << 10), (4, 2)),
        (Gpu(0, 108, 8, 164 << 10), (3, 1)),
        (Gpu(0, 128, 8, 100 << 10), (2, 1)),
        (Gpu(0, 40, 7, 64 << 10), (0, 0)),
    ],
)
def test_two_blocks_of_a_batch_norm_share_a_multiprocessor(gpu, slots):
    assert tuple(joined_channels.slots_of(gpu, tensors) for tensors in (1, 2)) == slots
    for tensors, count in enumerate(slots, 1):
        assert 2 * (joined_channels.bytes_of(count, tensors) + 1024) <= gpu.shared_bytes


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("channels", [1, 3, 64, 2048])
@pytest.mark.parametrize("vectors", [1, 40, 65_536, 262_144])
def test_no_block_has_two_parts_of_a_channel(vectors, channels, slots):
    found = joined_channels.parts_of(264, slots, channels, vectors)
    if found is None:
        assert vectors > 264 * slots * joined_channels.THREADS
        return
    blocks, members, length, held = found
    assert members <= blocks <= min(264, channels * members)
    assert length <= held * joined_channels.THREADS
    assert (members - 1) * length < vectors <= members * length


def test_all_blocks_of_a_batch_norm_have_as_many_parts():
    assert joined_channels.parts_of(264, 4, 64, 262_144) == (264, 132, 1986, 4)  # 32 each


def test_launches_that_may_run_at_once_have_counts_of_their_own():
    counts = Counts(torch.device("cpu"))
    first, other = counts.of_stream(1, 64), counts.of_stream(2, 64)
    assert counts.of_stream(1, 16) is first
    assert counts.of_stream(1, 65).numel() == 65
    of_graphs = [counts.of_graph(RESERVED // 4) for _ in range(5)]  # one more than are reserved
    places = [x.data_ptr() for x in (first, other, *of_graphs)]
    assert len(set(places)) == len(places)
    assert all(not x.any() for x in of_graphs)
    assert [x.numel() for x in of_graphs] == [RESERVED // 4] * 5


def test_a_block_does_not_wait_for_those_of_the_launch_before(launchers, monkeypatch):
    launch = launchers["fusion"]
    monkeypatch.setattr(launch, "gpu", Gpu(-1, 4, 8, 100 << 10))
    run = partial(channels.on_cuda, launch)
    launch.launched.clear()
    for seed in range(3):  # with the counts that the last one left
        x = samples._normal(seed, 2, 3, 64, 66) + seed
        found = channels.forward(run, x, None, None, None, None, True, 1e-5)
        exact = channels.reference(x, None, None, None, None, True, 1e-5)
        torch.testing.assert_close(found, exact, atol=1e-5, rtol=1e-5)
    counts = {arguments[7].data_ptr() for _, arguments in launch.launched}
    assert len(counts) == 1


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
def test_two_blocks_of_a_batch_norm_have_registers_and_gradients_do_not_spill(
    architecture, tmp_path
):
    command = [str(NVCC), "-std=c++17", f"-arch={architecture}", "-Xptxas", "-v", "-cubin"]
    command += ["-o", str(tmp_path / "out.cubin"), str(FOLDER / "fusion.cu")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    each = re.findall(
        r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", told, re.DOTALL
    )
    spilled = {kernel: int(stores) for kernel, stores, _ in each if kernel != "styleforge_row_norm"}
    assert len(spilled) == 10
    assert not any(spilled.values()), spilled
    registers = {kernel: int(count) for kernel, _, count in each}
    for kernel in (joined_channels.FORWARD, joined_channels.BACKWARD):
        assert registers[kernel] * 2 * joined_channels.THREADS <= 1 << 16
