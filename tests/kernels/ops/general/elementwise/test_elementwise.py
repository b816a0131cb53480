"""Properties of every elementwise operation in the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import kernel_fusion as kf
from kernels.jit import build
from kernels.ops.general.elementwise import reference
from kernels.table.philox import kept_elements, kept_scale
from kernels.table.registry import GENERAL, OPS, Operation, prepare
from tests.helpers.daily import matrix
from tests.kernels.ops.general.elementwise.far import assert_as_pytorch, far_numbers

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
STATE = torch.tensor([5 << 33, 7])


class Eager(NamedTuple):
    """An operation as users would write it: options, and PyTorch's calls."""

    options: tuple[Any, ...]
    run: Callable[..., Tensor]


def dropped(x: Tensor, p: float, _training: bool, state: Tensor) -> Tensor:
    kept = kept_elements(state, x.numel(), p).view(x.shape)
    return F.gelu(x) * kept * kept_scale(p)


def prelu(x: Tensor, alpha: Tensor, bias: Tensor) -> Tensor:
    return F.prelu(x + bias, alpha)


EAGER = {
    "add_relu": Eager((), lambda x, y: torch.relu(x + y)),
    "multiply_relu": Eager((), lambda x, y: torch.relu(x * y)),
    "add_sigmoid": Eager((), lambda x, y: torch.sigmoid(x + y)),
    "mul_tanh": Eager((), lambda x, y: torch.tanh(x * y)),
    "bias_gelu": Eager((), lambda x, y: F.gelu(x + y)),
    "gelu_dropout": Eager((0.4, True, STATE), dropped),
    "swish_multiply": Eager((), lambda x, y: F.silu(x) * y),
    "mish_scale": Eager((), lambda x, y: F.mish(x) * y),
    "prelu_bias": Eager((), prelu),
}
ROWS = [
    op
    for op in OPS.values()
    if op.group == "elementwise" and not op.name.endswith(("_backward", "_masked"))
]
# Any other one is timed against PyTorch's calls.
EAGER |= {op.name: Eager((), op.timed.eager) for op in ROWS if op.name not in EAGER and op.timed}
COMPILED_DAILY = {"gelu_dropout", "prelu_bias"}  # random numbers, and a gradient of a parameter
# The two that a test checks by themselves, and one of two pictures.
PAST_CACHES_DAILY = {"gelu_dropout", "prelu_bias", "add_relu"}
NAMES = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
ON = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    found = prepare(family=GENERAL)
    for status in found:
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready or status.by_choice, status


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


LAYOUTS: dict[str, Callable[[], tuple[Tensor, Tensor]]] = {
    "contiguous": lambda: (normal(0, 33, 40), normal(1, 33, 40)),
    "large": lambda: (normal(0, 200, 301), normal(1, 200, 301)),
    "transposed": lambda: (normal(0, 40, 33).t(), normal(1, 33, 40)),
    "sliced": lambda: (normal(0, 33, 80)[:, 1::2], normal(1, 66, 40)[::2]),
    "row": lambda: (normal(0, 33, 40), normal(1, 40)),
    "column": lambda: (normal(0, 33, 40), normal(1, 33, 1)),
    "outer": lambda: (normal(0, 33, 1), normal(1, 1, 40)),
    "expanded": lambda: (normal(0, 33, 1).expand(33, 40), normal(1, 40)),
    "channels last": lambda: (
        normal(0, 2, 4, 5, 6).to(memory_format=torch.channels_last),
        normal(1, 4, 1, 1),
    ),
    "empty": lambda: (normal(0, 0, 4), normal(1, 4)),
    "one element": lambda: (normal(0, 1, 1), normal(1, 1)),
    "no dimension": lambda: (normal(0), normal(1)),
    "many dimensions": lambda: (normal(0, *(2,) * 10).transpose(0, 9), normal(1, *(1, 2) * 5)),
}


def given(op: Operation, layout: str, device: str, dtype: torch.dtype) -> list[Any]:
    x, y = (each.to(device, dtype) for each in LAYOUTS[layout]())
    if op.name == "gelu_dropout":
        return [x, 0.4, True, STATE.to(device)]
    if op.name == "prelu_bias":
        return [x, torch.tensor([0.2], device=device, dtype=dtype), y]
    return [x, y]


