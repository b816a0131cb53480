"""Gradients of elementwise operations and their sums over rows, in one pass on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.ops.general.elementwise.functions import FUNCTIONS
from kernels.ops.general.elementwise.sums import reference_sums, summed
from kernels.table.registry import OPS, prepare
from tests.helpers.daily import matrix

SUMMED = [name for name, row in FUNCTIONS.items() if len(row.inputs) > 1 and not row.drops]
NAMES = pytest.mark.parametrize("name", SUMMED)
# The first bypasses the caches; a row of the second has two tiles and a fractional number of
# pieces.
SHAPES = [(2051, 1088), (70, 4168), (33, 64)]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    (status,) = prepare(["elementwise_sums_backward"])
    if "no C++ compiler" in status.reason:
        pytest.skip(status.reason)
    assert status.ready, status


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def given(name: str, shape: tuple[int, int], dtype: torch.dtype, *, is_whole: bool) -> list[Any]:
    """Return the arguments, with a row and a number as other inputs; all gradients are summed."""
    row, (_, columns) = FUNCTIONS[name], shape
    grad, x = normal(0, *shape).to(dtype), normal(1, *shape).to(dtype)
    others = [normal(2, columns).to(dtype), normal(3, 1).to(dtype)]
    inputs = [x] if row.of_result else [x, *others][: len(row.inputs)]
    gradients = len(row.gradients)
    of = list(range(gradients))
    wanted = [is_whole] + [False] * (gradients - 1)
    return [grad, inputs, name, wanted, others[:gradients], of]


def wide(value: Any) -> Any:
    if isinstance(value, list):
        return [wide(each) for each in value]
    return value.double() if isinstance(value, Tensor) else value


@matrix({"name": SUMMED, "shape": SHAPES, "dtype": DTYPES, "is_whole": [False, True]})
def test_sums_over_rows_and_over_all_are_those_of_pytorch(name, shape, dtype, is_whole):
    arguments = given(name, shape, dtype, is_whole=is_whole)
    found = OPS["elementwise_sums_backward"].operation(*arguments)
    exact = reference_sums(*wide(arguments))
    assert len(found) == len(exact) == is_whole + len(arguments[-1])
    rows, columns = shape
    for mine, right in zip(found, exact, strict=True):
        # A sum of many terms of either sign may be smaller than its rounding error.
        size = max(float(right.abs().max()), (rows * columns / mine.numel()) ** 0.5)
        assert mine.dtype == dtype
        assert mine.shape == right.shape
        assert float((mine.double() - right).abs().max()) <= 16 * torch.finfo(dtype).eps * size


@NAMES
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_number_of_threads_changes_no_bit_of_a_sum(name, shape):
    arguments = given(name, shape, torch.float32, is_whole=True)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(OPS["elementwise_sums_backward"].operation(*arguments))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))


@NAMES
def test_a_gradient_that_lies_beside_a_vector_has_the_same_sums(name):
    arguments = given(name, (70, 64), torch.float32, is_whole=True)
    beside = torch.empty(70 * 64 + 1)[1:].view(70, 64).copy_(arguments[0])
    found = OPS["elementwise_sums_backward"].operation(*arguments)
    moved = OPS["elementwise_sums_backward"].operation(beside, *arguments[1:])
    for mine, theirs in zip(moved, found, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-5)


class Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.found.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("shape", "like", "is_of_channels"),
    [
        ((2, 3, 4, 5), (3, 1, 1), True),
        ((2, 3, 4, 5), (1, 3, 1, 1), True),
        ((2, 3, 4), (3, 1), True),
        ((2, 3, 4, 5), (2, 3, 1, 1), False),
        ((2, 3, 4, 5), (4, 1), False),
        ((2, 3), (3,), False),
        ((2, 1, 4, 5), (1,), False),
    ],
)
def test_gradients_of_channels_are_summed_by_an_operation_of_their_own(shape, like, is_of_channels):
    whole = normal(0, *shape)
    with Operations() as operations:
        found = summed(whole, normal(1, *like))
    torch.testing.assert_close(found, whole.sum_to_size(like))
    assert (
        torch.ops.styleforge.channel_bias_backward.default in operations.found
    ) == is_of_channels
