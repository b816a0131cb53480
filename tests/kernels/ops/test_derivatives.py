"""Derivatives of every operation in the table, under every PyTorch transform that takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import grad, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

import kernel_fusion as kf
from kernels.table.autograd import packed, tensors_of
from kernels.table.registry import OPS, Operation
from tests.helpers.daily import some_daily

FUNCTIONS = [op for op in OPS.values() if not op.mutates]
WRITING = [op for op in OPS.values() if op.mutates]
BUFFERS = "running_mean", "running_var"  # PyTorch's norms do not differentiate with respect to them
Scalar = Callable[..., Tensor]
Tensors = tuple[Tensor, ...]


def dtype_of(sample: tuple[Any, ...]) -> torch.dtype | None:
    return next((x.dtype for x in tensors_of(sample) if x.is_floating_point()), None)


class Case:
    """An operation or its reference as functions of the differentiated tensors.

    Attributes:
        inputs: These tensors, in `dtype`.
        directions: A tangent for each.
    """

    def __init__(self, op: Operation, dtype: torch.dtype = torch.float64) -> None:
        given = min(
            (each for each in op.samples() if dtype in (torch.float64, dtype_of(each))),
            key=lambda sample: sum(x.numel() for x in tensors_of(sample)),
        )
        names = [argument.name for argument in op.overload._schema.arguments]
        self._packing, self._tensors = packed(given)
        owners = [
            name
            for name, count in zip(names, self._packing.counts, strict=False)
            for _ in range(0 if count is None else abs(count))
        ]
        if dtype == torch.float64:  # no samples have it
            self._tensors = [
                x.double() if isinstance(x, Tensor) and x.is_floating_point() else x
                for x in self._tensors
            ]
        self._places = [
            at
            for at, (x, owner) in enumerate(zip(self._tensors, owners, strict=True))
            if isinstance(x, Tensor)
            and x.is_floating_point()
            and owner not in (*op.derived, *BUFFERS)
        ]
        generator = torch.Generator().manual_seed(0)
        self.inputs: Tensors = tuple(
            self._tensors[at].detach().clone()  # pyright: ignore[reportOptionalMemberAccess]
            for at in self._places
        )
        self.directions: Tensors = tuple(
            torch.randn(x.shape, generator=generator).to(x.dtype) for x in self.inputs
        )
        self._counts = self._followed(op.operation)

    def _followed(self, run: Callable[..., Any]) -> list[bool]:
        """Return which results autograd follows: the others only serve a backward."""
        results = self.results(run, tuple(x.clone().requires_grad_() for x in self.inputs))
        return [x.requires_grad for x in results]

    def results(self, run: Callable[..., Any], inputs: Tensors) -> Tensors:
        tensors = list(self._tensors)
        for at, x in zip(self._places, inputs, strict=True):
            tensors[at] = x
        found = run(*self._packing.joined(tensors))
        return (found,) if isinstance(found, Tensor) else tuple(found)

    def scalar(self, run: Callable[..., Any]) -> Scalar:
        """Return a function of the inputs that is curved in each result of `run`."""

        def total(*inputs: Tensor) -> Tensor:
            terms: list[Tensor] = []
            followed = zip(self.results(run, inputs), self._counts, strict=False)
            for each in [x for x, counts in followed if counts]:
                steps = torch.linspace(0.5, 1.5, each.numel(), dtype=torch.float64)
                terms.append((each * steps.view(each.shape)).sin().sum())
            return torch.stack(terms).sum()

        return total


def leaves(case: Case) -> Tensors:
    return tuple(x.clone().requires_grad_() for x in case.inputs)


def backward(total: Scalar, case: Case) -> Tensors:
    inputs = leaves(case)
    return torch.autograd.grad(total(*inputs), inputs, materialize_grads=True)


def double_backward(total: Scalar, case: Case) -> Tensors:
    inputs = leaves(case)
    first = torch.autograd.grad(total(*inputs), inputs, create_graph=True, materialize_grads=True)
    slopes = [(g * d).sum() for g, d in zip(first, case.directions, strict=True)]
    slope = torch.stack(slopes).sum()
    return torch.autograd.grad(slope, inputs, materialize_grads=True)


def backward_of_a_checkpoint(total: Scalar, case: Case) -> Tensors:
    inputs = leaves(case)
    value: Any = checkpoint(total, *inputs, use_reentrant=False)
    return torch.autograd.grad(value, inputs, materialize_grads=True)


def tangent_of(total: Scalar, case: Case, inputs: Tensors) -> Tensors:
    with forward_ad.dual_level():
        pairs = zip(inputs, case.directions, strict=True)
        found = forward_ad.unpack_dual(total(*(forward_ad.make_dual(*pair) for pair in pairs)))
    assert found.tangent is not None, "the operation drops tangents"
    return found.primal.detach(), found.tangent.detach()


def dual_tensors(total: Scalar, case: Case) -> Tensors:
    return tangent_of(total, case, case.inputs)


def dual_tensors_that_require_a_gradient(total: Scalar, case: Case) -> Tensors:
    return tangent_of(total, case, leaves(case))


def func_jvp(total: Scalar, case: Case) -> Tensors:
    return jvp(total, case.inputs, case.directions)


def gradient_of(total: Scalar, case: Case) -> Callable[..., Tensors]:
    return grad(total, argnums=tuple(range(len(case.inputs))))


def func_grad(total: Scalar, case: Case) -> Tensors:
    return gradient_of(total, case)(*case.inputs)


def hessian_times_directions(total: Scalar, case: Case) -> Tensors:
    def row(*directions: Tensor) -> Tensors:
        return jvp(gradient_of(total, case), case.inputs, directions)[1]

    return vmap(row)(*(torch.stack([d, 2 * d.flip(0)]) for d in case.directions))


def gradients_of_a_batch(total: Scalar, case: Case) -> Tensors:
    return vmap(gradient_of(total, case))(*(torch.stack([x, x * 0.75]) for x in case.inputs))


TRANSFORMS = [
    backward,
    double_backward,
    backward_of_a_checkpoint,
    dual_tensors,
    dual_tensors_that_require_a_gradient,
    func_jvp,
    func_grad,
    hessian_times_directions,
    gradients_of_a_batch,
]


# Composed, with lists, with its own backward, recomputed, with random numbers or indices.
OF_EACH_KIND = (
    *("linear_activation", "flash_attention", "transformer_layer", "total_norm", "add_relu"),
    *("layer_norm_relu", "fused_instance_norm", "gelu_dropout", "cross_entropy"),
)
COMPILED_DAILY = {"flash_attention", "fused_instance_norm", "gelu_dropout"}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# vmap calls an operation once per item
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.filterwarnings(r"ignore:`torch.jit")  # PyTorch scripts its own forward derivatives
@pytest.mark.parametrize(
    "op", some_daily(FUNCTIONS, *range(0, len(FUNCTIONS), 3)), ids=lambda op: op.name
)
def test_every_transform_has_the_derivatives_of_the_reference(op):
    case = Case(op)
    ours, theirs = case.scalar(op.operation), case.scalar(op.reference)
    for transform in TRANSFORMS:
        found = transform(ours, case)
        with sdpa_kernel(SDPBackend.MATH):
            expected = transform(theirs, case)
        assert len(found) == len(expected) > 0
        for mine, right in zip(found, expected, strict=True):
            torch.testing.assert_close(
                mine, right, rtol=1e-5, atol=1e-6, msg=lambda m, t=transform: f"{t.__name__}: {m}"
            )


@pytest.mark.filterwarnings(r"ignore:`torch.jit")  # PyTorch scripts its own forward derivatives
@pytest.mark.parametrize(
    ("dtype", "rounding"),
    [
        pytest.param(torch.float32, 1e-4, id="FP32", marks=pytest.mark.full),
        pytest.param(torch.float16, 2e-2, id="FP16"),
    ],
)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_derivatives_in_other_dtypes_are_close(op, dtype: torch.dtype, rounding):
    if dtype not in {dtype_of(sample) for sample in op.samples()}:
        pytest.skip(f"the operation has no sample in {dtype}")
    case = Case(op, dtype)
    ours, theirs = case.scalar(op.operation), case.scalar(op.reference)
    for transform in (backward, double_backward, func_jvp):
        found = transform(ours, case)
        with sdpa_kernel(SDPBackend.MATH):
            expected = transform(theirs, case)
        largest = max(float(x.abs().max()) for x in expected if x.numel())
        torch.testing.assert_close(
            found, expected, rtol=0, atol=rounding * max(1, largest),
            msg=lambda m, t=transform: f"{t.__name__}: {m}",
        )  # fmt: skip


def test_an_instance_norm_of_an_empty_batch_has_gradients_of_zeros():
    x = torch.empty(0, 4, 5, 5, requires_grad=True)
    weight, bias = (torch.ones(4, requires_grad=True) for _ in range(2))
    y = kf.ops.fused_instance_norm(x, weight, bias)
    grads = torch.autograd.grad(y.sum(), (x, weight, bias))
    torch.testing.assert_close(grads, (torch.empty_like(x), torch.zeros(4), torch.zeros(4)))


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(OPS[name], marks=[] if name in COMPILED_DAILY else pytest.mark.full)
        for name in OF_EACH_KIND
    ],
    ids=lambda op: op.name,
)
def test_a_compiler_and_export_keep_results_and_gradients(op):
    case = Case(op)

    class Layer(torch.nn.Module):
        def forward(self, *inputs: Tensor) -> Tensors:
            return case.results(op.operation, inputs)

    total = case.scalar(op.operation)
    torch._dynamo.reset()
    compiled = torch.compile(total, backend="aot_eager", fullgraph=True, dynamic=False)
    torch.testing.assert_close(backward(compiled, case), backward(total, case))
    exported = torch.export.export(Layer(), case.inputs).module()
    torch.testing.assert_close(exported(*case.inputs), Layer()(*case.inputs))


@pytest.mark.parametrize("op", WRITING, ids=lambda op: op.name)
def test_an_operation_that_writes_refuses_transforms_by_name(op):
    packing, tensors = packed(next(iter(op.samples())))
    floating = {
        at: x.clone() for at, x in enumerate(tensors) if x is not None and x.is_floating_point()
    }
    places, given = list(floating), tuple(floating.values())

    def first(*written: Tensor) -> Tensor:
        replaced = dict(zip(places, written, strict=True))
        op.operation(*packing.joined([replaced.get(at, x) for at, x in enumerate(tensors)]))
        return written[0].sum()

    refusal = f"{op.name} writes into its arguments and has no gradient"
    with pytest.raises(RuntimeError, match=refusal):
        jvp(first, given, given)
    with pytest.raises(RuntimeError, match=refusal):
        grad(first)(*given)
    with pytest.raises(RuntimeError, match=f"{op.name} writes into its arguments and has no vmap"):
        vmap(first)(*(torch.stack([x, x]) for x in given))
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match=refusal):
            first(*(forward_ad.make_dual(x, torch.ones_like(x)) for x in given))
        first(*given)  # nothing here has a tangent


# vmap calls an operation once per item
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_vmap_has_the_results_of_each_item(op):
    case = Case(op)

    def run(*inputs: Tensor) -> Tensors:
        return case.results(op.operation, inputs)

    factor = 1.0 if op.derived else 0.75  # derived arguments must stay consistent
    stacked = [torch.stack([x, x * factor]) for x in case.inputs]
    items = [run(*inputs) for inputs in zip(*stacked, strict=True)]
    for mine, *each in zip(vmap(run)(*stacked), *items, strict=True):
        torch.testing.assert_close(mine, torch.stack(each), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("affine", [False, True], ids=["plain", "affine"])
def test_a_wgan_gp_step_through_an_instance_norm_has_pytorchs_gradient(affine):
    generator = torch.Generator().manual_seed(0)
    real = torch.randn(2, 3, 6, 5, generator=generator, dtype=torch.float64)

    def gradients(norm: Callable[..., Tensor]) -> Tensors:
        convolution = torch.linspace(-1, 1, 4 * 3 * 9, dtype=torch.float64).view(4, 3, 3, 3)
        scale, shift = torch.linspace(0.5, 2, 4).double(), torch.linspace(-1, 1, 4).double()
        weights = convolution.requires_grad_(), scale.requires_grad_(), shift.requires_grad_()
        x = real.clone().requires_grad_()
        critic = norm(F.conv2d(x, weights[0]), *(weights[1:] if affine else (None, None)))
        (slope,) = torch.autograd.grad(critic.tanh().sum(), x, create_graph=True)
        penalty = (slope.flatten(1).norm(2, 1) - 1).square().mean()
        loss = critic.mean() + 10 * penalty
        return torch.autograd.grad(loss, weights[: 3 if affine else 1])

    found = gradients(kf.ops.fused_instance_norm)
    expected = gradients(lambda x, w, b: F.instance_norm(x, weight=w, bias=b))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "op", [op for op in FUNCTIONS if op.group == "loss"], ids=lambda op: op.name
)
def test_no_result_of_a_loss_shares_memory_with_another(op):
    for sample in op.samples():
        found = op.overload(*sample)
        results = [found] if isinstance(found, Tensor) else list(found)
        storages = [x.untyped_storage()._cdata for x in (*tensors_of(sample), *results)]
        given = len(set(storages[: len(storages) - len(results)]))
        assert len(set(storages)) == given + len(results)
