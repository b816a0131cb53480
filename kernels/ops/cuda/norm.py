"""Instance norm on a GPU: what a call of the native launcher is given."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.cuda.calls import TYPES, address, bytes_beside, launched
from kernels.ops.cuda.structs import StyleforgeNorm
from kernels.ops.launcher import CudaLauncher
from kernels.ops.norm_reference import (
    check,
    dense_layout,
    instance_norm_reference,
    interleaved,
)


def norm_forward(
    launch: CudaLauncher,
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """`fused_instance_norm_forward`; FP64 runs on PyTorch."""
    check(input, gamma, beta, residual, 0, "reflect", False)
    if input.dtype not in TYPES:
        return instance_norm_reference(input, gamma, beta, residual, eps, relu)
    layout = dense_layout(input, False)
    x = input.contiguous(memory_format=layout)
    y = torch.empty_like(x, memory_format=layout)
    if not y.numel():
        return y
    gamma, beta = readable(gamma, beta)
    if residual is not None:
        residual = residual.contiguous(memory_format=layout)
    p = norm_of(launch, y, gamma, beta, eps, relu)
    p.x, p.residual, p.vectorized = x.data_ptr(), address(residual), use_vectorized
    p.channels_last = layout is torch.channels_last
    scratch = launch.library.styleforge_norm_scratch(p)
    buffer = bytes_beside(x, scratch) if scratch else None
    p.scratch = address(buffer)
    launched(launch.library.styleforge_norm(p, launch.stream), "instance norm")
    return y


def norm(
    launch: CudaLauncher,
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
) -> Tensor:
    """`fused_instance_norm`: the norm by its kernel; the copies around it, which only the CPU's
    kernel folds in, by PyTorch."""
    check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = dense_layout(x, interleave)
    plain = interleaved(x).contiguous(memory_format=layout) if interleave else x
    y = norm_forward(launch, plain, weight, bias, eps, True, residual, relu)
    if not pad:
        return y.contiguous(memory_format=layout)
    if not y.numel():
        size = (*y.shape[:2], y.shape[2] + 2 * pad, y.shape[3] + 2 * pad)
        return torch.empty(size, dtype=y.dtype, device=y.device, memory_format=layout)
    return F.pad(y, (pad,) * 4, mode=pad_mode).contiguous(memory_format=layout)


def norm_out(
    launch: CudaLauncher,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
    relu: bool,
    pad: int,
    pad_mode: str,
    interleave: bool,
    out: Tensor,
) -> None:
    """`fused_instance_norm_out`."""
    y = norm(launch, x, weight, bias, residual, eps, relu, pad, pad_mode, interleave)
    if (out.shape, out.dtype, out.stride()) != (y.shape, y.dtype, y.stride()):
        raise ValueError(
            f"instance norm: out must be a dense {y.dtype} tensor of the padded shape, got "
            f"{out.dtype} {list(out.shape)}"
        )
    out.copy_(y)


def norm_of(
    launch: CudaLauncher,
    y: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float,
    relu: bool,
) -> StyleforgeNorm:
    """The norm of a dense tensor in place; `gamma` and `beta` as `readable` returns them."""
    n, c, h, w = y.shape
    either = beta if gamma is None else gamma
    return StyleforgeNorm(
        x=y.data_ptr(),
        y=y.data_ptr(),
        gamma=address(gamma),
        beta=address(beta),
        samples=n,
        channels=c,
        pixels=h * w,
        eps=eps,
        relu=relu,
        channels_last=dense_layout(y, False) is torch.channels_last,
        type=TYPES[y.dtype],
        parameter_type=0 if either is None else TYPES[either.dtype],
        vectorized=1,
        multiprocessors=launch.gpu.multiprocessors,
        clusters=launch.gpu.major >= 9,
    )


def readable(gamma: Tensor | None, beta: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Both of one type that the kernels read, and dense; converted only where they are not."""
    given = [x for x in (gamma, beta) if x is not None]
    if len({x.dtype for x in given}) < 2 and all(
        x.dtype in TYPES and x.is_contiguous() for x in given
    ):
        return gamma, beta
    made = [None if x is None else x.to(torch.float32).contiguous() for x in (gamma, beta)]
    return made[0], made[1]
