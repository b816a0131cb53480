"""Optimizers that update many tensors by one launch, and the clipping of gradients.

They are PyTorch's Adam, AdamW and SGD with another step: param groups, hooks, schedulers and
`torch.amp.GradScaler` work as there, and a state dict of either is loaded by the other. Where
parameters are sharded (DTensor, as `fully_shard` makes them), each process updates its own part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernel_fusion.sharded import by_mesh, local, norm_over_mesh, placed_as, whole
from kernels.ops import adam_step, clip_grads_with_norm, sgd_step, total_norm
from kernels.ops.optimizers.tensors import check

_torch: Any = torch  # it gives its operations on lists no type


class _Fused(torch.optim.Optimizer):
    """What the optimizers have in common: a step for the tensors of a group on one device."""

    _step_supports_amp_scaling = True  # what GradScaler looks for
    _options: tuple[str, ...] = ()  # of a group, without which there is no step

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
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss again, with gradients; or None.

        Returns:
            What the closure returned.

        Raises:
            ValueError: An option or a gradient is none that the kernels take. No parameter and no
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
        """Return the parameters of a step by group and device, after a check of all of them."""
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
        """Return a tensor of each parameter's state, in the parameter's dtype; zeros at first."""
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
        """Add a group of parameters, or raise ValueError for an option without a kernel."""
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
    """The step of Adam and of AdamW."""

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

    Parameters of FP16, BF16, FP32 and FP64 may be mixed; averages have the parameter's dtype, and
    arithmetic is FP32 (FP64 for FP64). Steps are counted on the device, so that a CUDA graph can
    replay one; the learning rate in it is the number that it was captured with. A step that a
    GradScaler finds infinite gradients in changes nothing, without waiting for the device; unlike
    in PyTorch, the gradients stay scaled.

    Args:
        params: Tensors, or groups of them as dicts with options of their own.
        lr: The learning rate, a number.
        betas: Of the averages of gradients and of their squares, from 0 to below 1.
        eps: Added to the root of the average of squares.
        weight_decay: Added to the gradient, times the parameter.
        amsgrad: Is refused where it is true.
        maximize: Whether gradients are followed upwards.
        foreach: Changes nothing, like `fused` and `capturable`: the step is always the fused one,
            which a CUDA graph can capture.
        capturable: See `foreach`.
        differentiable: Is refused where it is true.
        fused: See `foreach`.

    Raises:
        ValueError: An option is not in its range, or is none that there is a kernel for.
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
        del foreach, fused  # they choose among steps that do the same; there is one here
        asked = {"amsgrad": amsgrad, "lr": lr, "differentiable": differentiable}
        _refuse(type(self).__name__, asked)
        options = {"maximize": maximize, "capturable": capturable, "fused": True}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class FusedAdamW(_FusedAdam, torch.optim.AdamW):
    """torch.optim.AdamW (Loshchilov and Hutter, 2019), with one launch for many tensors.

    What is said of FusedAdam holds for it.

    Args:
        params: As those of FusedAdam, like what follows.
        lr: The learning rate.
        betas: Of the averages.
        eps: Added to the root of the average of squares.
        weight_decay: How much of a parameter decays, times the learning rate.
        amsgrad: Is refused where it is true.
        maximize: Whether gradients are followed upwards.
        foreach: Changes nothing, like `fused` and `capturable`: the step is always the fused one,
            which a CUDA graph can capture.
        capturable: See `foreach`.
        differentiable: Is refused where it is true.
        fused: See `foreach`.

    Raises:
        ValueError: An option is not in its range, or is none that there is a kernel for.
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
        del foreach, fused  # they choose among steps that do the same; there is one here
        asked = {"amsgrad": amsgrad, "lr": lr, "differentiable": differentiable}
        _refuse(type(self).__name__, asked)
        options = {"maximize": maximize, "capturable": capturable, "fused": True}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class FusedSGD(_Fused, torch.optim.SGD):
    """torch.optim.SGD, with one launch for many tensors.

    What is said of FusedAdam of dtypes, CUDA graphs and a GradScaler holds for it.

    Args:
        params: Tensors, or groups of them as dicts with options of their own.
        lr: The learning rate, a number.
        momentum: What is kept of the steps before.
        dampening: How much less than 1 a gradient counts in the momentum.
        weight_decay: Added to the gradient, times the parameter.
        nesterov: Whether steps look ahead (Sutskever et al., 2013).
        maximize: Whether gradients are followed upwards.
        foreach: Changes nothing, like `fused`: the step is always the fused one.
        differentiable: Is refused where it is true.
        fused: See `foreach`.

    Raises:
        ValueError: An option is not in its range, or is none that there is a kernel for.
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
        del foreach, fused  # they choose among steps that do the same; there is one here
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
        if momentum and group["dampening"]:  # the first gradient counts whole
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
    """Scale gradients in place so that the norm of all of them is at most `max_norm`.

    As torch.nn.utils.clip_grad_norm_, but that gradients whose norm is not above are not written.

    Args:
        parameters: A tensor, or several on any devices; those without a gradient do not count.
        max_norm: The norm that gradients may have.
        norm_type: 1, 2 or infinity; PyTorch computes others. As in PyTorch, 0 counts the gradients
            that are not zero.
        error_if_nonfinite: Whether a norm that is NaN or infinite is an error, for which the device
            is waited for. Without it, it makes gradients NaN.
        foreach: Changes nothing: one launch takes many gradients.

    Returns:
        [], the norm of the gradients as they were, FP32 (FP64 if one of them is). Gradients that
        are sharded (DTensor) have one norm over all processes, which each of these returns.

    Raises:
        RuntimeError: The norm is not finite, with `error_if_nonfinite`.
        ValueError: `norm_type` is NaN, or not above 0 for sharded gradients.
    """
    del foreach  # it chooses among norms that are the same; there is one here
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
    """Refuse the options that there is no kernel for, with a ValueError."""
    if options.get("amsgrad"):
        raise ValueError(f"{name}: amsgrad is True; expected False, or torch.optim's optimizer")
    if options.get("differentiable"):
        raise ValueError(
            f"{name}: differentiable is True; expected False, or torch.optim's optimizer"
        )
    if isinstance(options.get("lr"), Tensor):
        raise ValueError(f"{name}: lr is a tensor; expected a number")
