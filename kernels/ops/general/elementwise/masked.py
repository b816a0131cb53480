"""relu(x + y) that saves one bit per element for backward instead of the result.

FP64 runs in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.elementwise import bits as of_elements
from kernels.ops.general.elementwise import reference as meaning
from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import CpuLauncher, CudaLauncher

CUDA = "relu_mask_cuda"
BITS = of_elements.OF_BYTE
# threads per block, vectors per thread, bytes per vector
_THREADS, _OF_THREAD, _VECTOR = 256, 2, 16


def fits(x: Tensor, y: Tensor) -> bool:
    """Return whether a kernel can add the two tensors.

    They must be contiguous, have the same shape and dtype, and fill whole bytes with one bit per
    element.
    """
    if x.is_cpu:
        return x.numel() % BITS == 0 and of_elements.are_kept(x, y)
    return (
        x.is_cuda
        and x.device == y.device
        and x.dtype == y.dtype
        and x.dtype in TYPES
        and x.shape == y.shape
        and x.numel() > 0
        and x.numel() % BITS == 0
        and x.is_contiguous()
        and y.is_contiguous()
    )


def check(x: Tensor, y: Tensor) -> None:
    """Raise ValueError if two tensors are not alike, or do not fill whole bytes of bits."""
    if x.shape != y.shape or x.dtype != y.dtype or x.device != y.device or x.numel() % BITS:
        raise ValueError(
            f"add_relu_masked: y is {y.dtype} {list(y.shape)} on {y.device}; expected {x.dtype} "
            f"{list(x.shape)} on {x.device}, as x, with a multiple of {BITS} elements"
        )


def reference(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    check(x, y)
    result = meaning.forward("add_relu", (x.contiguous(), y.contiguous()))
    return result, of_elements.of(~(result <= 0))


def check_mask(grad: Tensor, mask: Tensor) -> None:
    """Raise ValueError if a mask does not match a gradient's shape."""
    if mask.dtype != torch.uint8 or mask.numel() * BITS != grad.numel():
        raise ValueError(
            f"relu_mask_backward: mask is {mask.dtype} {list(mask.shape)}; expected torch.uint8 of "
            f"an eighth of the gradient's {grad.numel()} elements"
        )


def backward_reference(grad: Tensor, mask: Tensor) -> Tensor:
    check_mask(grad, mask)
    passes = of_elements.are_set(mask, grad.numel())
    return torch.where(passes.view(grad.shape), grad, 0.0).contiguous()


def launch_on_cpu(launch: CpuLauncher, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    check(x, y)
    x, y = x.contiguous(), y.contiguous()
    if not of_elements.are_kept(x, y):
        return reference(x, y)
    return of_elements.run(launch, "add_relu", (x, y))


def backward_on_cpu(launch: CpuLauncher, grad: Tensor, mask: Tensor) -> Tensor:
    check_mask(grad, mask)
    grad = grad.contiguous()
    if not of_elements.are_kept(grad):
        return backward_reference(grad, mask)
    return of_elements.run(launch, "add_relu", (grad, grad), mask.contiguous())[0]


def launch(launch: CudaLauncher, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Run `add_relu_masked` in the kernel; FP64 and other layouts run in PyTorch."""
    check(x, y)
    if not fits(x, y) or (x.data_ptr() | y.data_ptr()) % _VECTOR:
        return reference(x, y)
    result = torch.empty_like(x)
    mask = x.new_empty(x.numel() // BITS, dtype=torch.uint8)
    _run(launch, "styleforge_add_relu_masked", x, y, result, mask)
    return result, mask


def launch_backward(launch: CudaLauncher, grad: Tensor, mask: Tensor) -> Tensor:
    """Run `relu_mask_backward` in the kernel; FP64 runs in PyTorch."""
    check_mask(grad, mask)
    grad = grad.contiguous()
    if grad.dtype not in TYPES or not grad.numel() or grad.data_ptr() % _VECTOR:
        return backward_reference(grad, mask)
    out = torch.empty_like(grad)
    _run(launch, "styleforge_relu_mask_gradient", grad, mask.contiguous(), out)
    return out


def _run(launch: CudaLauncher, kernel: str, first: Tensor, *tensors: Tensor) -> None:
    vectors = first.numel() * first.element_size() // _VECTOR
    blocks = -(-vectors // (_THREADS * _OF_THREAD))
    launch(kernel, blocks, _THREADS, first, *tensors, TYPES[first.dtype], vectors)


def save(_arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    return [results[1]]


def gradients(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    """Return the gradients of x and y, which are one tensor."""
    of_both: Any = torch.ops.styleforge.relu_mask_backward(grad, kept.tensors[0])
    return [of_both if need else None for need in kept.needs]


def save_backward(arguments: Sequence[Any], _results: Sequence[Tensor]) -> list[Tensor | None]:
    return [arguments[1]]


def gradients_of_backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    """Return the gradients of the gradient and of the mask, which has none."""
    of_grad: Any = torch.ops.styleforge.relu_mask_backward(grad, kept.tensors[0])
    return of_grad, None


def in_place_of_add_relu(x: Tensor, y: Tensor) -> Tensor | None:
    """Compute relu(x + y) so that backward reads bits; return None if no kernel does."""
    found: Any = torch.ops.styleforge.add_relu_masked(x, y) if fits(x, y) else [None]
    return found[0]


def samples() -> Iterator[tuple[Any, ...]]:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((8,), (3, 40), (5, 1024)):
            x, y = (torch.randn(shape, generator=generator).to(dtype) for _ in range(2))
            yield x, y


def samples_of_backward() -> Iterator[tuple[Any, ...]]:
    for x, y in samples():
        yield y, reference(x, y)[1]