def wide(arguments: list[Any]) -> list[Any]:
    return [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in arguments]


def apart(found: Tensor, exact: Tensor) -> float:
    if not exact.numel():
        return 0.0
    largest = float(exact.abs().max())
    return float((found.double() - exact).abs().max()) / (largest or 1.0)


@ON
@matrix({"op": ROWS, "layout": LAYOUTS, "dtype": DTYPES})
def test_it_is_what_pytorch_computes(op, layout, device, dtype):
    arguments = given(op, layout, device, dtype)
    exact = EAGER[op.name].run(*wide(arguments))
    ours, theirs = op.operation(*arguments), EAGER[op.name].run(*arguments)
    assert ours.shape == theirs.shape
    assert ours.dtype == dtype
    assert ours.stride() == op.reference(*arguments).stride()
    if dtype in (torch.float16, torch.bfloat16):
        unit = torch.finfo(dtype).eps
        assert apart(ours, exact) <= max(2 * apart(theirs, exact), unit)
    else:
        assert apart(ours, theirs.double()) <= (1e-6 if dtype == torch.float32 else 1e-14)


@ON
@matrix(
    {
        "op": ROWS,
        "layout": ["contiguous", "row", "column", "outer", "channels last"],
        "dtype": DTYPES,
    }
)
def test_its_gradients_are_pytorchs(op, layout, device, dtype):
    def gradients(run: Callable[..., Tensor], arguments: list[Any]) -> tuple[Tensor, ...]:
        leaves = [
            x.detach().clone().requires_grad_()
            for x in arguments
            if isinstance(x, Tensor) and x.is_floating_point()
        ]
        each = iter(leaves)
        same = [
            next(each) if isinstance(x, Tensor) and x.is_floating_point() else x for x in arguments
        ]
        y = run(*same)
        grad = normal(9, *y.shape).to(device, y.dtype)
        return torch.autograd.grad(y, leaves, grad)

    arguments = given(op, layout, device, dtype)
    exact = gradients(EAGER[op.name].run, wide(arguments))
    ours = gradients(op.operation, arguments)
    theirs = gradients(EAGER[op.name].run, arguments)
    unit = torch.finfo(dtype).eps
    for mine, eager, right in zip(ours, theirs, exact, strict=True):
        assert mine.dtype == dtype
        assert apart(mine, right) <= max(2 * apart(eager, right), 4 * unit)


@ON
@NAMES
@pytest.mark.parametrize("layout", ["contiguous", "row", "one element"])
def test_each_gradient_that_autograd_keeps_has_memory_of_its_own(op, layout, device):
    arguments = given(op, layout, device, torch.float32)
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.is_floating_point()]
    for x in leaves:
        x.requires_grad_()
    op.operation(*arguments).sum().backward()
    memory = [x.grad.untyped_storage().data_ptr() for x in leaves if x.grad is not None]
    assert len(memory) == len(leaves)
    assert len(set(memory)) == len(memory)


@ON
@pytest.mark.parametrize("name", ["add_relu", "add_sigmoid"])
def test_tensors_that_are_added_share_one_gradient_and_keep_one_tensor_for_it(name, device):
    x, y = (normal(seed, 33, 40).to(device).requires_grad_() for seed in (0, 1))
    kept: list[Tensor] = []

    def keep(saved: Tensor) -> Tensor:
        kept.append(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        found = OPS[name].operation(x, y)
    first, second = torch.autograd.grad(found.sum(), (x, y))
    assert first is second
    (alone,) = kept
    if name == "add_relu":  # one bit per element
        assert (alone.dtype, alone.numel()) == (torch.uint8, found.numel() // 8)
    else:
        assert alone.data_ptr() == found.data_ptr()


@ON
@NAMES
def test_its_gradients_are_bit_equal_in_two_runs(op, device):
    def run() -> list[Tensor]:
        arguments = given(op, "row", device, torch.float32)
        leaves = [x for x in arguments if isinstance(x, Tensor) and x.is_floating_point()]
        for x in leaves:
            x.requires_grad_()
        y = op.operation(*arguments)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), leaves)]

    first = run()
    assert all(all(map(torch.equal, run(), first)) for _ in range(3))


