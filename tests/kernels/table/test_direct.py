"""Only calls that nothing else observes bypass PyTorch's dispatcher."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from kernels.ops import fused_instance_norm
from kernels.table.direct import device_of_plain

X = torch.randn(1, 4, 6, 6, generator=torch.Generator().manual_seed(0))


class Subclass(torch.Tensor):
    """A tensor that may redefine operations."""


def asked(*args: object) -> bool:
    return device_of_plain(args) is None


@pytest.mark.parametrize(
    "args", [(X,), (X, None, 1e-5, True), (X, torch.nn.Parameter(X)), (X[:, ::2], "reflect")]
)
def test_a_call_in_inference_mode_goes_to_the_kernel(args):
    with torch.inference_mode():
        assert device_of_plain(args) == -1


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_outside_of_inference_mode_it_goes_there_too(mode):
    with mode():
        assert not asked(X)
        assert not asked(X, torch.nn.Parameter(X))


def test_forward_mode_sees_the_call():
    with forward_ad.dual_level():
        assert asked(X)
    assert not asked(X)


def recorded(**named: torch.Tensor) -> list[torch.Tensor]:
    """Return the result and the gradients of a call through the dispatcher, or without names."""
    inputs = [x.clone().requires_grad_() for x in (X, X[0, :, 0, 0], X[0, :, 1, 1])]
    names = ("x", "weight", "bias")
    result = (
        fused_instance_norm(**dict(zip(names, inputs, strict=True)))
        if named
        else fused_instance_norm(*inputs)
    )
    return [result, *torch.autograd.grad((result**3).sum(), inputs)]


def test_the_gradient_is_the_same_with_and_without_the_dispatcher():
    direct, through = recorded(), recorded(named=X)
    assert all(map(torch.equal, direct, through))


def test_a_call_that_is_recorded_can_be_checkpointed_and_differentiated_twice():
    x = X.clone().requires_grad_()

    def run(x: torch.Tensor) -> torch.Tensor:
        return fused_instance_norm(x, None, None)

    def twice(run) -> torch.Tensor:
        [first] = torch.autograd.grad((run(x) ** 3).sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x)[0]

    plain, kept = twice(run), twice(lambda x: checkpoint(run, x, use_reentrant=False))
    torch.testing.assert_close(kept, plain)
    assert plain.abs().sum() > 0


@pytest.mark.parametrize(
    "args",
    [
        (X.as_subclass(Subclass),),
        (X, X.as_subclass(Subclass)),
        (torch.complex(X, X).conj().imag,),
        (X, torch.complex(X, X).conj().imag),
        (X.to("meta"),),
        (X, X.to("meta")),
        (X, [X]),
        (1.0, X),
        (X.to_sparse(),),
    ],
    ids=[
        *("a subclass", "a subclass second", "negated", "negated second"),
        *("no device", "two devices", "a list", "no tensor first", "sparse"),
    ],
)
def test_arguments_that_the_kernel_cannot_take_as_they_are_go_to_the_dispatcher(args):
    with torch.inference_mode():
        assert asked(*args)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_nested_tensors_go_to_the_dispatcher():
    assert asked(torch.nested.as_nested_tensor([X, X], layout=torch.strided))


@pytest.mark.parametrize(
    "watching", [TorchDispatchMode, TorchFunctionMode, profile], ids=lambda kind: kind.__name__
)
def test_whoever_watches_operations_sees_the_call(watching):
    with torch.inference_mode(), watching():
        assert asked(X)
    with torch.inference_mode():
        assert not asked(X)


def test_transforms_and_tracers_see_the_call():
    seen = []

    def call(x):
        seen.append(asked(x))
        return x + 1

    with torch.inference_mode():
        torch.vmap(call)(X)
        make_fx(call)(X)
    with torch.inference_mode(), pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.trace(call, X, check_trace=False)
    assert len(seen) == 3
    assert all(seen)


def test_the_profiler_names_the_operation():
    with torch.inference_mode(), profile() as profiled:
        fused_instance_norm(X, None, None)
    assert "styleforge::fused_instance_norm" in {event.key for event in profiled.key_averages()}


def test_the_result_is_the_same_with_and_without_the_dispatcher(monkeypatch):
    calls = []

    def noted(args):
        calls.append(device_of_plain(args))
        return calls[-1]

    monkeypatch.setattr("kernels.table.operation.device_of_plain", noted)
    with torch.inference_mode():
        direct = fused_instance_norm(X, None, None)
        through = fused_instance_norm(x=X, weight=None, bias=None)
    assert calls == [-1]
    assert torch.equal(direct, through)


def test_it_compiles_in_inference_mode():
    @torch.compile(fullgraph=True, backend="eager")
    def compiled(x):
        return fused_instance_norm(x, None, None) + 1

    with torch.inference_mode():
        assert torch.equal(compiled(X), fused_instance_norm(X, None, None) + 1)
