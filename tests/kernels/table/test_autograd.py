"""The registry's support for gradients: own backwards, statistics, results, lists, states."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.table import operation, philox
from kernels.table.autograd import Kept, packed, tensors_of
from kernels.table.operation import OPS, Operation
from kernels.table.parts import Gradient

numbers = itertools.count()


@pytest.fixture
def row(monkeypatch):
    """Return a function that registers operations under unique names, in a temporary table."""
    monkeypatch.setattr(operation, "OPS", dict(OPS))

    def register(signature: Any, **options: Any) -> Any:
        # PyTorch keeps an operation until the process ends.
        signature.__name__ = f"{signature.__name__}_of_test_{next(numbers)}"
        return Operation(samples=lambda: (), **options)(signature)

    return register


def scaled_sum(xs: list[Tensor], scale: float = 2.0) -> tuple[Tensor, Tensor]: ...


def scaled_sum_reference(xs: list[Tensor], scale: float = 2.0) -> tuple[Tensor, Tensor]:
    total = functools.reduce(torch.add, xs)
    return total * scale, (total * total).sum()


def test_several_results_and_lists_have_the_gradients_of_the_reference(row):
    run = row(scaled_sum, reference=scaled_sum_reference)
    xs = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    xs[1] = xs[1].detach()

    def scalars(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return run([a, xs[1], c], 3.0)

    assert torch.autograd.gradcheck(scalars, (xs[0], xs[2]))
    overload = operation.OPS[next(reversed(operation.OPS))].overload
    torch.library.opcheck(overload, (xs,))


def test_a_result_without_a_gradient_needs_none(row):
    def largest(x: Tensor) -> tuple[Tensor, Tensor]: ...

    run = row(largest, reference=lambda x: (x.max(-1).values, x.max(-1).indices.clone()))
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    values, indices = run(x)
    assert not indices.requires_grad
    values.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros(4, 5).scatter(1, indices[:, None], 1.0).double())


class Softmax:
    """Softmax that saves the logarithm of its sums, with a backward that records its arguments."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.references = 0

    def reference(self, x: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        self.references += 1
        return (x * scale).softmax(-1), (x * scale).logsumexp(-1)

    def save(self, arguments: Any, results: Any) -> tuple[Tensor, ...]:
        return arguments[0], results[1]

    def backward(self, kept: Kept, *grads: Tensor) -> tuple[Any, ...]:
        self.kept.append(kept)
        (grad,) = grads  # none for the statistics
        x, lse = kept.tensors
        scale = kept.options[1]
        weights = (x * scale - lse[..., None]).exp()
        return scale * weights * (grad - (grad * weights).sum(-1, keepdim=True)), None


def softmax_with_sums(x: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor]: ...


def test_an_own_backward_is_given_what_was_saved_and_runs_no_reference(row):
    softmax = Softmax()
    run = row(
        softmax_with_sums,
        reference=softmax.reference,
        gradient=Gradient(softmax.save, softmax.backward, statistics=1),
    )
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    out, lse = run(x, 0.5)
    assert out.requires_grad
    assert not lse.requires_grad
    assert softmax.references == 1
    out.square().sum().backward()
    assert softmax.references == 1
    (kept,) = softmax.kept
    assert torch.equal(kept.tensors[1], (x * 0.5).logsumexp(-1))
    assert (kept.options, kept.needs) == ((None, 0.5), (True, False))
    assert torch.autograd.gradcheck(lambda x: run(x, 0.5)[0], (x,))
    op = operation.OPS[next(reversed(operation.OPS))]
    assert op.gradient.backward is not None
    torch.library.opcheck(op.overload, (x, 0.5))


def parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...


class Fills(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[torch.Size] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if "zeros" in func.name() or "zero_" in func.name():
            self.shapes.append(found.shape)
        return found


def test_a_result_that_is_not_used_has_a_gradient_of_zeros_and_statistics_have_none(row):
    def backward(_: Kept, *grads: Tensor) -> tuple[Tensor]:
        double, triple = grads
        return (2 * double + 3 * triple,)

    run = row(
        parts,
        reference=lambda x: (2 * x, 3 * x, x.new_ones(7, 9)),
        gradient=Gradient(lambda *_: (), backward, statistics=1),
    )
    x = torch.randn(4, 5, requires_grad=True)
    _, triple, _ = run(x)
    with Fills() as fills:
        (grad,) = torch.autograd.grad(triple, x, torch.ones(4, 5))
    assert torch.equal(grad, torch.full((4, 5), 3.0))
    assert fills.shapes == [(4, 5)]


def test_nothing_is_saved_where_no_gradient_is_needed(row):
    softmax = Softmax()

    def never(*_: Any) -> Any:
        raise AssertionError("saved")

    run = row(
        softmax_with_sums,
        reference=softmax.reference,
        gradient=Gradient(never, softmax.backward, statistics=1),
    )
    x = torch.randn(2, 3)
    assert not run(x)[0].requires_grad
    with torch.no_grad():
        assert not run(x.requires_grad_())[0].requires_grad


def test_a_list_of_gradients_is_as_long_as_the_list(row):
    def summed(backward: Any) -> Any:
        gradient = Gradient(lambda arguments, results: (), backward, statistics=1)
        return row(scaled_sum, reference=scaled_sum_reference, gradient=gradient)

    xs = [torch.ones(2, requires_grad=True) for _ in range(3)]
    right = summed(lambda kept, grad: ([grad * 5, None, grad], None))
    right(xs)[0].sum().backward()
    assert [None if x.grad is None else x.grad.tolist() for x in xs] == [[5, 5], None, [1, 1]]
    wrong = summed(lambda kept, grad: ([grad], None))
    with pytest.raises(ValueError, match="a list of 3 tensors has 1 gradients"):
        wrong(xs)[0].sum().backward()


@pytest.mark.parametrize("options", [{"save": tuple}, {"backward": tuple}, {"statistics": 1}])
def test_a_backward_says_what_it_saves(options):
    with pytest.raises(ValueError, match="must have both save and backward"):
        Gradient(**options)


def test_arguments_are_put_together_as_they_were():
    x, y, z = (torch.full((1,), float(i)) for i in range(3))
    args = (x, [y, z], 3, None, "text", [1, 2], [])
    packing, tensors = packed(args)
    assert tensors == [x, y, z]
    assert packing.options == (None, None, 3, None, "text", [1, 2], [])
    assert packing.joined(tensors) == list(args)
    assert packing.needs([False, False, True]) == (False, True, *(False,) * 5)
    found = packing.split([x, [y, None], *(None,) * 5], [True, True, True])
    assert found == [x, y, None]
    assert list(tensors_of(args)) == [x, y, z]


def test_a_state_drops_the_same_weights_each_time_and_the_asked_share():
    state = philox.draw_state(torch.device("cpu"))
    kept = philox.kept(state, 3, 100, 200, 0.3)
    assert kept.shape == (3, 100, 200)
    assert torch.equal(philox.kept(state, 3, 100, 200, 0.3), kept)
    assert abs(float(kept.double().mean()) - 0.7) < 0.01
    assert not torch.equal(kept[0], kept[1])
    other = philox.kept(state + torch.tensor([0, 1]), 3, 100, 200, 0.3)
    assert 0.5 < float((other == kept).double().mean()) < 0.66  # 0.58 if independent


def test_the_generator_is_philox():
    # Known answers from Random123 (Salmon et al., 2011): counters and keys of zeros, and of ones.
    zero, ones = torch.zeros(1, dtype=torch.int64), torch.full((1,), 0xFFFFFFFF)
    for given, expected in (
        (zero, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (ones, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ):
        words = philox._philox([given] * 4, [given] * 2)
        assert [int(word) for word in words] == expected


def test_an_element_takes_half_of_a_word():
    state = torch.tensor([7 << 32 | 5, 11])
    for element in (0, 1, 6, 7, 8, 21):
        counter = [torch.tensor(word) for word in (element // 8, 0, 0, 11)]
        words = philox._philox(counter, [torch.tensor(5), torch.tensor(7)])
        number = int(words[element % 8 // 2]) >> element % 2 * 16 & 0xFFFF
        for dropped in (number, number + 1):
            kept = philox.kept_elements(state, 24, dropped / 65536)[element]
            assert bool(kept) == (number >= dropped)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.3, 0.5, 1 - 1e-5, 1 - 1e-9, 1.0])
def test_what_dropout_keeps_has_the_mean_of_all(p):
    share = 1 - philox.dropped_numbers(p) / 65536
    assert share == pytest.approx(1 - p, abs=2**-17)
    assert philox.kept_scale(p) * share == (1 if share else 0)
    state = torch.tensor([1, 2])
    kept, weights = philox.kept_elements(state, 4096, p), philox.kept(state, 1, 64, 64, p)
    for each in (kept, weights):
        assert float(each.double().mean()) == pytest.approx(share, abs=0.03)
        assert share not in (0, 1) or bool((each == share).all())
