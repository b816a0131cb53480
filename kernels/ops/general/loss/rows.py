"""Row-wise cross-entropy of logits, in PyTorch and in the kernels of a GPU and of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import Structure, byref, c_double, c_int, c_longlong, c_void_p
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.ops.general.elementwise.functions import TYPES
from kernels.table.launcher import CpuLauncher, CudaLauncher

MOST_THREADS = 512  # per block
_BYTES = 32  # of a row, in flight per thread
REDUCTIONS = ("none", "mean", "sum")


class StyleforgeRows(Structure):
    """Mirror of StyleforgeRows in rows.h."""

    _fields_ = [
        *(
            (name, c_void_p)
            for name in (
                *("logits", "labels", "weight", "grads", "divisor", "losses", "lse", "gradient"),
            )
        ),
        *(
            (name, c_longlong)
            for name in (
                *("rows", "classes", "inner", "outer_stride", "inner_stride", "grad_step"),
                "ignore_index",
            )
        ),
        ("smoothing", c_double),
        *((name, c_int) for name in ("type", "known", "are_wide")),
    ]


class StyleforgeTotal(Structure):
    """Mirror of StyleforgeTotal in rows.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("losses", "labels", "weight", "total", "divisor")),
        *((name, c_longlong) for name in ("rows", "classes", "ignore_index")),
        *((name, c_int) for name in ("type", "is_wide", "is_mean")),
    ]


class Labels(NamedTuple):
    """The classes of rows and their weights.

    Attributes:
        labels: int64, of the logits' shape without its last dimension.
        weight: [classes], in the dtype of the loss computation, or None.
        smoothing: Share of the target spread over all classes.
    """

    labels: Tensor
    weight: Tensor | None
    ignore_index: int
    smoothing: float


class Rows(NamedTuple):
    """The results for rows.

    Attributes:
        losses: [rows]; 0 for an ignored label, NaN for a label that is not a class.
        lse: [rows], the logarithms of the sums of exponentials.
        gradient: A tensor of the logits' shape and dtype, or None.
    """

    losses: Tensor
    lse: Tensor
    gradient: Tensor | None


class Kernels(NamedTuple):
    """The kernels for losses of rows; None in its place means PyTorch's operations.

    `rows` runs a call with logits of the dtype. `total` sums the losses; None if PyTorch does.
    """

    rows: Callable[[StyleforgeRows, torch.dtype], None]
    total: Callable[[StyleforgeTotal], None] | None = None


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the loss computation for logits of `dtype`."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check(name: str, logits: Tensor, given: Labels, reduction: str) -> None:
    labels, weight, _, smoothing = given
    if logits.dtype not in TYPES or not logits.dim() or not logits.shape[-1]:
        raise ValueError(
            f"{name}: logits is {logits.dtype} {list(logits.shape)}; expected float16, bfloat16, "
            "float32 or float64 [..., classes]"
        )
    if labels.dtype != torch.int64 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"{name}: labels is {labels.dtype} {list(labels.shape)}; expected int64 "
            f"{list(logits.shape[:-1])}"
        )
    if weight is not None and weight.shape != logits.shape[-1:]:
        raise ValueError(
            f"{name}: weight has the shape {list(weight.shape)}; expected {[logits.shape[-1]]}"
        )
    for what, x in (("labels", labels), ("weight", weight)):
        if x is not None and x.device != logits.device:
            raise ValueError(
                f"{name}: {what} is on {x.device}; expected {logits.device}, where logits is"
            )
    check_reduction(name, reduction)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing is {smoothing}; expected a number from 0 to 1")


