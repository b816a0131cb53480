"""Attention weights: a product, then one in-place pass for scale, mask and softmax.

PyTorch computes FP64 and, on a GPU, long rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.attention import product
from kernels.table.autograd import Grad, Kept
from kernels.table.calls import TYPES
from kernels.table.launcher import Argument, CpuLauncher, CudaLauncher

CPU, CUDA = "attention_parts", "attention_parts_cuda"
MOST_KEYS = 8192  # the longest row that a GPU block holds
_MOST_THREADS, _VECTOR = 512, 16  # per block; bytes per load
_HELD, _VECTORS = 8, 4  # elements per thread for a short row, or its vectors
_VISIBLE, _ADDED = 1, 2  # kinds of masks


def check(q: Tensor, k: Tensor, mask: Tensor | None, name: str = "attention_score") -> None:
    """Raise ValueError if queries, keys and mask do not match."""
    if q.dim() < 2 or not q.is_floating_point():
        raise ValueError(
            f"{name}: q is {q.dtype} {list(q.shape)}; expected floating [..., queries, size]"
        )
    if k.dtype != q.dtype or k.device != q.device:
        raise ValueError(f"{name}: k is {k.dtype} on {k.device}; expected {q.dtype} on {q.device}")
    if k.dim() != q.dim() or (*k.shape[:-2], k.shape[-1]) != (*q.shape[:-2], q.shape[-1]):
        wanted = [*q.shape[:-2], "keys", q.shape[-1]]
        raise ValueError(f"{name}: k has the shape {list(k.shape)}; expected {wanted}")
    if mask is None:
        return
    if mask.dtype not in (torch.bool, q.dtype) or mask.device != q.device:
        raise ValueError(
            f"{name}: mask is {mask.dtype} on {mask.device}; expected bool or {q.dtype} on "
            f"{q.device}"
        )
    shape = (*q.shape[:-1], k.shape[-2])
    own = (1,) * (len(shape) - mask.dim()) + tuple(mask.shape)
    if mask.dim() > len(shape) or any(
        size not in (1, full) for size, full in zip(own, shape, strict=True)
    ):
        raise ValueError(
            f"{name}: mask has the shape {list(mask.shape)}; expected one that broadcasts to "
            f"{list(shape)}"
        )


def reference(q: Tensor, k: Tensor, scale: float | None, mask: Tensor | None) -> Tensor:
    check(q, k, mask)
    scores = torch.matmul(q, k.transpose(-1, -2))
    return weights_of(scores, _scale(q, scale), mask).to(q.dtype)


def weights_of(scores: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """Compute softmax(scores scale + mask), with zeros for a query that sees no key."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32)) * scale
    if mask is not None:
        wide = wide.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else wide + mask
    if not wide.shape[-1]:
        return wide.to(scores.dtype)
    origin = wide.detach().amax(-1, keepdim=True)
    weights = (wide - torch.where(origin == -torch.inf, 0.0, origin)).exp()
    total = weights.sum(-1, keepdim=True)
    return (weights / torch.where(total == 0, 1.0, total)).to(scores.dtype)


def backward_reference(grad: Tensor, weights: Tensor) -> Tensor:
    if grad.shape != weights.shape or grad.dtype != weights.dtype:
        raise ValueError(
            f"attention_score_backward: grad is {grad.dtype} {list(grad.shape)}; expected "
            f"{weights.dtype} {list(weights.shape)}"
        )
    wide = torch.promote_types(grad.dtype, torch.float32)
    g, w = grad.to(wide), weights.to(wide)
    return (w * (g - (g * w).sum(-1, keepdim=True))).to(grad.dtype).contiguous()


def save(arguments: Sequence[Any], results: Sequence[Tensor]) -> list[Tensor | None]:
    q, k, _, mask = arguments
    return [q, k, mask if mask is not None and mask.is_floating_point() else None, *results]


def gradients(kept: Kept, change: Tensor) -> Sequence[Grad]:
    q, k, mask, _ = kept.tensors
    scale = _scale(q, kept.options[2])
    of_q = _scaled_product(change, k, scale) if kept.needs[0] else None
    of_k = _scaled_product(change.transpose(-1, -2), q, scale) if kept.needs[1] else None
    of_mask = change.sum_to_size(mask.shape) if mask is not None and kept.needs[3] else None
    return of_q, of_k, None, of_mask


def _scaled_product(x: Tensor, y: Tensor, scale: float) -> Tensor:
    """Compute x y scale; scaling inside the product saves a launch."""
    if x.dim() < 3:
        return torch.addmm(x.new_empty(()), x, y, beta=0, alpha=scale)
    planes = [each.flatten(0, -3) for each in (x, y)]
    found = torch.baddbmm(x.new_empty(()), *planes, beta=0, alpha=scale)
    return found.view(*x.shape[:-1], y.shape[-1])


def launch_cpu(
    launch: CpuLauncher,
    q: Tensor,
    k: Tensor,
    scale: float | None,
    mask: Tensor | None,
) -> Tensor:
    def softmax(rows: int, *arguments: Argument) -> None:
        launch("styleforge_softmax", *arguments, rows)

    return _run(softmax, _product, q, k, scale, mask)


