"""Derivatives of every operation of the table, under every transform of PyTorch that takes one."""

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
from kernels.ops.autograd import packed, tensors_of
from kernels.ops.registry import OPS, Op

FUNCTIONS = [op for op in OPS.values() if not op.mutates]
WRITING = [op for op in OPS.values() if op.mutates]
BUFFERS = "running_mean", "running_var"  # PyTorch's norms have no derivative by them
Scalar = Callable[..., Tensor]
Tensors = tuple[Tensor, ...]


class Case:
    """One operation or its reference, as functions of the tensors that are differentiated.

    Attributes:
        inputs: These tensors, in FP64.
        directions: A tangent for each.
    """

    def __init__(self, op: Op) -> None:
        given = min(op.samples(), key=lambda sample: sum(x.numel() for x in tensors_of(sample)))
        names = [argument.name for argument in op.overload._schema.arguments]
        self._packing, self._tensors = packed(given)
        owners = [
            name
            for name, count in zip(names, self._packing.counts, strict=False)
            for _ in range(0 if count is None else abs(count))
        ]
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
            torch.randn(x.shape, generator=generator, dtype=x.dtype) for x in self.inputs
        )
        self._counts = self._followed(op.operation)

    def _followed(self, run: Callable[..., Any]) -> list[bool]:
        """Return which results autograd follows: the others only serve a backward."""
        results = self._run(run, tuple(x.clone().requires_grad_() for x in self.inputs))
        return [x.requires_grad for x in results]

    def _run(self, run: Callable[..., Any], inputs: Tensors) -> Tensors:
        tensors = list(self._tensors)
        for at, x in zip(self._places, inputs, strict=True):
            tensors[at] = x
        found = run(*self._packing.joined(tensors))
        return (found,) if isinstance(found, Tensor) else tuple(found)

    def scalar(self, run: Callable[..., Any]) -> Scalar:
        """Return a function of the inputs that is curved in each result of `run`."""

        def total(*inputs: Tensor) -> Tensor:
            terms: list[Tensor] = []
            followed = zip(self._run(run, inputs), self._counts, strict=False)
            for each in [x for x, counts in followed if counts]:
                steps = torch.linspace(0.5, 1.5, each.numel(), dtype=each.dtype)
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
    """Return rows of a Hessian, as torch.func.hessian computes them."""

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


# PyTorch's fused attention has no second derivative, and its vmap no copy to channels last.
REFUSED = {
    **{
        (name, double_backward): "derivative for aten::_scaled_dot_product"
        for name in (
            *("flash_attention", "multihead_attention", "block_sparse_attention"),
            *("rope_attention", "block_sparse_forward", "transformer_layer"),
        )
    },
    ("fused_depthwise_conv", hessian_times_directions): "inside vmap .* ChannelsLast",
    ("fused_depthwise_conv", gradients_of_a_batch): "inside vmap .* ChannelsLast",
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap calls an operation by item
@pytest.mark.filterwarnings(r"ignore:`torch.jit")  # PyTorch scripts its own forward derivatives
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.name)
def test_every_transform_has_the_derivatives_of_the_reference_or_says_what_is_missing(op):
    case = Case(op)
    ours, theirs = case.scalar(op.operation), case.scalar(op.reference)
    for transform in TRANSFORMS:
        refusal = REFUSED.get((op.name, transform))
        if refusal is not None:
            with pytest.raises(RuntimeError, match=refusal):
                transform(ours, case)
            continue
        found = transform(ours, case)
        with sdpa_kernel(SDPBackend.MATH):
            expected = transform(theirs, case)
        assert len(found) == len(expected) > 0
        for mine, right in zip(found, expected, strict=True):
            torch.testing.assert_close(
                mine, right, rtol=1e-5, atol=1e-6, msg=lambda m, t=transform: f"{t.__name__}: {m}"
            )


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
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match=refusal):
            first(*(forward_ad.make_dual(x, torch.ones_like(x)) for x in given))
        first(*given)  # nothing here has a tangent


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


def test_export_keeps_an_operation_and_its_result():
    class Layers(torch.nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return kf.ops.linear_activation(kf.ops.add_relu(x, y), y)

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    exported = torch.export.export(Layers(), (x, y)).module()
    torch.testing.assert_close(exported(x, y), Layers()(x, y))


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
