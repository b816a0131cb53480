"""Attention, feed-forward and projection against float64, on the CPU and on a GPU."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import kernel_fusion as kf
from kernels.ops import (
    fused_attention,
    fused_attention_v1,
    fused_attention_v2_forward,
    fused_attention_v3_forward,
    fused_ffn_forward,
    output_projection_forward,
)
from kernels.ops.transformer.attention.reference import backward_by_rows
from kernels.table import philox
from kernels.table.registry import OPS, TRANSFORMER
from tests.helpers.daily import matrix

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
LENGTHS = [(1, 1), (7, 7), (63, 65), (65, 63), (1000, 77)]
RUNGS = [fused_attention_v1, fused_attention_v2_forward, fused_attention_v3_forward]

pytestmark = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def ready(native_kernels: Any, device: str) -> None:
    """Check that the library is built if there is a GPU."""
    if device == "cuda":
        missing = [s for s in kf.statuses("cuda", TRANSFORMER) if not s.ready]
        assert not missing, missing


def normal(device: str, dtype: torch.dtype, *shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(device, dtype)


def packed(
    device: str, dtype: torch.dtype, queries: int, keys: int, size: int, samples: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v of three heads as views of one projection."""
    given = normal(device, dtype, samples, max(queries, keys), 3, 3, size)
    q, k, v = given.permute(2, 0, 3, 1, 4)
    return q[:, :, :queries], k[:, :, :keys], v[:, :, :keys]


def error(found: Tensor, exact: Tensor) -> float:
    return float((found.detach().double() - exact.detach()).abs().max())


def assert_errs_at_most_twice_as_much(
    ours: Tensor, theirs: Tensor, exact: Tensor, between: float = 0.0
) -> None:
    """Check that our error is at most twice PyTorch's.

    `between` is the size of values that cancel on the way to the result.
    """
    # A result may round either way, even if PyTorch is lucky.
    unit = torch.finfo(ours.dtype).eps * max(between, float(exact.detach().abs().max()))
    assert ours.dtype == theirs.dtype
    assert error(ours, exact) <= 2 * error(theirs, exact) + unit


def sdpa(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    if mask is not None and causal:
        hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).triu(1)
        mask, causal = mask.masked_fill(hidden, -math.inf), False
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


