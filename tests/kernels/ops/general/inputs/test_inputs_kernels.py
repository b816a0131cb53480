"""The CUDA kernels that create models' inputs, run on the CPU thread by thread."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.general.inputs import embedding, images, tables, windows
from kernels.table.launcher import Gpu
from tests.kernels.ops.binding import bound
from tests.kernels.ops.emulated import Launcher, built_or_skipped

embed = bound("embedding_position", embedding.launch_cuda)
UNIT = {torch.float32: 4e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("model_inputs"), "model_inputs.cu")


class OnSmallGpu(Launcher):
    gpu = Gpu(-1, 4, 8)


@pytest.fixture
def launch(library: ctypes.CDLL) -> Any:
    return OnSmallGpu(library)


def assert_close(found: Tensor, wanted: Tensor) -> None:
    assert found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted, atol=UNIT[found.dtype], rtol=UNIT[found.dtype])


def test_embeddings_are_those_of_the_reference(launch):
    for sample in embedding.samples():
        assert_close(embed(launch, *sample), embedding.reference(*sample))
    for sample in embedding.token_samples():
        found, given, numbers = embedding.launch_tokens_on_cuda(launch, *sample)
        wanted, there, rows = embedding.token_reference(*sample)
        assert_close(found, wanted)
        assert torch.equal(given, there)
        assert torch.equal(numbers, rows)
    assert {arguments[-2] for _, arguments in launch.launched} == {True, False}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("width", [1, 8, 33, 264, 1032, 1100])
def test_a_row_of_any_width_is_shared_out_whole(launch, width, dtype):
    generator = torch.Generator().manual_seed(width)
    table, position = torch.randn(2, 9, width, generator=generator).to(dtype)
    tokens = torch.randint(9, (3, 5), generator=generator)
    found = embed(launch, tokens, table, position)
    assert_close(found, embedding.reference(tokens, table, position))


@pytest.mark.parametrize("token", [-1, -7, 5, 1 << 40])
def test_a_token_that_is_not_in_the_table_makes_nan_and_no_access(launch, token):
    weight = torch.ones(5, 4)
    found = embed(launch, torch.tensor([[0, token]]), weight, weight)
    assert found[0, 0].eq(2).all()
    assert found[0, 1].isnan().all()
    found, *_ = embedding.launch_tokens_on_cuda(launch, [torch.tensor([token])], weight, 2)
    assert found[0, 0].isnan().all()
    assert not found[0, 1].any()


def test_more_sequences_than_a_launch_is_told_of_are_each_embedded(launch):
    generator = torch.Generator().manual_seed(0)
    tokens = [torch.randint(9, (number % 6,), generator=generator) for number in range(300)]
    weight = torch.randn(9, 5, generator=generator)
    found = embedding.launch_tokens_on_cuda(launch, tokens, weight, 4)
    assert len(launch.launched) == 2
    assert all(map(torch.equal, found, embedding.token_reference(tokens, weight, 4)))


def test_gradients_of_tables_are_those_of_the_reference(launch):
    for tokens, grad, *options in tables.samples():
        found = tables.launch_cuda(launch, tokens, grad, *options)
        exact = tables.reference(tokens, grad.double(), *options)
        assert found.dtype == grad.dtype
        unit = UNIT[grad.dtype]
        torch.testing.assert_close(found.double(), exact, atol=4 * unit, rtol=unit)


@pytest.mark.parametrize("width", [4, 7, 1100])
@pytest.mark.parametrize("left_out", [-1, 1])
def test_the_row_of_a_frequent_token_is_summed_over_many_blocks(launch, left_out, width):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(6, (4, 75), generator=generator)
    tokens[tokens == 3] = 2  # no token is 3
    tokens[:, :30] = 4
    tokens[0, 40:60] = 1
    grad = torch.randn(4, 75, width, generator=generator)
    found = tables.launch_cuda(launch, tokens, grad, 7, left_out)
    exact = tables.reference(tokens, grad.double(), 7, left_out)
    torch.testing.assert_close(found.double(), exact, atol=1e-5, rtol=1e-5)
    assert not found[3].any()
    assert launch.launched[0][1][-2] < 20  # rows per block, fewer than the token has


def test_tokens_that_are_not_in_the_table_have_no_gradient(launch):
    tokens = torch.tensor([1, -1, 5, -(1 << 40), 1, 1 << 40, 1 << 32])
    found = tables.launch_cuda(launch, tokens, torch.ones(7, 4), 5)
    assert found.sum(1).tolist() == [0, 8, 0, 0, 0]
    assert tables.launch_cuda(launch, tokens[:0], torch.ones(0, 4), 5).eq(0).all()


@pytest.mark.parametrize("count", [1, 255, 256, 257, 2300])
def test_tokens_are_in_a_stable_order(launch, count):
    tokens = torch.randint(-9, 90, (count,), generator=torch.Generator().manual_seed(count))
    tokens[::7], tokens[3::50], tokens[5::50] = 30, 1 << 40, -(1 << 40)
    tables.launch_cuda(launch, tokens, torch.ones(count, 1), 80)
    (found,) = (given[1] for name, given in launch.launched if name == "styleforge_table_gradient")
    keys, order = torch.sort(tokens.clamp(-1, 80), stable=True)
    assert torch.equal(found, torch.stack((keys, order)).int())


def test_more_tokens_than_tiles_are_searched_for_are_sorted_by_pytorch(launch, monkeypatch):
    tokens = torch.randint(9, (600,), generator=torch.Generator().manual_seed(0))
    grad = torch.randn(600, 3, generator=torch.Generator().manual_seed(1))
    here = tables.launch_cuda(launch, tokens, grad, 11)
    monkeypatch.setattr(tables, "_MOST_TILES", 2)
    assert torch.equal(tables.launch_cuda(launch, tokens, grad, 11), here)
    names = [name for name, _ in launch.launched]
    assert names.count("styleforge_sort_tiles") == 1
    assert names.count("styleforge_table_gradient") == 2


@pytest.fixture
def _memory_of_nan():
    """Fill newly allocated memory with NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_memory_of_nan")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize(("entries", "width"), [(9, 5), (700, 33), (3, 8)])