@NAMES
def test_the_number_of_threads_changes_no_bit(op):
    arguments = given(op, "large", "cpu", torch.float32)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(op.operation(*arguments))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@matrix({"op": ROWS, "dtype": [torch.float16, torch.bfloat16]}, meeting=1)
def test_16_bits_that_go_past_the_caches_are_the_same(op, dtype):
    if op.name in ("gelu_dropout", "prelu_bias"):
        pytest.skip("what it draws or sums depends on other rows")
    x, y, grad = (normal(seed, 2051, 2049).to(dtype) for seed in (0, 1, 2))

    def results(rows: slice) -> tuple[Tensor, ...]:
        leaves = [each[rows].clone().requires_grad_() for each in (x, y)]
        found = op.operation(*leaves)
        return found, *torch.autograd.grad(found, leaves, grad[rows])

    whole = results(slice(None))
    for rows in (slice(0, 3), slice(2048, 2051)):
        for mine, theirs in zip(whole, results(rows), strict=True):
            assert torch.equal(mine[rows], theirs)


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(op, marks=[] if op.name in PAST_CACHES_DAILY else pytest.mark.full)
        for op in ROWS
    ],
    ids=lambda op: op.name,
)
def test_results_that_go_past_the_caches_are_the_same(op):
    # The number of elements is odd, so the last ones do not fill a cache line.
    shape = (2051, 2049)
    x, y, grad = (normal(seed, *shape) for seed in (0, 1, 2))
    arguments = {"gelu_dropout": [x, 0.4, True, STATE], "prelu_bias": [x, normal(3, 1), y]}
    given = arguments.get(op.name, [x, y])
    leaves = [x for x in given if isinstance(x, Tensor) and x.is_floating_point()]
    for each in leaves:
        each.requires_grad_()
    found = op.operation(*given)
    gradients = torch.autograd.grad(found, leaves, grad)
    # Single rows of 2,049 stay in the caches and start at different offsets in a cache line.
    for row in (0, 1, 2050):
        if op.name == "gelu_dropout":
            kept = kept_elements(STATE, x.numel(), 0.4).view(shape)[row]
            alone = F.gelu(x[row]) * kept * kept_scale(0.4)
            torch.testing.assert_close(found[row], alone, atol=1e-6, rtol=1e-6)
            (expected,) = torch.autograd.grad(alone, x, grad[row])
            torch.testing.assert_close(gradients[0][row], expected[row], atol=2e-6, rtol=2e-6)
            continue
        part = [each[row] if each.shape == shape else each for each in leaves]
        ordered = part if op.name != "prelu_bias" else [part[0], leaves[1], part[2]]
        alone = op.operation(*ordered)
        assert torch.equal(found[row], alone)
        wanted = [each for each, of in zip(part, leaves, strict=True) if of.shape == shape]
        expected = torch.autograd.grad(alone, wanted, grad[row])
        large = [each for each, of in zip(gradients, leaves, strict=True) if of.shape == shape]
        for mine, theirs in zip(large, expected, strict=True):
            assert torch.equal(mine[row], theirs)


@ON
@NAMES
def test_its_second_derivative_is_right(op, device):
    arguments = given(op, "outer", device, torch.float64)
    leaves = [x for x in arguments if isinstance(x, Tensor) and x.is_floating_point()]
    for at, x in enumerate(leaves):
        leaves[at] = x[:3].detach().clone().requires_grad_()

    def run(*tensors: Tensor) -> Tensor:
        each = iter(tensors)
        return op.operation(
            *(
                next(each) if isinstance(x, Tensor) and x.is_floating_point() else x
                for x in arguments
            )
        )

    assert torch.autograd.gradgradcheck(run, leaves, atol=1e-4, fast_mode=True)


