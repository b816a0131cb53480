"""Optimizers that update many tensors in one launch, and gradient clipping.

They are PyTorch's Adam, AdamW and SGD with another step. Param groups, hooks, schedulers and
`torch.amp.GradScaler` work as in PyTorch, and each loads the other's state dicts. If parameters
are sharded (DTensor, as `fully_shard` makes them), each process updates its own part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernel_fusion.sharded import by_mesh, local, norm_over_mesh, placed_as, whole
from kernels.ops import adam_step, clip_grads_with_norm, sgd_step, total_norm
from kernels.ops.general.optim.tensors import check

_torch: Any = torch  # torch has no types for its operations on lists


class _Fused(torch.optim.Optimizer):
    """The common part of the optimizers: a step for the tensors of a group on one device."""

    _step_supports_amp_scaling = True  # GradScaler looks for this attribute
    _options: tuple[str, ...] = ()  # options of a group that a step needs

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return the result of the closure.

        The closure recomputes the loss, with gradients enabled.

        Raises:
            ValueError: If the kernels do not support an option or a gradient; no parameter and no
                state has changed then.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group, params in self._checked():
            device, grads = params[0].device, [x.grad for x in params if x.grad is not None]
            found: Sequence[Tensor | None] = [
                getattr(self, name, None) for name in ("grad_scale", "found_inf")
            ]
            numbers = [None if x is None else whole(x).to(device).reshape(()) for x in found]
            self._update(group, params, local(placed_as(params, grads)), *numbers)
        return loss

    def _checked(self) -> list[tuple[dict[str, Any], list[Tensor]]]:
        name, found = type(self).__name__, list[tuple[dict[str, Any], list[Tensor]]]()
        for group in self.param_groups:
            _refuse(name, group)
            for params in _by_device(x for x in group["params"] if x.grad is not None):
                grads = [x.grad for x in params if x.grad is not None]
                if any(x.layout != torch.strided for x in grads):
                    raise ValueError(f"{name}: a gradient is sparse; expected dense")
                check(name, params=params, grads=grads)
                found.append((group, params))
        return found

    def _kept(self, name: str, params: Sequence[Tensor]) -> list[Tensor]:
        """Return one state tensor per parameter, in the parameter's dtype; zeros at first."""
        found: list[Tensor] = []
        for x in params:
            state = self.state[x]
            kept = state.get(name)
            if kept is None:
                kept = state[name] = torch.zeros_like(x)
            elif kept.dtype != x.dtype:
                kept = state[name] = kept.to(x.dtype)
            found.append(kept)
        return found

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Raises:
            ValueError: If an option has no kernel.
        """
        _refuse(type(self).__name__, {**self.defaults, **param_group})
        super().add_param_group(param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        name = type(self).__name__
        for group in state["param_groups"]:  # of a state dict that another optimizer saved
            _refuse(name, group)
            for option in self._options:
                if option not in group:
                    raise ValueError(f"{name}: a group of the state has no '{option}'")
        for x, kept in state["state"].items():
            for key, value in kept.items() if isinstance(x, Tensor) else ():
                if key != "step" and isinstance(value, Tensor) and value.shape != x.shape:
                    raise ValueError(
                        f"{name}: {key} has the shape {list(value.shape)}; expected "
                        f"{list(x.shape)}, as its parameter"
                    )
        super().__setstate__(state)
        for group in self.param_groups:
            group["fused"] = True
            for x in group["params"]:
                if isinstance(step := self.state.get(x, {}).get("step"), Tensor):
                    self.state[x]["step"] = step.to(x.device, torch.float32)


class _FusedAdam(_Fused):
    decoupled = False
    _options = ("lr", "betas", "eps", "weight_decay", "maximize")

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        for x in params:
            if "step" not in self.state[x]:
                self.state[x]["step"] = torch.zeros((), dtype=torch.float32, device=x.device)
        steps = [self.state[x]["step"] for x in params]
        _torch._foreach_add_(steps, 1)
        adam_step(
            local(params),
            grads,
            local(self._kept("exp_avg", params)),
            local(self._kept("exp_avg_sq", params)),
            steps,
            group["lr"],
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group.get("decoupled_weight_decay", self.decoupled),
            group["maximize"],
            grad_scale,
            found_inf,
        )
        if found_inf is not None:
            _torch._foreach_sub_(steps, [found_inf] * len(steps))


class FusedAdam(_FusedAdam, torch.optim.Adam):
    """torch.optim.Adam (Kingma and Ba, 2015), with one launch for many tensors.

    Parameters of FP16, BF16, FP32 and FP64 may be mixed. Averages have the parameter's dtype, and
    arithmetic is FP32 (FP64 for FP64). The device counts the steps, so that a CUDA graph can replay
    one; a replay uses the learning rate of the capture. If a GradScaler finds infinite gradients,
    the step changes nothing, without waiting for the device. Unlike in PyTorch, a step leaves the
    gradients scaled.

    Args:
        lr: The learning rate, a number and not a tensor.
        betas: Decay rates of the averages of gradients and of squared gradients, in [0, 1).
        eps: Added to the root of the average of squares.
        weight_decay: The parameter times this is added to the gradient.
        amsgrad: Must be False, like `differentiable`.
        maximize: Whether to maximize the objective.
        foreach: Has no effect, like `fused` and `capturable`: the step is always the fused one,
            which a CUDA graph can capture.

    Raises:
        ValueError: If an option is out of range or has no kernel.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        del foreach, fused  # they choose among equivalent steps; only one exists here
        asked = {"amsgrad": amsgrad, "lr": lr, "differentiable": differentiable}
        _refuse(type(self).__name__, asked)
        options = {"maximize": maximize, "capturable": capturable, "fused": True}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class FusedAdamW(_FusedAdam, torch.optim.AdamW):
    """torch.optim.AdamW (Loshchilov and Hutter, 2019), with one launch for many tensors.

    It works like FusedAdam, except that `weight_decay` times the learning rate is the share of a
    parameter that decays per step.
    """

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        del foreach, fused  # they choose among equivalent steps; only one exists here
        asked = {"amsgrad": amsgrad, "lr": lr, "differentiable": differentiable}
        _refuse(type(self).__name__, asked)
        options = {"maximize": maximize, "capturable": capturable, "fused": True}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class FusedSGD(_Fused, torch.optim.SGD):
    """torch.optim.SGD, with one launch for many tensors.

    Dtypes, CUDA graphs, a GradScaler, errors and the other arguments work as with FusedAdam.

    Args:
        momentum: The factor of the previous steps' momentum.
        dampening: A gradient enters the momentum times 1 - `dampening`.
        nesterov: Whether steps look ahead (Sutskever et al., 2013).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        del foreach, fused  # they choose among equivalent steps; only one exists here
        _refuse(type(self).__name__, {"lr": lr, "differentiable": differentiable})
        options = {"maximize": maximize, "fused": True}
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, **options)

    _options = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        def step(numbers: list[int], dampening: float) -> None:
            if not numbers:
                return
            chosen = [params[at] for at in numbers]
            buffers = local(self._kept("momentum_buffer", chosen)) if momentum else []
            sgd_step(
                local(chosen),
                [grads[at] for at in numbers],
                buffers,
                group["lr"],
                momentum,
                dampening,
                group["weight_decay"],
                group["nesterov"],
                group["maximize"],
                grad_scale,
                found_inf,
            )

        momentum, every = group["momentum"], range(len(params))
        first: list[int] = []
        if momentum and group["dampening"]:  # dampening does not apply to the first gradient
            first = [at for at in every if self.state[params[at]].get("momentum_buffer") is None]
        step(first, 0.0)
        step([at for at in every if at not in set(first)], group["dampening"])


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that their total norm is at most `max_norm`.

    Like torch.nn.utils.clip_grad_norm_, except that gradients within the norm are not written.

    Args:
        parameters: A tensor, or several on any devices. Tensors without a gradient do not count.
        norm_type: 1, 2 or infinity; PyTorch computes other types. As in PyTorch, 0 counts the
            gradients that are not zero.
        error_if_nonfinite: Whether to raise for a NaN or infinite norm, which waits for the device.
            If False, such a norm makes gradients NaN.
        foreach: Has no effect: one launch always handles many gradients.

    Returns:
        The norm before clipping, shape [], in FP32 (FP64 if a gradient is FP64). Sharded gradients
        (DTensor) have one norm over all processes, which each process returns.

    Raises:
        RuntimeError: If the norm is not finite, with `error_if_nonfinite`.
        ValueError: If `norm_type` is NaN, or not above 0 for sharded gradients.
    """
    del foreach  # it chooses among equivalent norms; only one exists here
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    grads = [x.grad.detach() for x in given if x.grad is not None]
    if not grads:
        return torch.zeros(())
    norms = [norm_over_mesh(of, norm_type) for of in by_mesh(grads)]
    devices = _by_device(local(grads))
    found = norms[0]
    if len(norms) > 1:  # type 0 counts tensors, as PyTorch does
        found = total_norm([x.to(found.device) for x in norms], norm_type or 1.0)
    if error_if_nonfinite and not torch.isfinite(found):
        raise RuntimeError(
            f"clip_grad_norm: the norm of type {norm_type} of the gradients is {float(found)}; "
            "expected a finite one, or error_if_nonfinite=False"
        )
    for of in devices:
        clip_grads_with_norm(of, found.to(of[0].device), max_norm)
    return found


def _by_device(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    given, found = list(tensors), dict[torch.device, list[Tensor]]()
    if len({x.device for x in given}) == 1:
        return [given]
    for x in given:
        found.setdefault(x.device, []).append(x)
    return list(found.values())


def _refuse(name: str, options: dict[str, Any]) -> None:
    if options.get("amsgrad"):
        raise ValueError(f"{name}: amsgrad is True; expected False, or torch.optim's optimizer")
    if options.get("differentiable"):
        raise ValueError(
            f"{name}: differentiable is True; expected False, or torch.optim's optimizer"
        )
    if isinstance(options.get("lr"), Tensor):
        raise ValueError(f"{name}: lr is a tensor; expected a number")