def test_rows_that_no_token_has_are_zero(launch, entries, width, dtype):
    tokens = torch.tensor([1, 1, 0])
    found = tables.launch_cuda(launch, tokens, torch.ones(3, width, dtype=dtype), entries)
    assert found[:2].eq(torch.tensor([[1], [2]])).all()
    assert found[2:].eq(0).all()


def test_pictures_are_those_of_the_reference(launch):
    for sample in images.samples():
        assert_close(images.launch_cuda(launch, *sample), images.reference(*sample))


@pytest.mark.parametrize("size", [[12, 17], [80, 61], [1, 1]])
def test_a_large_picture_loses_no_digits(launch, size):
    given = torch.randint(256, (1, 90, 200, 3), generator=torch.Generator().manual_seed(0)).byte()
    found = images.launch_cuda(launch, given, torch.zeros(3), torch.ones(3), size)
    exact = images.reference(given, torch.zeros(3).double(), torch.ones(3).double(), size)
    torch.testing.assert_close(found.double(), exact, atol=5e-7, rtol=5e-7)


@pytest.mark.parametrize("width", [23, 24])  # loads of 8 pixels fit 24, not 23
def test_more_pictures_than_a_launch_is_told_of_keep_their_own_numbers(launch, width):
    generator = torch.Generator().manual_seed(0)
    given = torch.randint(256, (50, 9, width, 3), generator=generator).byte()
    boxes = [x for number in range(50) for x in (number % 4, number % 5, 5, 6 + number % 13)]
    mirrored = [number % 3 == 0 for number in range(50)]
    color = [x for number in range(50) for x in (1 + number / 100, 1.0, 0.9, number / 50)]
    options = [6, 40], boxes, mirrored, color
    found = images.launch_cuda(launch, given, torch.zeros(3), torch.ones(3), *options)
    assert len(launch.launched) == 2
    assert_close(found, images.reference(given, torch.zeros(3), torch.ones(3), *options))
    assert {arguments[-2] for _, arguments in launch.launched} == {width == 24}


def test_pictures_that_are_treated_alike_are_told_of_once(launch):
    given = torch.arange(60 * 2 * 8 * 3).remainder(251).view(60, 2, 8, 3).byte()
    options = [3, 5], [0, 1, 2, 7], [True], [1.2, 1.0, 0.5, 0.1]
    found = images.launch_cuda(launch, given, torch.zeros(3), torch.ones(3), *options)
    assert len(launch.launched) == 1
    assert_close(found, images.reference(given, torch.zeros(3), torch.ones(3), *options))


def test_windows_and_their_gradients_are_those_of_the_reference(launch):
    for sample in windows.samples():
        assert_close(windows.launch_cuda(launch, *sample), windows.reference(*sample))
    for sample in windows.samples_of_backward():
        wanted = windows.backward_reference(*sample)
        assert_close(windows.backward_on_cuda(launch, *sample), wanted)


@pytest.mark.parametrize("reduce", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize(
    ("shape", "size", "step"),
    [((3, 4096), 16, 4), ((70, 40), 6, 4), ((2, 5001), 8, 12), ((2, 2600), 2500, 1)],
)
def test_windows_of_many_groups_are_those_of_the_reference(launch, shape, size, step, reduce):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    options, near = (size, step, reduce), {"atol": 4e-6 * size**0.5, "rtol": 1e-5}
    y, exact = windows.reference(x, *options), windows.reference(x.double(), *options)
    torch.testing.assert_close(windows.launch_cuda(launch, x, *options).double(), exact, **near)
    grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    found = windows.backward_on_cuda(launch, grad, x, y, *options)
    wanted = windows.backward_reference(grad.double(), x.double(), y.double(), *options)
    torch.testing.assert_close(found.double(), wanted, **near)


@pytest.mark.parametrize("reduce", ["mean", "max"])
@pytest.mark.parametrize("rows", [1, 4, 6])
@pytest.mark.parametrize(
    ("length", "size", "step", "at_once"),
    [(64, 16, 4, 4), (64, 16, 8, 8), (64, 3, 1, 1), (60, 16, 4, 4), (61, 16, 4, 1)],
)
def test_windows_of_16_bits_load_as_much_of_a_group_as_lies_together(
    launch, length, size, step, at_once, rows, reduce
):
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-9, 9, (rows, length), generator=generator).half()
    y = windows.reference(x, size, step, reduce)
    assert_close(windows.launch_cuda(launch, x, size, step, reduce), y)
    assert launch.launched[0][1][-1] == at_once
    grad = torch.randn(y.shape, generator=generator).half()
    found = windows.backward_on_cuda(launch, grad, x, y, size, step, reduce)
    assert_close(found, windows.backward_reference(grad, x, y, size, step, reduce))
    if reduce == "mean":
        assert launch.launched[1][1][-2:] == (length % 8 == 0, at_once)
