"""Only calls that nothing else observes bypass PyTorch's dispatcher."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

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
def test_outside_of_inference_mode_the_dispatcher_is_asked(mode):
    with mode():
        assert asked(X)


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
    ],
    ids=[
        *("a subclass", "a subclass second", "negated", "negated second"),
        *("no device", "two devices", "a list", "no tensor first"),
    ],
)
def test_arguments_that_the_kernel_cannot_take_as_they_are_go_to_the_dispatcher(args):
    with torch.inference_mode():
        assert asked(*args)


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