@matrix(
    {
        "causal": [False, True],
        "masked": [False, True],
        "size": [32, 64, 128, 48],
        "lengths": LENGTHS,
        "dtype": DTYPES,
    }
)
def test_attention_and_its_gradients_err_at_most_twice_as_much_as_pytorchs(
    device, dtype, lengths, size, masked, causal
):
    queries, keys = lengths
    q, k, v = packed(device, dtype, queries, keys, size)
    mask = normal(device, dtype, 2, 1, queries, keys, seed=1) if masked else None
    wide = q.double(), k.double(), v.double()
    for x in wide:
        x.requires_grad_()
    exact = sdpa(*wide, None if mask is None else mask.double(), causal)
    grad = normal(device, dtype, *exact.shape, seed=2)
    exact_gradients = torch.autograd.grad(exact, wide, grad.double())
    found: list[tuple[Tensor, ...]] = []
    for run in (
        lambda q, k, v: fused_attention(q, k, v, mask, size**-0.5, causal)[0],
        lambda q, k, v: sdpa(q, k, v, mask, causal),
    ):
        given = [x.detach().requires_grad_() for x in (q, k, v)]
        out = run(*given)
        found.append((out, *torch.autograd.grad(out, given, grad)))
    for ours, theirs, expected in zip(*found, (exact, *exact_gradients), strict=True):
        # A score's gradient is the difference of two sums of `size` products, and both have errors.
        between = size if dtype == torch.float32 else size**0.5
        assert_errs_at_most_twice_as_much(ours, theirs, expected, between)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scores_of_a_thousand_err_at_most_twice_as_much_as_pytorchs(device, dtype):
    q, k, v = packed(device, dtype, 65, 130, 64)
    q = q * 400
    assert float((q.double() @ k.double().transpose(-1, -2)).abs().max()) / 8 > 1000
    exact = sdpa(q.double(), k.double(), v.double(), None, False)
    ours = fused_attention(q, k, v, None, 0.125)[0]
    assert_errs_at_most_twice_as_much(ours, sdpa(q, k, v, None, False), exact)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_query_that_sees_no_key_gets_zeros_and_no_gradient(device, dtype):
    q, k, v = (x.detach().requires_grad_() for x in packed(device, dtype, 5, 7, 64))
    mask = torch.zeros(1, 1, 5, 7, dtype=dtype, device=device)
    mask[:, :, 3] = -math.inf
    out, lse = fused_attention(q, k, v, mask, 0.125)
    assert not out[:, :, 3].any()
    assert bool((lse[:, :, 3] == -math.inf).all())
    assert bool(out[:, :, 2].any())
    out.sum().backward()
    assert q.grad is not None
    assert not q.grad[:, :, 3].any()
    assert all(x.grad is not None and bool(x.grad.isfinite().all()) for x in (q, k, v))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_masked_key_has_no_weight(device, dtype):
    q, k, v = packed(device, dtype, 9, 70, 32)
    mask = torch.zeros(1, 1, 1, 70, dtype=dtype, device=device)
    mask[..., 5:66] = -math.inf
    kept = [*range(5), *range(66, 70)]
    ours = fused_attention(q, k, v, mask, 32**-0.5)[0]
    exact = sdpa(q.double(), k[:, :, kept].double(), v[:, :, kept].double(), None, False)
    assert_errs_at_most_twice_as_much(
        ours, sdpa(q, k[:, :, kept], v[:, :, kept], None, False), exact
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dropout_drops_what_the_reference_drops_forward_and_backward(device, dtype):
    given = packed(device, dtype, 66, 70, 64)
    state = torch.tensor([1 << 40 | 5, 77], device=device)
    options: tuple[Any, ...] = (None, 0.125, False, 0.3, state)
    found: list[tuple[Tensor, ...]] = []
    for run in (fused_attention, OPS["fused_attention"].reference):
        leaves = [x.detach().requires_grad_() for x in given]
        out = run(*leaves, *options)[0]
        found.append((out, *torch.autograd.grad(out.float().square().sum(), leaves)))
    eps = torch.finfo(dtype).eps
    for ours, expected in zip(*found, strict=True):
        largest = float(expected.detach().abs().max())
        assert error(ours, expected.double()) <= 16 * eps * largest + 1e-5 * largest


def test_the_gradient_of_a_mask_is_summed_over_what_it_was_expanded_to(device):
    q, k, v = (x.double() for x in packed(device, torch.float32, 5, 6, 32))
    mask = normal(device, torch.float64, 1, 3, 1, 6).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda mask: fused_attention(q, k, v, mask, 0.2)[0], (mask,), fast_mode=True
    )


@pytest.mark.parametrize("causal", [False, True])
def test_first_and_second_derivatives_are_right(device, causal):
    given = [x.double().detach().requires_grad_() for x in packed(device, torch.float32, 4, 5, 32)]
    mask = normal(device, torch.float64, 2, 1, 4, 5)

    def run(*x: Tensor) -> Tensor:
        return fused_attention(*x, mask, 0.2, causal)[0]

    assert torch.autograd.gradcheck(run, given, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, given, fast_mode=True)


def test_the_backward_by_rows_keeps_little_and_is_the_same(device):
    q, k, v = (x.double() for x in packed(device, torch.float32, 50, 40, 32))
    state = torch.tensor([3, 4], device=device)
    mask = normal(device, torch.float64, 1, 3, 50, 40)
    out, lse = OPS["fused_attention"].reference(q, k, v, mask, 0.2, True, 0.2, state)
    grad = normal(device, torch.float64, *q.shape, seed=5)
    given = (grad, q, k, v, mask, out, lse, 0.2, True, 0.2, state)
    expected = OPS["fused_attention_backward"].reference(*given)
    for most in (1, 6 * 40 * 7, 1 << 20):
        options = (*given[:5], *given[6:])  # without the result
        for mine, exact in zip(backward_by_rows(*options, most_scores=most), expected, strict=True):
            torch.testing.assert_close(mine, exact)


