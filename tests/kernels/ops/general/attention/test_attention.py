"""Properties of the attention operations, tested against PyTorch's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import kernel_fusion as kf
from kernels.ops.general.attention import gathered
from kernels.table.philox import kept_elements, kept_scale
from kernels.table.registry import OPS, prepare
from tests.helpers.daily import some_daily
from utils.tf32 import tf32_allowed

ON = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
STATE = torch.tensor([5 << 33, 7])
BLOCKS = torch.tensor([[True, False, False], [False, True, True]])
ANGLES = torch.linspace(0, 6, 24).view(6, 4)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare([name for name, op in OPS.items() if op.group == "attention"]):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready or status.by_choice, status


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rotated(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Rotate by multiplying complex numbers."""
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else torch.stack(x.chunk(2, -1), -1)
    turned = torch.view_as_complex(pairs.double().contiguous()) * torch.complex(
        cos.double(), sin.double()
    )
    parts = torch.view_as_real(turned)
    whole = parts.flatten(-2) if interleaved else torch.cat(parts.unbind(-1), -1)
    return whole.to(x.dtype)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_heads(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    q, k, v = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def dropped(x: Tensor, p: float, _training: bool, state: Tensor) -> Tensor:
    return x * kept_elements(state, x.numel(), p).view(x.shape) * kept_scale(p)


def sparse(q: Tensor, k: Tensor, v: Tensor, blocks: Tensor, *_: Any) -> Tensor:
    whole = blocks.repeat_interleave(3, 0).repeat_interleave(2, 1)
    return F.scaled_dot_product_attention(q, k, v, whole)


def summed(x: Tensor, places: Tensor, *_: Tensor) -> Tensor:
    return torch.stack([x[places == block].sum(0) for block in range(3)])


# By case: the operation, its arguments in FP32, and PyTorch's result for them.
Q, K, V = (normal(seed, 2, 3, 6, 8) for seed in range(3))
MASK = normal(3, 2, 1, 6, 6)
PLACES = torch.tensor([2, 0, 2, 2])
INVERSE = torch.tensor([1, 0, 2, 3]), torch.tensor([0, 1, 1, 4])
PLACED = normal(4, 4, 2, 5)
CASES: dict[str, tuple[str, tuple[Any, ...], Callable[..., Tensor]]] = {
    "scores": (
        "attention_score",
        (Q, K, 0.3),
        lambda q, k, scale: torch.softmax(q @ k.mT * scale, -1),
    ),
    "scores with numbers added": (
        "attention_score",
        (Q, K, 0.3, MASK),
        lambda q, k, scale, mask: torch.softmax(q @ k.mT * scale + mask, -1),
    ),
    "scores of visible keys": (
        "attention_score",
        (Q, K, 0.3, MASK > -1),
        lambda q, k, scale, mask: torch.softmax((q @ k.mT * scale).masked_fill(~mask, -1e4), -1),
    ),
    "dropout": ("attention_dropout", (Q, 0.4, True, STATE), dropped),
    "flash": ("flash_attention", (Q, K, V, None, None, True), lambda q, k, v, *_: causal(q, k, v)),
    "heads": ("multihead_attention", (Q[0], K[0], V[0], 4), by_heads),
    "blocks": ("block_sparse_attention", (Q, K, V, BLOCKS, None, 2), sparse),
    "blocks of one kernel": ("block_sparse_forward", (Q, K, V, BLOCKS), sparse),
    "blocks at places": ("gather_blocks", (Q[0], PLACES, *INVERSE), lambda x, at, *_: x[at]),
    "sums of places": ("sum_blocks", (PLACED, PLACES, *INVERSE), summed),
    "rope": ("apply_rope", (Q, ANGLES.cos(), ANGLES.sin()), rotated),
    "rope of neighbors": ("apply_rope", (Q, ANGLES.cos(), ANGLES.sin(), True), rotated),
    "attention with rope": (
        "rope_attention",
        (Q, K, V, ANGLES.cos(), ANGLES.sin(), False, None, None, True),
        lambda q, k, v, c, s, *_: causal(rotated(q, c, s), rotated(k, c, s), v),
    ),
}
EACH = pytest.mark.parametrize("case", CASES)


def moved(arguments: tuple[Any, ...], device: str, dtype: torch.dtype) -> list[Any]:
    """Return copies, since all tests share the tensors."""

    def copied(x: Tensor) -> Tensor:
        return x.to(device, dtype if x.is_floating_point() else None, copy=True)

    return [copied(x) if isinstance(x, Tensor) else x for x in arguments]


def leaves_of(arguments: list[Any]) -> list[Tensor]:
    found = [x for x in arguments if isinstance(x, Tensor) and x.is_floating_point()]
    return [x.requires_grad_() for x in found]


def apart(found: Tensor, exact: Tensor) -> float:
    return float((found.double() - exact).abs().max() / exact.abs().max())


def test_every_operation_has_a_case():
    named = {name for name, _, _ in CASES.values()}
    group = {name for name, op in OPS.items() if op.group == "attention" and op.family == "general"}
    assert group == named | {"attention_score_backward"}


@ON
@EACH
@DTYPES
def test_results_and_gradients_are_those_of_pytorch(case, device, dtype):
    name, given, eager = CASES[case]

    def run(function: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        # In half precision, the exact values are computed from the rounded arguments.
        arguments = moved(tuple(moved(given, device, rounded)), device, dtype)
        arguments = [x.clone() if isinstance(x, Tensor) else x for x in arguments]
        leaves = leaves_of(arguments)
        y = function(*arguments)
        grad = normal(9, *y.shape).to(device, y.dtype)
        return [y.detach(), *torch.autograd.grad(y, leaves, grad)]

    rounded = dtype
    ours, theirs = run(OPS[name].operation, dtype), run(eager, dtype)
    exact = run(eager, torch.float64)
    unit = 1e-14 if dtype == torch.float64 else torch.finfo(dtype).eps
    for mine, eagers, right in zip(ours, theirs, exact, strict=True):
        assert mine.dtype == dtype
        assert apart(mine, right) <= max(2 * apart(eagers, right), 8 * unit)


@ON
@EACH
def test_second_derivatives_are_right(case, device):
    name, given, _ = CASES[case]
    if OPS[name].is_composite:
        pytest.skip("PyTorch's attention has no second derivative everywhere")
    arguments = moved(given, device, torch.float64)
    leaves = leaves_of(arguments)

    def run(*tensors: Tensor) -> Tensor:
        each = iter(tensors)
        return OPS[name].operation(
            *(next(each) if any(x is y for y in leaves) else x for x in arguments)
        )

    assert torch.autograd.gradgradcheck(run, leaves, atol=1e-4, fast_mode=True)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    some_daily(["scores with numbers added", "blocks", "blocks at places", "rope", "flash"], 1),
)
def test_it_compiles_into_one_graph_with_its_gradient(case):
    name, given, _ = CASES[case]
    arguments = moved(given, "cpu", torch.float32)
    (first, *_) = leaves_of([arguments[0].clone()])
    arguments[0] = first
    torch._dynamo.reset()
    run = OPS[name].operation
    y = torch.compile(lambda *a: run(*a) * 2, fullgraph=True, backend="aot_eager")(*arguments)
    torch.testing.assert_close(y, run(*arguments) * 2)
    (grad,) = torch.autograd.grad(y.sum(), first)
    torch.testing.assert_close(grad, torch.autograd.grad(run(*arguments).sum() * 2, first)[0])


@ON
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_autocast_leaves_scores_to_the_dtype_that_comes(dtype, device):
    q, k, mask = (x.to(device, dtype, copy=True).requires_grad_() for x in (Q, K, MASK))
    with torch.autocast(device, torch.bfloat16):
        weights = kf.ops.attention_score(q, k, 0.3, mask)
    assert torch.equal(weights, kf.ops.attention_score(q, k, 0.3, mask))
    assert weights.dtype == dtype
    with torch.autocast(device, torch.bfloat16), torch.no_grad():
        assert torch.equal(kf.ops.attention_score(q, k, 0.3, mask), weights)


@ON
def test_a_query_without_a_visible_key_gets_zeros_and_no_gradient(device):
    q, k = (x.to(device).requires_grad_() for x in (normal(0, 3, 8), normal(1, 5, 8)))
    for mask in (torch.ones(3, 5, dtype=torch.bool), torch.zeros(3, 5)):
        mask[1] = False if mask.dtype == torch.bool else -math.inf
        weights = kf.ops.attention_score(q, k, None, mask.to(device))
        assert not weights[1].any()
        torch.testing.assert_close(weights.sum(-1).cpu(), torch.tensor([1.0, 0.0, 1.0]))
        (grad,) = torch.autograd.grad(weights.square().sum(), q)
        assert not grad[1].any()
        assert grad[0].any()


@ON
def test_a_hidden_key_has_no_weight_and_nan_stays(device):
    q, k = normal(0, 2, 300, 8).to(device), normal(1, 2, 40, 8).to(device)
    seen = (normal(2, 300, 40) > 0).to(device)
    weights = kf.ops.attention_score(q * 100, k, 1.0, seen)
    assert not weights[:, ~seen].any()
    q[0, 3, 1] = math.nan
    weights = kf.ops.attention_score(q, k)
    assert weights[0, 3].isnan().all()
    assert int(weights.isnan().sum()) == 40


@ON
@pytest.mark.parametrize("shape", [(2, 3, 5, 5), (3, 1, 5), (5, 1), (1, 5), (2, 1, 1, 5), (5,)])
@pytest.mark.parametrize("visible", [True, False])
def test_masks_broadcast_as_pytorchs(shape, visible, device):
    q, k = normal(0, 2, 3, 5, 8).to(device), normal(1, 2, 3, 5, 8).to(device)
    mask = normal(2, *shape).to(device)
    if visible:
        mask = mask > -1
    identity = torch.eye(5, device=device).expand(2, 3, 5, 5)
    expected = F.scaled_dot_product_attention(q, k, identity, torch.atleast_2d(mask))
    torch.testing.assert_close(kf.ops.attention_score(q, k, None, mask), expected.nan_to_num())
    found = kf.ops.flash_attention(q, k, identity, mask=mask)
    torch.testing.assert_close(found.nan_to_num(), expected.nan_to_num())


def test_leading_dimensions_may_be_any_number():
    q, k, mask = normal(0, 2, 3, 2, 4, 8), normal(1, 2, 3, 2, 5, 8), normal(2, 3, 1, 4, 5)
    calls: tuple[Any, ...] = (
        *((q, k), (q, k, 0.5, mask)),
        *((q[0, 0, 0], k[0, 0, 0]), (q[:, :0], k[:, :0])),
    )
    for given in calls:
        torch.testing.assert_close(
            kf.ops.attention_score(*given), OPS["attention_score"].reference(*given)
        )


def test_the_number_of_threads_changes_no_bit():
    scores = normal(0, 4, 200, 123)
    weights, x, angles = scores.softmax(-1), normal(3, 2, 3, 100, 8), normal(4, 100, 4)
    # products that are exact in any order of summation
    q, k = scores[:, :, :1], torch.ones(4, 150, 1)
    tables = angles.cos(), angles.sin()
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            made = kf.ops.attention_score(q, k), kf.ops.attention_score_backward(scores, weights)
            found.append((*made, kf.ops.apply_rope(x, *tables)))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))


