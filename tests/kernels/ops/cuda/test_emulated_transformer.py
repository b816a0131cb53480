"""The kernels of transformers, run on the CPU thread by thread, against float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.attention import ladder_on_cuda as ladder
from kernels.ops.transformer.attention import on_cuda as attention
from kernels.ops.transformer.attention.reference import (
    attention_backward_reference,
    attention_reference,
)
from kernels.ops.transformer.ffn import on_cuda as ffn
from kernels.ops.transformer.ffn.reference import (
    attention_block,
    ffn_reference,
    projection_reference,
)
from kernels.table.launcher import Gpu
from tests.helpers.cases import cases
from tests.helpers.daily import matrix
from tests.kernels.ops.cuda.emulated_transformer import EmulatedTransformer, built_or_skipped

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
HALVES = (torch.float16, torch.bfloat16)
STATE = torch.tensor([987654321, 42])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> EmulatedTransformer:
    return built_or_skipped(tmp_path_factory.mktemp("emulated"))


@pytest.fixture
def launch(library: EmulatedTransformer) -> Any:
    library.kernels.in_turn = False
    return SimpleNamespace(library=library, gpu=Gpu(-1, 2, 8), stream=None)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rows(
    dtype: torch.dtype, heads: int, queries: int, keys: int, size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v as views of one packed tensor, as a projection returns them."""
    packed = normal(1, max(queries, keys), 3, heads, size).to(dtype)
    q, k, v = packed.permute(2, 0, 3, 1, 4)
    return q[:, :, :queries], k[:, :, :keys], v[:, :, :keys]


def wide(*given: Any) -> list[Any]:
    return [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in given]


def assert_close(got: Tensor, expected: Tensor, factor: float = 4) -> None:
    """Check that rounding to the dtype explains the difference, and that nothing is NaN."""
    eps = torch.finfo(got.dtype).eps
    largest = max(1.0, float(expected.abs().max()))
    assert got.shape == expected.shape
    assert float((got.double() - expected).abs().max()) <= factor * eps * largest


def hidden_mask(queries: int, keys: int, dtype: torch.dtype) -> Tensor:
    mask = normal(1, 1, queries, keys, seed=5).to(dtype)
    mask[..., 1::3] = -torch.inf
    mask[:, :, 2] = -torch.inf  # a fully masked query
    return mask


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("size", "queries", "keys", "causal"),
    [(64, 5, 7, False), (32, 130, 70, False), (64, 70, 131, True), (128, 65, 66, True)],
)
def test_the_third_rung_is_right(launch, dtype, size, queries, keys, causal, in_turn):
    launch.library.kernels.in_turn = in_turn
    q, k, v = rows(dtype, 2, queries, keys, size)
    out, lse = attention.attention(launch, q, k, v, None, size**-0.5, causal)
    expected, sums = attention_reference(*wide(q, k, v, None, size**-0.5, causal))
    assert_close(out, expected)
    torch.testing.assert_close(lse.double(), sums, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [32, 64, 128])
def test_a_mask_and_dropout_are_those_of_the_reference(launch, dtype, size):
    q, k, v = rows(dtype, 2, 37, 71, size)
    mask = hidden_mask(37, 71, dtype)
    options: tuple[Any, ...] = (size**-0.5, False, 0.3, STATE)
    out, lse = attention.attention(launch, q, k, v, mask, *options)
    expected, sums = attention_reference(*wide(q, k, v, mask, *options))
    assert_close(out, expected)
    assert not out[:, :, 2].any()
    assert (lse[:, :, 2] == -torch.inf).all()
    torch.testing.assert_close(lse.double(), sums, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scores_of_a_thousand_err_at_most_twice_as_much_as_pytorchs(launch, dtype):
    q, k, v = rows(dtype, 1, 33, 66, 64)
    q = q * 50
    expected = attention_reference(*wide(q, k, v, None, 1.0))[0]
    assert float((q.double() @ k.double().transpose(-1, -2)).abs().max()) > 1000

    def error(found: Tensor) -> float:
        return float((found.double() - expected).abs().max())

    unit = torch.finfo(dtype).eps * float(expected.abs().max())
    theirs = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    assert error(attention.attention(launch, q, k, v)[0]) <= 2 * error(theirs) + unit


@matrix(
    {
        "size, queries, keys, causal, dropout": [
            (64, 70, 131, False, 0.0),
            (32, 66, 66, True, 0.0),
            (128, 40, 65, False, 0.3),
        ],
        "in_turn": [False, True],
        "dtype": HALVES,
    },
    meeting=1,
)
def test_the_gradients_are_right(launch, dtype, size, queries, keys, causal, dropout, in_turn):
    launch.library.kernels.in_turn = in_turn
    q, k, v = rows(dtype, 2, queries, keys, size)
    mask = hidden_mask(queries, keys, dtype) if dropout else None
    options: tuple[Any, ...] = (size**-0.5, causal, dropout, STATE if dropout else None)
    out, lse = attention.attention(launch, q, k, v, mask, *options)
    grad = normal(*q.shape, seed=3).to(dtype)
    got = attention.attention_backward(launch, grad, q, k, v, mask, out, lse, *options)
    expected = attention_backward_reference(*wide(grad, q, k, v, mask, out, lse, *options))
    for mine, exact in zip(got, expected, strict=True):
        assert_close(mine, exact, 6)


@pytest.mark.parametrize(
    "rung",
    [ladder.rung(each) for each in (ladder.first, ladder.second, ladder.third)],
    ids=["first", "second", "third"],
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [32, 64, 128])
def test_every_rung_is_self_attention(launch, rung, dtype, size):
    width = 2 * size
    given = [
        each.to(dtype)
        for each in (
            normal(2, 35, width),
            normal(3 * width, width, seed=1) / width**0.5,
            normal(width, width, seed=2) / width**0.5,
            normal(3 * width, seed=3),
            normal(width, seed=4),
        )
    ]
    got = rung(launch, *given, size**-0.5, 2)
    assert_close(got, attention_block(*wide(*given, size**-0.5, 2)), 8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("width", "hidden"), [(16, 64), (5, 9)])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_bias_gelu_and_residual_follow_the_products(launch, dtype, width, hidden, approximate):
    x = normal(3, 7, width).to(dtype)
    first = (normal(hidden, width, seed=1) / width**0.5).to(dtype)
    second = (normal(width, hidden, seed=2) / hidden**0.5).to(dtype)
    bias = normal(hidden, seed=3).to(dtype) if approximate == "none" else None
    given = (x, first, bias, second, normal(width, seed=4).to(dtype), True, approximate, x)
    assert_close(ffn.ffn(launch, *given), ffn_reference(*wide(*given)), 6)
    given = (normal(3, 7, hidden, seed=5).to(dtype), second, None, x)
    assert_close(ffn.projection(launch, *given), projection_reference(*wide(*given)), 6)


@pytest.mark.full
def test_every_kernel_that_is_not_for_hopper_ran(library, launch):
    kernels = library.kernels
    for test in (
        test_the_third_rung_is_right,
        test_a_mask_and_dropout_are_those_of_the_reference,
        test_the_gradients_are_right,
        test_every_rung_is_self_attention,
        test_bias_gelu_and_residual_follow_the_products,
    ):
        for case in cases(test) if kernels.names - kernels.launched else ():
            test(launch, **case)
    missing = kernels.names - kernels.launched
    assert not missing, sorted(missing)