def launch_cuda(
    launch: CudaLauncher,
    q: Tensor,
    k: Tensor,
    scale: float | None,
    mask: Tensor | None,
) -> Tensor:
    check(q, k, mask)
    keys = k.shape[-2]
    if keys > MOST_KEYS:
        return reference(q, k, scale, mask)

    def softmax(
        rows: int, scores: Tensor, mask: Tensor | None, _type: int, *arguments: Argument
    ) -> None:
        vector = _is_vector(keys, scores)
        held = _held(scores) if vector and mask is None else _HELD
        name = f"styleforge_softmax_{_name(scores)}"
        launch(name, rows, _threads(keys, held), scores, mask, *arguments, vector)

    def multiply(q: Tensor, k: Tensor, scores: Tensor) -> None:
        if product.slower_reason(q, k):
            _product(q, k, scores)
        else:
            product.launch(launch, q, k, scores)

    return _run(softmax, multiply, q, k, scale, mask)


def _product(q: Tensor, k: Tensor, scores: Tensor) -> None:
    torch.matmul(q, k.transpose(-1, -2), out=scores)


def _run(
    softmax: Callable[..., None],
    multiply: Callable[[Tensor, Tensor, Tensor], None],
    q: Tensor,
    k: Tensor,
    scale: float | None,
    mask: Tensor | None,
) -> Tensor:
    """Run the product `multiply(q, k, scores)`, then `softmax(rows, arguments...)` in place."""
    check(q, k, mask)
    scores = q.new_empty((*q.shape[:-1], k.shape[-2]))
    if q.dtype not in TYPES or not scores.numel():
        return reference(q, k, scale, mask)
    multiply(q, k, scores)  # contiguous, as the softmax expects
    kind, strides = 0, (0, 0, 0, 0)
    *leading, queries, keys = scores.shape
    heads = leading[-1] if leading else 1
    if mask is not None:
        kind = _VISIBLE if mask.dtype == torch.bool else _ADDED
        mask = mask.expand(scores.shape)
        if mask.dim() > 4:
            mask = mask.reshape(-1, heads, queries, keys)
        strides = (*(0,) * (4 - mask.dim()), *mask.stride())
    numbers = TYPES[q.dtype], kind, keys, queries, heads
    rows = scores.numel() // keys
    softmax(rows, scores, mask, *numbers, *strides, float(_scale(q, scale)))
    return scores


def backward_on_cpu(launch: CpuLauncher, grad: Tensor, weights: Tensor) -> Tensor:
    def gradient(rows: int, *arguments: Argument) -> None:
        launch("styleforge_softmax_gradient", *arguments, rows)

    return _run_backward(gradient, grad, weights)


def backward_on_cuda(launch: CudaLauncher, grad: Tensor, weights: Tensor) -> Tensor:
    if weights.dim() and weights.shape[-1] > MOST_KEYS:
        return backward_reference(grad, weights)

    def gradient(rows: int, *arguments: Argument) -> None:
        *tensors, _type, keys = arguments
        vector = _is_vector(weights.shape[-1], *(x for x in tensors if isinstance(x, Tensor)))
        threads = _threads(weights.shape[-1], _held(weights) if vector else _HELD)
        name = f"styleforge_softmax_gradient_{_name(weights)}"
        launch(name, rows, threads, *tensors, keys, vector)

    return _run_backward(gradient, grad, weights)


def _run_backward(gradient: Callable[..., None], grad: Tensor, weights: Tensor) -> Tensor:
    if grad.dtype not in TYPES or not grad.numel() or grad.shape != weights.shape:
        return backward_reference(grad, weights)
    grad, weights = grad.contiguous(), weights.contiguous()
    out, keys = torch.empty_like(grad), grad.shape[-1]
    gradient(grad.numel() // keys, grad, weights, out, TYPES[grad.dtype], keys)
    return out


def refuses(**arguments: Any) -> str:
    first: Tensor = arguments["q" if "q" in arguments else "weights"]
    keys = arguments["k"].shape[-2] if "k" in arguments else first.shape[-1]
    if first.dtype not in TYPES:
        return f"no native kernel in {first.dtype}; PyTorch's runs"
    if first.device.type == "cuda" and keys > MOST_KEYS:
        return f"the native CUDA kernel takes at most {MOST_KEYS} keys, got {keys}"
    return ""


def _scale(q: Tensor, scale: float | None) -> float:
    return q.shape[-1] ** -0.5 if scale is None else scale


def _threads(width: int, held: int) -> int:
    """Return the threads of a row's block with `held` elements each: a power of two, full warps."""
    threads = 32
    while threads < _MOST_THREADS and threads * held < width:
        threads *= 2
    return threads


def _held(x: Tensor) -> int:
    return _VECTORS * _VECTOR // x.element_size()


def _name(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _is_vector(width: int, *tensors: Tensor) -> bool:
    """Return whether rows of this width allow 16-byte reads."""
    return all(
        width * x.element_size() % _VECTOR == 0 and x.data_ptr() % _VECTOR == 0 for x in tensors
    )


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield rows that fill vectors or not, products of our kernel, all masks, and a hidden row."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape, keys in (((2, 3, 5, 8), 16), ((3, 4, 8), 7), ((2, 16), 1030), ((130, 20), 65)):
            q = _normal(0, *shape).to(dtype)
            k = _normal(1, *shape[:-2], keys, shape[-1]).to(dtype)
            visible = _normal(2, shape[-2], keys) > -0.5
            visible[0] = False
            yield q, k, None, None
            yield q, k, 0.5, visible
            yield q, k, 0.3, _normal(3, *shape[:-2], 1, keys).to(dtype)
            yield q, k, -1.0, _normal(4, shape[-2], 1).to(dtype)


def samples_of_backward() -> Iterator[tuple[Any, ...]]:
    """Yield gradients for the same results."""
    for sample in samples():
        weights = reference(*sample)
        yield _normal(5, *weights.shape).to(weights.dtype), weights


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