def check_reduction(name: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{name}: reduction is '{reduction}'; expected 'none', 'mean' or 'sum'")


def check_loss(name: str, dtype: torch.dtype) -> None:
    """Raise ValueError for a dtype that logits cannot have."""
    if dtype not in TYPES:
        raise ValueError(
            f"{name}: dtype is {dtype}; expected float16, bfloat16, float32 or float64"
        )


def in_pytorch(logits: Tensor, given: Labels, grads: Tensor | None, wanted: bool) -> Rows:
    """Compute rows in PyTorch's operations, which are differentiable."""
    labels, weight, ignore_index, smoothing = given
    x, classes = logits.to(wide(logits.dtype)), logits.shape[-1]
    valid, inside = labels != ignore_index, (labels >= 0) & (labels < classes)
    at = labels.clamp(0, classes - 1)
    hit = torch.full_like(at, 1 - smoothing, dtype=x.dtype)
    if weight is not None:
        hit = hit * weight[at]
    hit = torch.where(valid, torch.where(inside, hit, torch.nan), 0)
    lse = x.logsumexp(-1)
    losses = hit * (lse - x.gather(-1, at[..., None])[..., 0])
    each = smoothing / classes
    spread = torch.full_like(x, each) if weight is None else (each * weight).expand_as(x)
    if smoothing:
        losses = losses + spread.sum(-1) * lse - (spread * x).sum(-1)
    losses = torch.where(valid, losses, 0)
    if not wanted:
        return Rows(losses.flatten(), lse.flatten(), None)
    target = spread + hit[..., None] * (torch.arange(classes, device=x.device) == at[..., None])
    gradient = torch.softmax(x, -1) * target.sum(-1, keepdim=True) - target
    gradient = torch.where(valid[..., None], gradient, 0)
    if grads is not None:
        gradient = gradient * (grads.view(*labels.shape, 1) if grads.numel() > 1 else grads)
    return Rows(losses.flatten(), lse.flatten(), gradient.to(logits.dtype))


def reduced(
    kernels: Kernels | None, losses: Tensor, given: Labels, reduction: str, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return the loss of rows, rounded to `dtype`, and the divisor of the sum."""
    labels, weight, ignore_index, _ = given
    if reduction == "none":
        return losses.view(labels.shape).to(dtype), losses.new_ones(())
    if kernels is not None and kernels.total is not None:
        return _summed(kernels.total, losses, given, reduction, dtype)
    loss, divisor = losses.sum(), losses.new_ones(())
    if reduction == "mean":
        divisor = divisor_of(labels, weight, ignore_index, loss.dtype)
        loss = loss / divisor
    return loss.to(dtype), divisor


def divisor_of(
    labels: Tensor, weight: Tensor | None, ignore_index: int, dtype: torch.dtype
) -> Tensor:
    """Return the divisor of a mean: the sum of the weights of all labels that are not ignored."""
    valid = labels != ignore_index
    if weight is None:
        return valid.sum(dtype=dtype)
    return torch.where(valid, weight[labels.clamp(0, weight.shape[0] - 1)], 0).sum(dtype=dtype)


def _summed(
    total: Callable[[StyleforgeTotal], None],
    losses: Tensor,
    given: Labels,
    reduction: str,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    labels, weight = given.labels.contiguous(), _weight_of(given, losses.dtype)
    loss, divisor = losses.new_empty((), dtype=dtype), losses.new_empty(())
    p = StyleforgeTotal(
        losses=losses.data_ptr(),
        labels=labels.data_ptr(),
        weight=None if weight is None else weight.data_ptr(),
        total=loss.data_ptr(),
        divisor=divisor.data_ptr(),
        rows=labels.numel(),
        classes=0 if weight is None else weight.numel(),
        ignore_index=given.ignore_index,
        type=TYPES[dtype],
        is_wide=losses.dtype == torch.float64,
        is_mean=reduction == "mean",
    )
    total(p)
    return loss, divisor


def _weight_of(given: Labels, dtype: torch.dtype) -> Tensor | None:
    return None if given.weight is None else given.weight.to(dtype).contiguous()


def on_cpu(launch: CpuLauncher, dtype: torch.dtype) -> Kernels | None:
    """Return the kernel of loss.cpp; None in FP64, whose exponentials are PyTorch's."""
    if dtype == torch.float64:
        return None
    run = launch.function("styleforge_cross_entropy", c_longlong, c_void_p)

    def submit(p: StyleforgeRows, dtype: torch.dtype) -> None:
        if run(torch.get_num_threads(), byref(p)):
            raise RuntimeError(f"cross_entropy: the library has no kernel in {dtype}")

    return Kernels(submit)


def on_cuda(launch: CudaLauncher) -> Kernels:
    def submit(p: StyleforgeRows, dtype: torch.dtype) -> None:
        name = f"styleforge_cross_entropy_{str(dtype).removeprefix('torch.')}"
        threads = threads_for(p.rows, p.classes, dtype.itemsize, launch.gpu.multiprocessors)
        launch(name, p.rows, threads, p)

    def total(p: StyleforgeTotal) -> None:
        launch("styleforge_cross_entropy_total", 1, MOST_THREADS, p)

    return Kernels(submit, total)


def computed(
    kernels: Kernels | None,
    logits: Tensor,
    given: Labels,
    grads: Tensor | None = None,
    divisor: Tensor | None = None,
    lse: Tensor | None = None,
    into: Tensor | None = None,
) -> Rows:
    """Compute the losses of rows, their gradient, or both.

    Args:
        logits: [..., classes]. The kernels support any strides of up to three dimensions with a
            dense last one; other tensors are copied. PyTorch computes FP64 on a CPU.
        grads: [rows] or [1], factors of the gradient; None for 1.
        divisor: Divisor of `grads`, [], in the dtype of the losses; None for 1.
        lse: The known log-sum-exp; with it, no losses are computed.
        into: Contiguous output for the gradient, which may be the logits. None skips the gradient.
    """
    if kernels is None:
        if grads is not None and divisor is not None:
            grads = grads.to(divisor.dtype) / divisor
        return in_pytorch(logits, given, grads, into is not None)
    if logits.dim() > 3 or (logits.stride(-1) != 1 and logits.shape[-1] > 1):
        logits = logits.contiguous()
    labels, dtype = given.labels.contiguous(), wide(logits.dtype)
    weight = _weight_of(given, dtype)
    if grads is not None:
        grads = (grads if grads.dtype == logits.dtype else grads.to(dtype)).contiguous()
    losses = torch.empty(labels.numel(), dtype=dtype, device=logits.device)
    found = torch.empty_like(losses) if lse is None else lse
    if not labels.numel():
        return Rows(losses, found, into)
    p = StyleforgeRows(
        logits=logits.data_ptr(),
        labels=labels.data_ptr(),
        weight=None if weight is None else weight.data_ptr(),
        grads=None if grads is None else grads.data_ptr(),
        divisor=None if divisor is None else divisor.data_ptr(),
        losses=losses.data_ptr(),
        lse=found.data_ptr(),
        gradient=None if into is None else into.data_ptr(),
        rows=labels.numel(),
        classes=logits.shape[-1],
        inner=logits.shape[-2] if logits.dim() > 1 else 1,
        outer_stride=logits.stride(-3) if logits.dim() > 2 else 0,
        inner_stride=logits.stride(-2) if logits.dim() > 1 else 0,
        grad_step=int(grads is not None and grads.numel() > 1),
        ignore_index=given.ignore_index,
        smoothing=given.smoothing,
        type=TYPES[logits.dtype],
        known=lse is not None,
        are_wide=grads is not None and grads.dtype == dtype,
    )
    kernels.rows(p, logits.dtype)
    return Rows(losses, found, into)


def threads_for(rows: int, classes: int, size: int, multiprocessors: int) -> int:
    """Return the threads of a block for a row with elements of `size` bytes; a power of 2.

    If a multiprocessor has more rows than the two blocks of maximum size that it holds, blocks have
    half as many threads. One of four then waits for its first logits while three read theirs.
    """
    wanted = max(32, classes * size // _BYTES)
    most = MOST_THREADS if rows <= 2 * multiprocessors else MOST_THREADS // 2
    return min(most, 1 << (wanted - 1).bit_length())