@ON
@NAMES
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_far_numbers_infinities_and_nan_give_what_pytorch_gives(op, device, dtype):
    def results(run: Callable[..., Tensor]) -> list[Tensor]:
        arguments = given(op, "contiguous", device, dtype)
        x = far_numbers(dtype, device, op.name).requires_grad_()
        other = torch.ones_like(x, requires_grad=True)
        leaves = [x] if op.name == "gelu_dropout" else [x, other]
        arguments[0], arguments[-1] = x, other if len(leaves) > 1 else arguments[-1]
        y = run(*arguments)
        return [y.detach(), *torch.autograd.grad(y, leaves, torch.ones_like(y))]

    assert_as_pytorch(results(op.operation), results(EAGER[op.name].run))
    assert_as_pytorch(results(op.reference), results(EAGER[op.name].run))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["bias_gelu", "gelu_dropout"])
def test_the_gelu_of_the_largest_numbers_does_not_overflow_on_any_cpu(name, dtype):
    if not build.load(OPS[name].cpu.library):
        pytest.skip(build.reason(OPS[name].cpu.library))
    x = torch.tensor([torch.inf, torch.finfo(dtype).max], dtype=dtype).repeat(37)
    rest = [torch.zeros_like(x)] if name == "bias_gelu" else [0.0, True, STATE]
    assert torch.equal(OPS[name].native(x, *rest), x)


@ON
@NAMES
def test_autocast_leaves_it_to_the_dtypes_that_come(op, device):
    arguments = given(op, "row", device, torch.float32)
    arguments[0] = arguments[0].to(torch.bfloat16)
    with torch.autocast(device, torch.bfloat16):
        found = op.operation(*arguments)
    alone = op.name == "gelu_dropout"
    assert found.dtype == (torch.bfloat16 if alone else torch.float32)
    assert torch.equal(found, op.operation(*arguments))


@pytest.mark.slow
@ON
@pytest.mark.parametrize(
    "op",
    [pytest.param(op, marks=[] if op.name in COMPILED_DAILY else pytest.mark.full) for op in ROWS],
    ids=lambda op: op.name,
)
def test_it_compiles_into_one_graph_with_its_gradient(op, device):
    def run(*arguments: Any) -> Tensor:
        return op.operation(*arguments) * 2

    arguments = given(op, "row", device, torch.float32)
    arguments[0].requires_grad_()
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    y = compiled(*arguments)
    assert torch.equal(y, run(*arguments))
    (grad,) = torch.autograd.grad(y.sum(), arguments[:1])
    (expected,) = torch.autograd.grad(run(*arguments).sum(), arguments[:1])
    assert torch.equal(grad, expected)


@pytest.mark.gpu
@NAMES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("rest", [(2051, 1032), (1032,), (1031,), (), (2051, 1)], ids=str)
@pytest.mark.parametrize("is_sliced", [False, True])
def test_many_tiles_and_rows_are_those_of_pytorch(op, dtype, rest, is_sliced):
    columns = rest[-1] if rest and rest[-1] > 1 else 1032
    x = normal(0, 2051, columns + 8 * is_sliced)[:, :columns]
    arguments = given(op, "row", "cuda", dtype)
    arguments[0] = x.to("cuda", dtype)
    if op.name != "gelu_dropout":
        arguments[-1] = normal(1, *rest).to("cuda", dtype)
    leaves = [
        x.requires_grad_() for x in arguments if isinstance(x, Tensor) and x.is_floating_point()
    ]
    exact_leaves = [x.detach().double().requires_grad_() for x in leaves]
    each = iter(exact_leaves)
    exact_arguments = [
        next(each) if isinstance(x, Tensor) and x.is_floating_point() else x for x in arguments
    ]
    grad = normal(2, 2051, columns).to("cuda", dtype)
    y, exact = op.operation(*arguments), EAGER[op.name].run(*exact_arguments)
    unit = torch.finfo(dtype).eps
    assert apart(y.detach(), exact.detach()) <= 8 * unit
    found = torch.autograd.grad(y, leaves, grad, retain_graph=True)
    expected = torch.autograd.grad(exact, exact_leaves, grad.double())
    for mine, right in zip(found, expected, strict=True):
        # A sum of many terms of either sign may be smaller than its rounding error.
        size = max(float(right.abs().max()), (y.numel() / mine.numel()) ** 0.5)
        assert float((mine.double() - right).abs().max()) <= 16 * unit * size
    assert all(map(torch.equal, found, torch.autograd.grad(y, leaves, grad)))


