"""Steps of Adam and SGD on lists of tensors, in PyTorch and in one launch for many tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from kernels.ops.general.optim.tensors import StyleforgeUpdate, Submit, apart, check, launches

# Returns the new values of the written tensors at an index.
Formula = Callable[[int], Sequence[Tensor]]


def adam(
    submit: Submit | None,
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """Perform a step of Adam, or of AdamW if decoupled; without `submit` in PyTorch."""
    check("adam_step", params=params, grads=grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs)
    _check_numbers("adam_step", params, steps=steps, grad_scale=grad_scale, found_inf=found_inf)
    if len(steps) != len(params):
        raise ValueError(f"adam_step: steps has {len(steps)} tensors; expected {len(params)}")
    lists = [params, grads, exp_avgs, exp_avg_sqs]
    p = StyleforgeUpdate(
        lr=lr,
        weight_decay=weight_decay,
        beta1=beta1,
        beta2=beta2,
        log_beta1=math.log(beta1) if beta1 else -math.inf,
        log_beta2=math.log(beta2) if beta2 else -math.inf,
        eps=eps,
        maximize=maximize,
        decoupled=decoupled,
    )

    def formula(number: int) -> Sequence[Tensor]:
        x, grad, mean, square = (_wide(each[number]) for each in lists)
        step, grad = steps[number].to(x.dtype), _scaled(grad, maximize, grad_scale)
        grad = grad if decoupled else _decayed(grad, weight_decay, x)
        kept = 1 - lr * weight_decay if decoupled else 1.0
        mean = torch.lerp(mean, grad, 1 - beta1)
        square = beta2 * square + (1 - beta2) * grad * grad
        rate = lr / torch.expm1(step * p.log_beta1)
        correction = torch.rsqrt(-torch.expm1(step * p.log_beta2))
        return kept * x + rate * mean / (square.sqrt() * correction + eps), mean, square

    written = [params, exp_avgs, exp_avg_sqs]
    _step(submit, "styleforge_adam", p, lists, steps, grad_scale, found_inf, formula, written)


def sgd(
    submit: Submit | None,
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffers: list[Tensor],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Perform a step of SGD, with momentum if it has buffers; without `submit` in PyTorch."""
    lists = [params, grads]
    check("sgd_step", params=params, grads=grads)
    _check_numbers("sgd_step", params, grad_scale=grad_scale, found_inf=found_inf)
    if momentum_buffers:
        check("sgd_step", params=params, momentum_buffers=momentum_buffers)
        lists.append(momentum_buffers)
    p = StyleforgeUpdate(
        lr=lr,
        weight_decay=weight_decay,
        momentum=momentum,
        dampening=dampening,
        maximize=maximize,
        nesterov=nesterov,
    )

    def formula(number: int) -> Sequence[Tensor]:
        x, grad, *buffer = (_wide(each[number]) for each in lists)
        grad = _decayed(_scaled(grad, maximize, grad_scale), weight_decay, x)
        if buffer:
            buffer = [momentum * buffer[0] + (1 - dampening) * grad]
            grad = grad + momentum * buffer[0] if nesterov else buffer[0]
        return x - lr * grad, *buffer

    kernel = "styleforge_sgd_momentum" if momentum_buffers else "styleforge_sgd"
    written = [params, *lists[2:]]
    _step(submit, kernel, p, lists, [], grad_scale, found_inf, formula, written)


def _step(
    submit: Submit | None,
    kernel: str,
    p: StyleforgeUpdate,
    lists: Sequence[list[Tensor]],
    steps: Sequence[Tensor],
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
    formula: Formula,
    written: Sequence[Sequence[Tensor]],
) -> None:
    """Step tensors of equal layout in a kernel, and the others by the formula."""
    others: Sequence[int] = range(len(lists[0]))
    if submit is not None:
        p.grad_scale = None if grad_scale is None else grad_scale.data_ptr()
        p.found_inf = None if found_inf is None else found_inf.data_ptr()
        others = apart(lists)
        for tensors, chunks in launches(lists, steps, others):
            submit(kernel, tensors, chunks, p, None)
    for at in others:
        for of, new in zip(written, formula(at), strict=True):
            old = of[at]
            old.copy_(new if found_inf is None else torch.where(found_inf != 0, old, new))


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _scaled(grad: Tensor, maximize: bool, grad_scale: Tensor | None) -> Tensor:
    grad = -grad if maximize else grad
    return grad if grad_scale is None else grad / grad_scale.to(grad.dtype)


def _decayed(grad: Tensor, weight_decay: float, x: Tensor) -> Tensor:
    """Add the decay to a gradient. A decay of 0 reads no parameter: 0 times infinity is NaN."""
    return grad + weight_decay * x if weight_decay else grad


def _check_numbers(
    name: str, params: Sequence[Tensor], **numbers: Sequence[Tensor] | Tensor | None
) -> None:
    """Check that kernels read FP32 elements on the parameters' device."""
    for what, given in numbers.items() if params else ():
        tensors = [given] if isinstance(given, Tensor) else given or ()
        traits = {(x.dtype, x.numel(), x.device) for x in tensors}
        if traits <= {(torch.float32, 1, params[0].device)}:
            continue
        for x in tensors:
            if x.dtype != torch.float32 or x.numel() != 1 or x.device != params[0].device:
                raise ValueError(
                    f"{name}: {what} is {x.dtype} {list(x.shape)} on {x.device}; expected one "
                    f"element of torch.float32 on {params[0].device}"
                )
