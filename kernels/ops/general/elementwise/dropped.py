"""Dropout that saves one bit per element for backward instead of drawing its numbers again.

FP64 runs in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise import bits, reference
from kernels.ops.general.elementwise.arguments import check_dropout
from kernels.table.autograd import Grad, Kept
from kernels.table.launcher import CpuLauncher
from kernels.table.philox import kept_elements, kept_scale

_READS = {"gelu_dropout": True, "attention_dropout": False}  # whether the gradient reads the input


def meaning(x: Tensor, function: str, p: float, state: Tensor) -> tuple[Tensor, Tensor]:
    _check(function)
    check_dropout(function, p, state, active=True)
    y = reference.forward(function, (x.contiguous(),), p, state)
    return y, bits.of(kept_elements(state, x.numel(), p))


def backward_meaning(
    grad: Tensor, x: Tensor | None, mask: Tensor, function: str, p: float
) -> Tensor:
    _check_mask(grad, x, mask, function)
    factors = bits.are_set(mask, grad.numel()).view(grad.shape) * kept_scale(p)
    found = reference.of_factors(grad, grad if x is None else x, function, factors)
    return found.contiguous()


def launch(
    launch: CpuLauncher, x: Tensor, function: str, p: float, state: Tensor
) -> tuple[Tensor, Tensor]:
    _check(function)
    check_dropout(function, p, state, active=True)
    x = x.contiguous()
    if not bits.are_kept(x):
        return meaning(x, function, p, state)
    return bits.run(launch, function, (x,), p=p, state=state.contiguous())


def launch_backward(
    launch: CpuLauncher, grad: Tensor, x: Tensor | None, mask: Tensor, function: str, p: float
) -> Tensor:
    _check_mask(grad, x, mask, function)
    grad = grad.contiguous()
    read = grad if x is None else x.contiguous()
    if not bits.are_kept(grad, read):
        return backward_meaning(grad, x, mask, function, p)
    return bits.run(launch, function, (grad, read), mask.contiguous(), p)[0]


def save(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the bits to save, and the input if the gradient reads it."""
    x, function, *_ = arguments
    return [x if _READS[function] else None, results[1]]


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    x, mask = kept.tensors
    _, function, p, _ = kept.options
    of_x: Any = torch.ops.styleforge.dropout_mask_backward(grad, x, mask, function, p)
    return of_x, None, None, None


def in_place_of(function: str) -> Callable[..., Tensor | None]:
    """Return a dropout that saves bits; it returns None for arguments without such a kernel."""

    def recorded(x: Tensor, p: float, training: bool, state: Tensor | None) -> Tensor | None:
        if state is None or not training or not 0 < p <= 1 or not bits.are_kept(x):
            return None
        found: Any = torch.ops.styleforge.dropout_masked(x, function, p, state)
        return found[0]

    return recorded


def _check(function: str) -> None:
    if function not in _READS:
        raise ValueError(f"dropout_masked: function is '{function}'; expected {', '.join(_READS)}")


def _check_mask(grad: Tensor, x: Tensor | None, mask: Tensor, function: str) -> None:
    _check(function)
    if mask.dtype != torch.uint8 or mask.numel() != -(-grad.numel() // bits.OF_BYTE):
        raise ValueError(
            f"dropout_mask_backward: mask is {mask.dtype} {list(mask.shape)}; expected torch.uint8 "
            f"of a bit for each of the gradient's {grad.numel()} elements"
        )
    if (x is None) == _READS[function] or (x is not None and x.shape != grad.shape):
        wanted = f"{list(grad.shape)}, as the gradient" if _READS[function] else "None"
        raise ValueError(
            f"dropout_mask_backward: x is {None if x is None else list(x.shape)}; expected {wanted}"
        )


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield both functions on rows that fill whole bytes and rows that do not."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for function in _READS:
            for shape in ((5,), (3, 40), (5, 1024)):
                x = torch.randn(shape, generator=generator).to(dtype)
                yield x, function, 0.3, torch.tensor([5 << 33, 7])


def samples_of_backward() -> Iterator[tuple[Any, ...]]:
    for x, function, p, state in samples():
        mask = meaning(x, function, p, state)[1]
        yield x.flip(0), x if _READS[function] else None, mask, function, p
