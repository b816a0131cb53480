"""Measures optimizers and clipping against PyTorch with `foreach=True` and `fused=True`.

A case is a list of parameters like a model's layers. Errors are differences of the first call's
change in parameters, or in clipped gradients, relative to the largest change in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from benchmarks.operations.case import shape_of
from benchmarks.operations.ways import EAGER, FUSED, OURS, Call, error, size_of, timed
from kernel_fusion.optim import FusedAdam, FusedAdamW, FusedSGD, clip_grad_norm

GROUP = "optim"
OPTIMIZERS = "FusedAdam", "FusedAdamW", "FusedSGD", "clip_grad_norm"
MATRICES = 8
SPREAD = 0.02  # of initial parameters, as in large models
NOT_COMPILED = "steps are not compiled"

Params = list[nn.Parameter]


class _Made(NamedTuple):
    """A way that is ready to be called: the tensors it changes, and the state it then keeps."""

    written: list[Tensor]
    call: Call
    state: Callable[[], list[Tensor]]


Way = Callable[[Params], _Made]


def measured_optimizers(
    device: torch.device,
    sizes: Sequence[tuple[int, int]],
    precisions: Mapping[str, torch.dtype],
    runs: int,
    names: Sequence[str] = OPTIMIZERS,
) -> Iterator[dict[str, Any]]:
    """Measure every optimizer, and clipping; yield rows like `measure.measured`.

    `sizes` are rows of all matrices together, and columns. A GPU does fewer `runs` of long calls.
    """
    known = _cases(device.type == "cuda")
    for name in names:
        ways = known[name]
        for size in sizes:
            for precision, dtype in precisions.items():
                start = _params(size, device, dtype)
                yield {
                    "group": GROUP,
                    "operation": name,
                    "shape": f"{2 * MATRICES} up to {shape_of(start)}",
                    "precision": precision,
                    "step": _measured(ways, start, device, runs),
                }


def _cases(on_gpu: bool) -> dict[str, dict[str, Way]]:
    adam, sgd = {"lr": 1e-3, "weight_decay": 0.01}, {"lr": 1e-3, "momentum": 0.9}
    # required to capture PyTorch's step in a graph
    counted: dict[str, Any] = {"capturable": on_gpu}
    each: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
        "FusedAdam": (FusedAdam, torch.optim.Adam, adam, counted),
        "FusedAdamW": (FusedAdamW, torch.optim.AdamW, adam, counted),
        "FusedSGD": (FusedSGD, torch.optim.SGD, sgd, {}),
    }
    return {
        name: {
            OURS: partial(_stepped, ours, options),
            EAGER: partial(_stepped, theirs, {**options, **others, "foreach": True}),
            FUSED: partial(_stepped, theirs, {**options, **others, "fused": True}),
        }
        for name, (ours, theirs, options, others) in each.items()
    } | {"clip_grad_norm": {OURS: partial(_clipped, clip_grad_norm), EAGER: _clipped_by_pytorch}}


def _params(size: tuple[int, int], device: torch.device, dtype: torch.dtype) -> Params:
    rows, columns = size
    generator = torch.Generator(device).manual_seed(0)
    params: Params = []
    for shape in [(max(1, rows // MATRICES), columns), (columns,)] * MATRICES:
        x, grad = (
            torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(2)
        )
        params.append(nn.Parameter(SPREAD * x))
        params[-1].grad = grad
    return params


def _copied(params: Params, dtype: torch.dtype | None = None) -> Params:
    copies: Params = []
    for x in params:
        copies.append(nn.Parameter(x.detach().clone().to(dtype or x.dtype)))
        copies[-1].grad = _grad(x).clone().to(dtype or x.dtype)
    return copies


def _grad(x: nn.Parameter) -> Tensor:
    return cast("Tensor", x.grad)


def _stepped(optimizer: Callable[..., Any], options: Mapping[str, Any], params: Params) -> _Made:
    made = optimizer(params, **options)

    def state() -> list[Tensor]:
        found: list[dict[str, Any]] = [made.state[x] for x in params]
        return [x for each in found for x in each.values() if isinstance(x, Tensor)]

    return _Made([x.detach() for x in params], made.step, state)


def _clipped(clip: Callable[[Params, float], object], params: Params) -> _Made:
    norms = iter([1.0])

    def call() -> None:
        # From the second call on, clip to 0, so that every timed call has gradients to scale.
        clip(params, next(norms, 0.0))

    return _Made([_grad(x) for x in params], call, list)


def _clipped_by_pytorch(params: Params) -> _Made:
    return _clipped(partial(nn.utils.clip_grad_norm_, foreach=True), params)


def _measured(
    ways: Mapping[str, Way], start: Params, device: torch.device, runs: int
) -> dict[str, Any]:
    on_gpu = device.type == "cuda"
    # A capture must not use the default stream, from the first step on.
    with torch.cuda.stream(torch.cuda.Stream(device)) if on_gpu else nullcontext():
        made = {name: way(_copied(start)) for name, way in ways.items()}
        changes = {name: _change(each) for name, each in made.items()}
        exact = _change(ways[EAGER](_copied(start, torch.float64)))
        ours = made[OURS]
        needed = 2 * size_of([*ours.written, *ours.state()]) + size_of(map(_grad, start))
        calls = {name: each.call for name, each in made.items()}
        return {
            **timed(calls, start, needed, device, runs),
            "not_compiled": NOT_COMPILED,
            "error": {name: error(change, exact) for name, change in changes.items()},
        }


def _change(made: _Made) -> list[Tensor]:
    before = [x.to(torch.float64, copy=True) for x in made.written]
    made.call()
    return [x.double() - y for x, y in zip(made.written, before, strict=True)]