@pytest.mark.parametrize("shape", [(0, 3, 5, 7), (2, 0, 5, 7), (2, 3, 0, 7), (2, 3, 5, 0)], ids=str)
def test_nothing_gives_nothing(device, shape):
    samples, heads, queries, keys = shape
    q = normal(device, torch.float16, samples, heads, queries, 64).requires_grad_()
    k = normal(device, torch.float16, samples, heads, keys, 64)
    out, lse = fused_attention(q, k, k)
    assert (out.shape, lse.shape) == (q.shape, q.shape[:3])
    assert not out.any()
    out.sum().backward()


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("k and v of one shape", {"v": (2, 3, 9, 64)}),
        ("does not fit k", {"k": (2, 3, 7, 32), "v": (2, 3, 7, 32)}),
        ("the scale must be positive", {"scale": 0.0}),
        ("below 1", {"dropout": 1.0}),
        ("needs the state", {"dropout": 0.5}),
        ("the mask must be", {"mask": torch.float64}),
    ],
)
def test_what_does_not_fit_is_a_value_error(device, message, change):
    shapes = {"q": (2, 3, 5, 64), "k": (2, 3, 7, 64), "v": (2, 3, 7, 64)}
    given: dict[str, Any] = {
        name: torch.zeros(change.get(name, shape), device=device) for name, shape in shapes.items()
    }
    given |= {name: value for name, value in change.items() if name not in shapes}
    if "mask" in change:
        given["mask"] = torch.zeros(2, 3, 5, 7, dtype=change["mask"], device=device)
    with pytest.raises(ValueError, match=message):
        fused_attention(**given)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_runs_are_bit_equal_and_write_nothing_else(device, dtype):
    # A view surrounded by NaN shows reads and writes beyond it.
    guarded = torch.full((2, 130, 3, 5, 64), math.nan, dtype=dtype, device=device)
    inside = guarded[:, 1:-1, :, 1:-1]
    inside.copy_(normal(device, dtype, *inside.shape))
    before = guarded.clone()
    q, k, v = inside.permute(2, 0, 3, 1, 4)
    first = [x.detach().requires_grad_() for x in (q, k, v)]
    out = fused_attention(*first, None, 0.125)[0]
    gradients = torch.autograd.grad(out, first, torch.ones_like(out))
    for _ in range(3):
        again = fused_attention(*first, None, 0.125)[0]
        assert torch.equal(again, out)
        found = torch.autograd.grad(again, first, torch.ones_like(out))
        assert all(map(torch.equal, found, gradients))
    assert bool(out.isfinite().all())
    assert torch.equal(guarded.isnan(), before.isnan())


@matrix(
    {
        "size, heads": [(32, 2), (64, 3), (24, 2)],
        "length": [1, 7, 65],
        "dtype": DTYPES,
        "rung": RUNGS,
    }
)
def test_every_rung_errs_at_most_twice_as_much_as_pytorch(device, rung, dtype, length, size, heads):
    width = size * heads
    x = normal(device, dtype, 2, length, width)
    weights = [normal(device, dtype, rows, width) / width**0.5 for rows in (3 * width, width)]
    biases = [normal(device, dtype, rows) for rows in (3 * width, width)]

    def layers(x: Tensor, w_qkv: Tensor, w_out: Tensor, bias: Tensor, bias_out: Tensor) -> Tensor:
        qkv = F.linear(x, w_qkv, bias).view(2, length, 3, heads, size)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return F.linear(y.transpose(1, 2).flatten(2), w_out, bias_out)

    given = x, *weights, *biases
    exact = layers(*(each.double() for each in given))
    ours = rung(*given, size**-0.5, heads)
    assert_errs_at_most_twice_as_much(ours, layers(*given), exact)