@pytest.mark.gpu
@NAMES
def test_a_cuda_graph_replays_it(op):
    arguments = given(op, "row", "cuda", torch.float32)
    op.operation(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = op.operation(*arguments)
    arguments[0].copy_(normal(7, *arguments[0].shape))
    graph.replay()
    assert torch.equal(y, op.operation(*arguments))


@NAMES
def test_what_does_not_fit_is_named(op):
    arguments = given(op, "row", "cpu", torch.float32)
    last = {"gelu_dropout": "x", "prelu_bias": "bias"}.get(op.name)
    name = last or list(op.overload._schema.arguments)[1].name
    at = [argument.name for argument in op.overload._schema.arguments].index(name)

    def changed(value: Any) -> list[Any]:
        return [*arguments[:at], value, *arguments[at + 1 :]]

    with pytest.raises(ValueError, match=rf"{op.name}: {name} is a tensor of torch\.int64; exp"):
        op.operation(*changed(torch.zeros(40, dtype=torch.int64)))
    if at:
        with pytest.raises(ValueError, match=rf"{op.name}: {name} has the shape \[7\]; expected"):
            op.operation(*changed(torch.zeros(7)))
        with pytest.raises(ValueError, match=rf"{op.name}: {name} is on meta; expected cpu"):
            op.reference(*changed(torch.zeros(40, device="meta")))


def test_options_that_do_not_fit_are_named():
    x = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match="bias_gelu: approximate is 'erf'; expected 'none' or"):
        kf.ops.bias_gelu(x, x, "erf")
    with pytest.raises(ValueError, match=r"gelu_dropout: p is 1\.5; expected a probability"):
        kf.ops.gelu_dropout(x, 1.5)
    with pytest.raises(ValueError, match=r"state is torch\.float32 \[3\]; expected int64 \[2\]"):
        kf.ops.gelu_dropout(x, 0.5, True, torch.zeros(3))
    with pytest.raises(ValueError, match="state is None; expected int64"):
        OPS["gelu_dropout"].overload(x, 0.5, True, None)
    with pytest.raises(ValueError, match=r"alpha has the shape \[4\]; expected one element, or"):
        kf.ops.prelu_bias(x, torch.zeros(4), x)
    backward = OPS["elementwise_backward"].operation
    with pytest.raises(ValueError, match="function is 'add'; expected add_relu, "):
        backward(x, [x, x], "add", [True])
    with pytest.raises(ValueError, match="inputs has 1 tensors; expected 2"):
        backward(x, [x], "mul_tanh", [True, True])
    with pytest.raises(ValueError, match="inputs has 2 tensors; expected 1"):
        backward(x, [x, x], "add_relu", [True])
    with pytest.raises(ValueError, match="wanted has 2 values; expected 1"):
        backward(x, [x], "add_relu", [True, True])
    with pytest.raises(ValueError, match=r"result is a tensor of torch\.int64; expected"):
        backward(x, [x.long()], "add_relu", [True])
    with pytest.raises(ValueError, match=r"grad has the shape \[3\]; expected \[2, 3, 4\]"):
        backward(torch.zeros(3), [x], "add_relu", [True])


@ON
def test_dropout_follows_the_seed_and_drops_as_often_as_asked(device):
    x = torch.full((1000, 100), 3.0, device=device)
    torch.manual_seed(1)
    first, second = kf.ops.gelu_dropout(x, 0.3), kf.ops.gelu_dropout(x, 0.3)
    torch.manual_seed(1)
    assert torch.equal(kf.ops.gelu_dropout(x, 0.3), first)
    assert not torch.equal(first, second)
    assert float((first == 0).double().mean()) == pytest.approx(0.3, abs=0.01)
    kept = first[first != 0]
    expected = F.gelu(x).flatten()[: kept.numel()] / 0.7
    torch.testing.assert_close(kept, expected, rtol=2**-16, atol=0)  # p is rounded to such steps
    assert torch.equal(kf.ops.gelu_dropout(x, 0.3, False), kf.ops.gelu_dropout(x, 0.0))
    assert not kf.ops.gelu_dropout(x, 1.0).any()