@ON
def test_scores_take_the_memory_of_the_product_alone(device):
    sizes: list[int] = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, Tensor) and out.numel() == 64 * 96:
                sizes.append(out.untyped_storage().data_ptr())
            return out

    q, k = normal(0, 64, 8).to(device), normal(1, 96, 8).to(device)
    with Counted():
        OPS["attention_score"].overload(q, k, 0.5, None)
    assert len(set(sizes)) == 1


def test_a_mask_of_blocks_is_not_repeated_for_each_query():
    q, k, v = (normal(seed, 1, 2, 64, 4) for seed in range(3))
    blocks = torch.eye(4, dtype=torch.bool)  # blocks of 16 queries, more than the numbers per head
    with torch.no_grad(), Masks() as masks:
        found = kf.ops.block_sparse_attention(q, k, v, blocks, most_blocks=2)
    assert masks.shapes == [(1, 8, 1, 32)]
    seen = blocks.repeat_interleave(16, 0).repeat_interleave(16, 1)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, seen))


class Masks(TorchDispatchMode):
    """Records the shapes of bool masks that are converted to numbers and added to scores."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.where.self and made.is_floating_point():
            self.shapes.append(tuple(made.shape))
        return made


def test_a_mask_of_blocks_is_looked_through_once_until_it_is_written_to():
    q, k, v = (normal(seed, 1, 2, 64, 4) for seed in range(3))
    blocks = torch.eye(4, dtype=torch.bool)

    def sorts() -> int:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            found = kf.ops.block_sparse_attention(q, k, v, blocks)
        seen = blocks.repeat_interleave(16, 0).repeat_interleave(16, 1)
        torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, seen))
        return sum(each.name == "aten::sort" for each in profiler.events() or ())

    assert sorts() == 1
    assert sorts() == 0
    blocks.logical_not_()  # three of four blocks instead of one
    assert sorts() == 1
    assert sorts() == 0


def test_what_inference_found_out_about_a_mask_serves_gradients():
    q, k, v = (normal(seed, 1, 2, 64, 4).requires_grad_() for seed in range(3))
    blocks = torch.eye(4, dtype=torch.bool)
    with torch.inference_mode():
        kf.ops.block_sparse_attention(q, k, v, blocks)
    found = torch.autograd.grad(kf.ops.block_sparse_attention(q, k, v, blocks).sum(), (q, k, v))
    seen = blocks.repeat_interleave(16, 0).repeat_interleave(16, 1)
    expected = F.scaled_dot_product_attention(q, k, v, seen).sum()
    for mine, right in zip(found, torch.autograd.grad(expected, (q, k, v)), strict=True):
        torch.testing.assert_close(mine, right)


@ON
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_a_block_that_all_rows_see_are_not_summed_in_16_bits(device, dtype):
    rows, size = 64, 16  # each row sees the first block of keys, and its own
    blocks = torch.eye(rows, dtype=torch.bool, device=device)
    blocks[:, 0] = True
    whole = blocks.repeat_interleave(size, 0).repeat_interleave(size, 1)
    given = [normal(seed, 1, 2, rows * size, 32).to(device, dtype) for seed in range(3)]
    grad = (normal(3, 1, 2, rows * size, 32) + 1).to(device, dtype)

    def run(attend: Callable[..., Tensor], mask: Tensor, dtype: torch.dtype) -> list[Tensor]:
        leaves = [x.to(dtype).requires_grad_() for x in given]
        return list(torch.autograd.grad(attend(*leaves, mask), leaves, grad.to(dtype)))

    eager = F.scaled_dot_product_attention
    exact = run(eager, whole, torch.float64)
    ours, again = (run(kf.ops.block_sparse_attention, blocks, dtype) for _ in range(2))
    for mine, theirs, right in zip(ours, run(eager, whole, dtype), exact, strict=True):
        assert apart(mine, right) <= 2 * apart(theirs, right)
    assert all(map(torch.equal, ours[1:], again[1:]))


def test_places_that_do_not_fit_are_named():
    with pytest.raises(
        ValueError, match=r"sum_blocks: x, places, order and begins are .* \[4, \.\.\.\]"
    ):
        kf.ops.sum_blocks(PLACED[:3], PLACES, *INVERSE)
    with pytest.raises(ValueError, match=r"gather_blocks: .* expected floating \[3, \.\.\.\]"):
        kf.ops.gather_blocks(PLACED, PLACES, *INVERSE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_blocks_are_gathered_and_summed_on_any_threads_as_by_pytorch(dtype):
    blocks, size = 40, 65600  # in FP32 larger than the caches, so stores bypass them
    places = torch.arange(3 * blocks) // 5  # five places for some blocks, none for others
    order, begins = gathered.inverse_of(places, blocks)
    x = normal(5, blocks, size).to(dtype)
    placed = kf.kernels.attention.gather_blocks(x, places, order, begins)
    assert torch.equal(placed, x[places])
    sums = kf.kernels.attention.sum_blocks(placed, places, order, begins)
    assert torch.equal(sums, gathered.sum_reference(placed, places, order, begins))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.equal(kf.kernels.attention.sum_blocks(placed, places, order, begins), sums)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("outside", [-1, 3])
def test_places_of_blocks_that_there_are_not_are_refused(outside):
    places, order = PLACES.clone(), INVERSE[0].clone()
    places[1], order[1] = outside, 4 * outside
    x = Q[0]
    with pytest.raises(ValueError, match="gather_blocks: places, order or begins has an index"):
        kf.kernels.attention.gather_blocks(x, places, *INVERSE)
    with pytest.raises(ValueError, match="sum_blocks: places, order or begins has an index"):
        kf.kernels.attention.sum_blocks(PLACED, PLACES, order, INVERSE[1])


@pytest.mark.gpu
def test_gradients_of_the_kernel_for_blocks_take_no_mask_of_all_scores():
    q, k, v = (normal(seed, 1, 1, 4096, 64).cuda().requires_grad_() for seed in range(3))
    blocks = torch.eye(64, dtype=torch.bool).cuda()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(kf.ops.block_sparse_forward(q, k, v, blocks).sum(), (q, k, v))
    assert torch.cuda.max_memory_allocated() - before < 4 * 4096**2


@pytest.mark.gpu
def test_a_cuda_graph_holds_blocks_that_were_counted_before():
    q, k, v = (normal(seed, 1, 2, 64, 16).cuda() for seed in range(3))
    blocks = torch.eye(4, dtype=torch.bool).cuda()
    with torch.inference_mode():
        expected = kf.ops.block_sparse_attention(q, k, v, blocks)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = kf.ops.block_sparse_attention(q, k, v, blocks)
    graph.replay()
    torch.testing.assert_close(found, expected)


def test_blocks_of_each_sample_and_head_are_their_own():
    blocks = normal(5, 2, 3, 2, 3) > 0.3
    blocks[0, 0, 0] = False
    q, k, v = Q, K, V
    found = kf.ops.block_sparse_attention(q, k, v, blocks)
    whole = blocks.repeat_interleave(3, 2).repeat_interleave(2, 3)
    expected = kf.ops.attention_score(q, k, None, whole) @ v
    torch.testing.assert_close(found, expected)
    assert not found[0, 0, :3].any()
    every = torch.ones(2, 3, dtype=torch.bool)
    torch.testing.assert_close(
        kf.ops.block_sparse_attention(q, k, v, every), F.scaled_dot_product_attention(q, k, v)
    )


def test_dropout_follows_the_seed_and_backward_drops_the_same():
    weights = torch.full((100, 100), 2.0, requires_grad=True)
    torch.manual_seed(1)
    first, second = kf.ops.attention_dropout(weights, 0.3), kf.ops.attention_dropout(weights, 0.3)
    torch.manual_seed(1)
    assert torch.equal(kf.ops.attention_dropout(weights, 0.3), first)
    assert not torch.equal(first, second)
    assert float((first == 0).double().mean()) == pytest.approx(0.3, abs=0.02)
    (grad,) = torch.autograd.grad(first.sum(), weights)
    assert torch.equal(grad != 0, first != 0)
    assert torch.equal(kf.ops.attention_dropout(weights, 0.3, False), weights)


def test_what_lies_apart_is_read_where_it_lies():
    x = normal(0, 2, 6, 3, 16).transpose(1, 2)[..., 4:12]
    cos, sin = normal(1, 2, 6, 4).cos(), normal(1, 2, 6, 4).sin()
    found = kf.ops.apply_rope(x, cos, sin)
    torch.testing.assert_close(found, rotated(x, cos[:, None], sin[:, None]))
    torch.testing.assert_close(kf.ops.apply_rope(found, cos, sin, back=True), x)


def test_aliases_and_native_kernels_are_found():
    assert kf.ops.fused_attention_score is kf.ops.attention_score
    assert kf.ops.fused_multihead_attention is kf.ops.multihead_attention
    assert torch.equal(kf.kernels.attention.attention_score(Q, K), kf.ops.attention_score(Q, K))
    with pytest.raises(kf.KernelUnavailable, match=r"no native kernel in torch\.float64"):
        kf.kernels.attention.apply_rope(Q.double(), ANGLES.cos(), ANGLES.sin())
    with pytest.raises(kf.KernelUnavailable, match="no native kernel for the CPU: PyTorch's is"):
        kf.kernels.attention.flash_attention(Q, K, V)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("attention_score", (Q.long(), K), r"q is torch\.int64 \[2, 3, 6, 8\]; expected floating"),
        ("attention_score", (Q, K.double()), r"k is torch\.float64 on cpu; expected torch\.float3"),
        ("attention_score", (Q, K[..., :4]), r"k has the shape \[2, 3, 6, 4\]; expected \[2, 3, "),
        ("attention_score", (Q, K, 1.0, MASK.half()), r"mask is torch\.float16 on cpu; expected b"),
        ("attention_score", (Q, K, 1.0, MASK[..., :5]), r"mask has the shape \[2, 1, 6, 5\]; exp"),
        ("attention_score_backward", (Q, K[0]), r"grad is torch\.float32 \[2, 3, 6, 8\]; expected"),
        ("attention_dropout", (Q, 1.5), r"p is 1\.5; expected a probability from 0 to 1"),
        ("attention_dropout", (Q.long(),), r"scores is a tensor of torch\.int64; expected float1"),
        ("flash_attention", (Q[0], K[0], V[0]), r"q has the shape \[3, 6, 8\]; expected \[N, H, "),
        ("flash_attention", (Q, K, V[:1]), r"v is torch\.float32 \[1, 3, 6, 8\] on cpu; expected"),
        (
            "flash_attention",
            (Q, K, V, None, MASK, True),
            "mask and causal are both given; expected one",
        ),
        ("multihead_attention", (Q[0], K[0], V[0], 3), r"q has the shape \[3, 6, 8\]; expected \["),
        ("block_sparse_attention", (Q, K, V, BLOCKS.t()[:2, :1].int()), r"block_mask is torch\.in"),
        (
            "block_sparse_attention",
            (Q, K, V, BLOCKS.repeat(2, 1)),
            "rows",
        ),
        ("apply_rope", (Q[..., :7], ANGLES, ANGLES), r"x is torch\.float32 \[2, 3, 6, 7\]; expect"),
        ("apply_rope", (Q, ANGLES[:3], ANGLES), r"cos has the shape \[3, 4\]; expected \[6, 4\] o"),
        ("apply_rope", (Q, ANGLES, ANGLES.long()), r"sin is torch\.int64 on cpu; expected a float"),
        ("rope_attention", (Q, K[..., :4], V, ANGLES, ANGLES), r"rope_attention: k has the shape"),
    ],
)
def test_what_does_not_fit_is_named(name, given, said):
    with pytest.raises(ValueError, match=said):
        OPS[name].operation(*given)


@pytest.mark.gpu
def test_on_a_gpu_scores_have_the_precision_of_fp32():
    for shape, keys in (((2048, 64), 2048), ((2, 3, 200, 100), 333)):
        q = normal(0, *shape).cuda()
        k = normal(1, *shape[:-2], keys, shape[-1]).cuda()
        with tf32_allowed(False):
            found, whole = kf.ops.attention_score(q, k), torch.softmax(weighted(q, k), -1)
        exact = torch.softmax(weighted(q.double(), k.double()), -1)
        assert (found - exact).abs().max() <= 2 * (whole - exact).abs().max()


def weighted(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT * q.shape[-1] ** -0.5


@pytest.mark.gpu
def test_a_cuda_graph_replays_the_scores_and_the_angles():
    q, k, mask = Q.cuda(), K.cuda(), MASK.cuda()
    tables = ANGLES.cos().cuda(), ANGLES.sin().cuda()

    def run() -> Tensor:
        return kf.ops.attention_score(kf.ops.apply_rope(q, *tables), k, 0.3, mask)

    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run()
    q.copy_(V)
    graph.replay()
    assert torch.equal(y, run())