@matrix(
    {
        "residual": [False, True],
        "approximate": ["none", "tanh"],
        "width, hidden": [(64, 256), (8, 8), (72, 200), (5, 9)],
        "rows": [1, 7, 130, 1000],
        "dtype": DTYPES,
    }
)
def test_the_feed_forward_network_errs_at_most_twice_as_much_as_pytorch(
    device, dtype, rows, width, hidden, approximate, residual
):
    x = normal(device, dtype, rows, width)
    weights = normal(device, dtype, hidden, width) / width**0.5, normal(device, dtype, hidden)
    more = normal(device, dtype, width, hidden) / hidden**0.5, normal(device, dtype, width)
    given = x, *weights, *more

    def layers(x: Tensor, first: Tensor, bias: Tensor, second: Tensor, last: Tensor) -> Tensor:
        y = F.linear(F.gelu(F.linear(x, first, bias), approximate=approximate), second, last)
        return y + x if residual else y

    exact = layers(*(each.double() for each in given))
    for vectorized in (True, False):
        more_given = vectorized, approximate, x if residual else None
        ours = fused_ffn_forward(*given, *more_given)
        assert_errs_at_most_twice_as_much(ours, layers(*given), exact)
        assert torch.equal(fused_ffn_forward(*given, *more_given), ours)
    if width != hidden:
        turned = (x, weights[0].t(), weights[1], more[0].t(), more[1])
        ours = fused_ffn_forward(*turned, True, approximate, x if residual else None)
        assert_errs_at_most_twice_as_much(ours, layers(*given), exact)


@pytest.mark.parametrize(
    ("message", "first", "second"),
    [
        ("both transposed", (9, 5), (9, 5)),
        ("both transposed", (9, 4), (5, 9)),
        ("fc2_weight must be", (9, 5), (5, 8)),
    ],
)
def test_weights_of_another_layout_are_refused(device, message, first, second):
    x = torch.zeros(2, 5, device=device)
    with pytest.raises(ValueError, match=message):
        fused_ffn_forward(
            x, torch.zeros(first, device=device), None, torch.zeros(second, device=device), None
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("rows", "width", "columns"), [(1, 8, 8), (65, 512, 264), (7, 5, 9)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_projection_errs_at_most_twice_as_much_as_pytorch(
    device, dtype, rows, width, columns, bias
):
    x, residual = normal(device, dtype, rows, width), normal(device, dtype, rows, columns, seed=1)
    weight = normal(device, dtype, columns, width) / width**0.5
    given = x, weight, normal(device, dtype, columns) if bias else None, residual

    def layers(x: Any, weight: Any, bias: Any, residual: Any) -> Tensor:
        return F.linear(x, weight, bias) + residual

    exact = layers(*(None if each is None else each.double() for each in given))
    ours = output_projection_forward(*given)
    assert_errs_at_most_twice_as_much(ours, layers(*given), exact)


@pytest.mark.gpu
def test_a_kernel_asked_for_by_name_refuses_heads_that_it_has_no_code_for(device):
    if device == "cpu":
        pytest.skip("the CPU has no kernel by choice")
    q, k, v = packed(device, torch.float16, 5, 7, 48)
    assert kf.ops.fused_attention(q, k, v)[0].shape == q.shape
    with pytest.raises(kf.KernelUnavailable, match=r"fused_attention: .* heads of 48"):
        kf.kernels.attention.fused_attention(q, k, v)


@pytest.mark.gpu
def test_a_graph_draws_a_new_mask_at_every_replay(device):
    if device == "cpu":
        pytest.skip("graphs are CUDA's")
    q, k, v = packed(device, torch.float16, 64, 64, 64)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        state = philox.draw_state(q.device)
        out = fused_attention(q, k, v, None, 0.125, False, 0.5, state)[0]
    graph.replay()
    first = out.clone()
    graph.replay()
    assert not torch.equal(out, first)


@pytest.mark.gpu
def test_memory_grows_linearly_with_the_length(device):
    if device == "cpu":
        pytest.skip("memory is counted on a GPU")
    used: list[int] = []
    for length in (2048, 4096, 8192):
        q, k, v = packed(device, torch.float16, length, length, 64, samples=1)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        out = fused_attention(q, k, v, None, 0.125)
        used.append(torch.cuda.max_memory_allocated() - before)
        assert out[0].numel() * 2 <= used[-1] < 3 * out[0].numel() * 2
    assert used[2] <= 2.1 * used[1]