@ON
def test_backward_drops_what_forward_dropped(device):
    x = torch.full((40, 50), 2.0, device=device, requires_grad=True)
    y = kf.ops.gelu_dropout(x, 0.5)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(grad != 0, y != 0)


@ON
def test_prelu_has_a_weight_for_each_channel(device):
    x, bias = normal(0, 2, 3, 5, 4).to(device), normal(1, 3, 1, 1).to(device)
    alpha = torch.tensor([0.1, 0.2, 0.3], device=device)
    torch.testing.assert_close(kf.ops.prelu_bias(x, alpha, bias), F.prelu(x + bias, alpha))


@pytest.mark.parametrize("device", DEVICES)
def test_the_tanh_approximation_is_pytorchs_of_far_numbers(device):
    def results(run: Callable[..., Tensor]) -> list[Tensor]:
        x = far_numbers(torch.float32, device).requires_grad_()
        y = run(x, torch.zeros_like(x))
        return [y.detach(), *torch.autograd.grad(y, x, torch.ones_like(y))]

    assert_as_pytorch(
        results(lambda x, bias: kf.ops.bias_gelu(x, bias, "tanh")),
        results(lambda x, bias: F.gelu(x + bias, approximate="tanh")),
    )


def test_the_tanh_approximation_is_pytorchs():
    x, bias = normal(0, 5, 8), normal(1, 8)
    torch.testing.assert_close(
        kf.ops.bias_gelu(x, bias, "tanh"), F.gelu(x + bias, approximate="tanh")
    )


def test_aliases_are_the_operations_themselves():
    assert kf.ops.elementwise_add_relu is kf.ops.add_relu
    assert kf.ops.elementwise_mul_tanh is kf.ops.mul_tanh
    assert kf.ops.fused_bias_gelu is kf.ops.bias_gelu
    assert kf.ops.fused_gelu_dropout is kf.ops.gelu_dropout
    assert kf.kernels.fused_gelu_dropout is kf.kernels.elementwise.gelu_dropout
    assert kf.kernels.elementwise.fused_bias_gelu is OPS["bias_gelu"].native


@NAMES
def test_a_kernel_by_name_never_runs_pytorchs_in_silence(op):
    arguments = given(op, "row", "cpu", torch.float32)
    assert torch.equal(op.native(*arguments), op.operation(*arguments))
    with pytest.raises(kf.KernelUnavailable, match=r"no native CPU kernel in torch\.float64"):
        op.native(*given(op, "row", "cpu", torch.float64))


def test_an_index_beyond_32_bits_reaches_its_element_on_the_cpu():
    # Only the pages of the six elements are ever touched.
    x = torch.empty(2**31 + 64, dtype=torch.float16).as_strided((2, 3), (2**31, 7))
    x.copy_(normal(0, 2, 3))
    y = normal(1, 2, 3).half()
    assert torch.equal(kf.ops.add_relu(x, y), reference.forward("add_relu", (x, y)))


@pytest.mark.parametrize("device", DEVICES)
def test_the_slope_of_tanh_loses_no_digit_where_it_is_small(device):
    x = torch.linspace(-20, 20, 4001, device=device).requires_grad_()
    (found,) = torch.autograd.grad(kf.ops.mul_tanh(x, torch.ones_like(x)).sum(), x)
    exact = x.double().cosh().square().reciprocal()
    torch.testing.assert_close(
        found.double(), exact, rtol=5e-7 if device == "cpu" else 5e-6, atol=0
    )


def test_the_slope_of_gelu_on_a_cpu_errs_less_than_two_ten_millionths():
    x = torch.cat([torch.linspace(-14, 14, 1 << 16), torch.tensor([-1e30, -50.0, 50.0, 1e30])])
    run = kf.ops.elementwise_backward
    (found,) = run(torch.ones_like(x), [x, torch.zeros_like(x)], "bias_gelu", [True])
    wide = x.double()
    gaussian = torch.exp(-wide * wide / 2) / math.sqrt(2 * math.pi)
    exact = torch.erfc(-wide / math.sqrt(2)) / 2 + wide * gaussian
    assert (found - exact).abs().max() < 2e-7
    bad = torch.full((64,), torch.nan)
    assert run(bad + 1, [bad, torch.zeros(64)], "bias_gelu", [True])[0].isnan().all()
