"""The table of fused operations.

A fused operation is one function: its signature is the schema, its `reference` is what it
means, and its library makes it fast. PyTorch's dispatcher picks the native kernel where one
is loaded for the device, and the reference everywhere else. Calling an operation never
compiles anything; `prepare` does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.jit import build

P = ParamSpec("P")
R = TypeVar("R")
NAMESPACE = "styleforge"
NETWORK = "network"  # the library of the whole network on a GPU, see kernels.network.dispatch
OPERATIONS = "operations"  # that of the operations there


class KernelUnavailable(RuntimeError):
    """A native kernel was asked for by name and cannot run; the message says why."""


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table. `samples` yields arguments for the self-test of a fresh build."""

    group: str
    name: str
    library: str
    native: Callable[..., Any]
    reference: Callable[..., Any]
    samples: Callable[[], Iterable[tuple[Any, ...]]]
    mutates: tuple[str, ...] = ()
    cuda: str = ""  # its library on a GPU; without one, the reference runs there
    is_composite: bool = False  # on the CPU, made of other operations
    tolerance_scale: float = 1.0  # of the self-test's tolerance; 1 is that of a norm

    @property
    def overload(self) -> Any:
        """The operation as PyTorch knows it, `torch.ops.styleforge.<name>.default`."""
        return getattr(getattr(torch.ops, NAMESPACE), self.name).default


@dataclass(frozen=True, slots=True)
class KernelStatus:
    """Whether the native kernel of an operation is in use; if not, `reason` says why in words."""

    name: str
    ready: bool
    reason: str = ""


OPS: dict[str, Op] = {}


def statuses(device: torch.device | str = "cpu") -> tuple[KernelStatus, ...]:
    """What calling each operation on `device` would run, without building anything."""
    kind = torch.device(device).type
    network = (_network_status(),) if kind == "cuda" else ()
    return (*(_status(op, kind) for op in OPS.values()), *network)


def prepare(names: Iterable[str] | None = None, *, force: bool = False) -> tuple[KernelStatus, ...]:
    """Build and load what is missing for the operations `names` (all by default); blocks.

    Safe to call from any thread and more than once. A build that failed before is tried again
    only when something that can change the outcome has changed, or with `force`. Raises
    KeyError for an unknown name; a kernel that cannot be had is a status, not an error.
    """
    chosen = [OPS[name] for name in (OPS if names is None else names)]
    for library in dict.fromkeys(op.library for op in chosen if op.library):
        build.load(library, force=force)
    found = [_status(op, "cpu") for op in chosen]
    if torch.cuda.is_available():
        for library in dict.fromkeys(op.cuda for op in chosen if op.cuda):
            build.load(library, force=force)
            found.append(KernelStatus(library, not build.reason(library), build.reason(library)))
    if names is None and torch.cuda.is_available():
        build.load(NETWORK, force=force)
        found.append(_network_status())
    return tuple(found)


def _network_status() -> KernelStatus:
    reason = build.reason(NETWORK)
    return KernelStatus(NETWORK, not reason, reason)


def _status(op: Op, device: str) -> KernelStatus:
    library = {"cpu": op.library, "cuda": op.cuda}.get(device)
    if library is None or (device == "cuda" and not library):
        kind = "CUDA" if device == "cuda" else device
        reason = f"no native {kind} kernel; runs on its PyTorch reference"
        return KernelStatus(op.name, False, reason)
    # Without a library there is nothing to build: PyTorch's own kernels are the best known.
    reason = build.reason(library) if library else ""
    return KernelStatus(op.name, not reason, reason)


def fused(
    library: str,
    *,
    reference: Callable[P, R],
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    mutates: tuple[str, ...] = (),
    cpu: Callable[P, R] | None = None,
    cuda: str = "",
    tolerance_scale: float = 1.0,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated signature as a fused operation built from `library`.

    Where the fast path on the CPU is made of other operations, `cpu` is that path, and `library`
    what they are built from (empty for PyTorch's own). `cuda` is the library of the kernel on a
    GPU, if there is one. `tolerance_scale` multiplies what the self-test allows for rounding.

    The arguments named in `mutates` are written to; such an operation returns nothing, is for
    inference only, and raises RuntimeError where a gradient would be needed.
    """

    def register(signature: Callable[P, R]) -> Callable[P, R]:
        name = signature.__name__
        qualified = f"{NAMESPACE}::{name}"
        torch.library.define(qualified, torch.library.infer_schema(signature, mutates_args=mutates))
        torch.library.impl(qualified, "CompositeExplicitAutograd")(reference)
        if cpu is not None:
            torch.library.impl(qualified, "CPU")(cpu)
        launch = getattr(getattr(torch.ops, NAMESPACE), name).default
        if mutates:
            torch.library.impl(qualified, "Autograd")(_inference_only(name, launch, mutates))
        else:
            torch.library.register_autograd(
                qualified, _recompute(reference), setup_context=_keep_inputs
            )

        @functools.wraps(signature)
        def operation(*args: P.args, **kwargs: P.kwargs) -> R:
            return launch(*args, **kwargs)

        @functools.wraps(signature)
        def native(*args: P.args, **kwargs: P.kwargs) -> R:
            tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
            status = _status(OPS[name], tensors[0].device.type if tensors else "cpu")
            if not status.ready:
                raise KernelUnavailable(f"{name}: {status.reason}")
            return launch(*args, **kwargs)

        group = signature.__module__.rpartition(".")[2]
        is_composite = cpu is not None
        row = (
            group,
            name,
            library,
            native,
            reference,
            samples,
            mutates,
            cuda,
            is_composite,
            tolerance_scale,
        )
        OPS[name] = Op(*row)
        return operation

    return register


def _inference_only(
    name: str, launch: Callable[..., Any], mutates: tuple[str, ...]
) -> Callable[..., None]:
    order = {argument.name: at for at, argument in enumerate(launch._schema.arguments)}  # pyright: ignore[reportFunctionMemberAccess]
    places = [order[argument] for argument in mutates]

    def autograd(*args: Any) -> None:
        if torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in args):
            raise RuntimeError(f"{name} writes into its arguments and has no gradient")
        with torch._C._AutoDispatchBelowAutograd():
            launch(*args)
        torch.autograd.graph.increment_version([args[at] for at in places])

    return autograd


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*(x for x in inputs if isinstance(x, Tensor)))
    ctx.template = [None if isinstance(x, Tensor) else x for x in inputs]
    ctx.is_tensor = [isinstance(x, Tensor) for x in inputs]


def _recompute(reference: Callable[..., Any]) -> Callable[..., tuple[Tensor | None, ...]]:
    """Backward for any fused forward: run the reference again and differentiate that."""

    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # Trailing arguments that have their default are not passed on, so they need nothing.
        given = len(ctx.needs_input_grad)
        needs = [*ctx.needs_input_grad, *[False] * (len(ctx.template) - given)]
        saved = iter(ctx.saved_tensors)
        inputs = [
            next(saved).detach().requires_grad_(need) if is_tensor else value
            for value, is_tensor, need in zip(ctx.template, ctx.is_tensor, needs, strict=True)
        ]
        wanted = [x for x, need in zip(inputs, needs, strict=True) if need]
        with torch.enable_grad():
            grads = iter(torch.autograd.grad(reference(*inputs), wanted, grad))
        return tuple(next(grads) if need else None for need in needs[:given])

    return backward
