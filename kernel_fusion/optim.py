"""Optimizers that update many tensors by one launch, and the clipping of gradients.

They are PyTorch's Adam, AdamW and SGD with another step: param groups, hooks, schedulers and
`torch.amp.GradScaler` work as there, and a state dict of either is loaded by the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops import adam_step, clip_grads_with_norm, sgd_step, total_norm

_torch: Any = torch  # it gives its operations on lists no type


class _Fused(torch.optim.Optimizer):
    """What the optimizers have in common: a step for the tensors of a group on one device."""

    _step_supports_amp_scaling = True  # what GradScaler looks for

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
            ValueError: An option or a gradient is none that the kernels take.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        found: Sequence[Tensor | None] = [
            getattr(self, name, None) for name in ("grad_scale", "found_inf")
        ]
        for group in self.param_groups:
            _refuse(type(self).__name__, group)
            for params in _by_device(x for x in group["params"] if x.grad is not None):
                grads = [x.grad for x in params if x.grad is not None]
                if any(x.is_sparse for x in grads):
                    raise ValueError(f"{type(self).__name__}: a gradient is sparse; expected dense")
                device = params[0].device
                numbers = [None if x is None else x.to(device).reshape(()) for x in found]
                self._update(group, params, grads, *numbers)
        return loss

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # of a state dict that another optimizer saved
            _refuse(type(self).__name__, group)
            group["fused"] = True
            for x in group["params"]:
                if isinstance(step := self.state.get(x, {}).get("step"), Tensor):
                    self.state[x]["step"] = step.to(x.device, torch.float32)


class _FusedAdam(_Fused):
    """The step of Adam and of AdamW."""

    decoupled = False

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        states = [self.state[x] for x in params]
        for x, state in zip(params, states, strict=True):
            if not state:
                state["step"] = torch.zeros((), dtype=torch.float32, device=x.device)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(x), torch.zeros_like(x)
        steps = [state["step"] for state in states]
        _torch._foreach_add_(steps, 1)
        adam_step(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            steps,
            group["lr"],
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            self.decoupled,
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
    ) -> None:
        _refuse(type(self).__name__, {"amsgrad": amsgrad, "lr": lr})
        options = {"maximize": maximize, "fused": True}
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
    ) -> None:
        _refuse(type(self).__name__, {"amsgrad": amsgrad, "lr": lr})
        options = {"maximize": maximize, "fused": True}
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
    ) -> None:
        _refuse(type(self).__name__, {"lr": lr})
        options = {"maximize": maximize, "fused": True}
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, **options)

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
            buffers = [self.state[x]["momentum_buffer"] for x in chosen] if momentum else []
            sgd_step(
                chosen,
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
        if momentum:
            first = [at for at in every if self.state[params[at]].get("momentum_buffer") is None]
            for at in first:  # what is left of no step; the first gradient counts whole
                self.state[params[at]]["momentum_buffer"] = torch.zeros_like(params[at])
        if not group["dampening"]:
            first = []
        step(first, 0.0)
        step([at for at in every if at not in set(first)], group["dampening"])


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale gradients in place so that the norm of all of them is at most `max_norm`.

    As torch.nn.utils.clip_grad_norm_, but that gradients whose norm is not above are not written.

    Args:
        parameters: A tensor, or several on any devices; those without a gradient do not count.
        max_norm: The norm that gradients may have.
        norm_type: 1, 2 or infinity; others are computed by PyTorch.
        error_if_nonfinite: Whether a norm that is NaN or infinite is an error, for which the device
            is waited for. Without it, it makes gradients NaN.

    Returns:
        [], the norm of the gradients as they were, FP32 (FP64 if one of them is).

    Raises:
        RuntimeError: The norm is not finite, with `error_if_nonfinite`.
        ValueError: `norm_type` is not above 0.
    """
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    grads = [x.grad.detach() for x in given if x.grad is not None]
    if not grads:
        return torch.zeros(())
    devices = _by_device(grads)
    norms = [total_norm(of, norm_type) for of in devices]
    found = norms[0]
    if len(norms) > 1:
        found = total_norm([x.to(found.device) for x in norms], norm_type)
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
    if isinstance(options["lr"], Tensor):
        raise ValueError(f"{name}: lr is a tensor; expected a number")
