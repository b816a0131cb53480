"""Instance norm on a GPU: the arguments of the native launcher's calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.style.normalization.reference import (
    check,
    dense_layout,
    instance_norm_reference,
    interleaved,
)
from kernels.ops.style.structs import StyleforgeNorm
from kernels.table.calls import (
    TYPES,
    Picture,
    PreparedCall,
    Recording,
    Tensors,
    launched,
    run,
)
from kernels.table.launcher import CudaLauncher

BORDERS = {"reflect": 0, "replicate": 1}  # numbered as in ops/style/operations.h


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
    """Run `fused_instance_norm_forward`; FP64 runs in PyTorch."""
    tensors = input, gamma, beta, residual
    return run(launch, _prepare, tensors, (eps, use_vectorized, relu, 0, "reflect"))


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
    """Run `fused_instance_norm` on a GPU.

    The kernel also writes the margin if channels are last. PyTorch makes all other copies, which
    only the CPU kernel fuses.
    """
    if not pad and not interleave and pad_mode == "reflect":
        return norm_forward(launch, x, weight, bias, eps, True, residual, relu)
    check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = dense_layout(x, interleave)
    plain = interleaved(x).contiguous(memory_format=layout) if interleave else x
    if pad and dense_layout(plain, False) is torch.channels_last:
        tensors = plain, weight, bias, residual
        return run(launch, _prepare, tensors, (eps, True, relu, pad, pad_mode))
    y = norm_forward(launch, plain, weight, bias, eps, True, residual, relu)
    if not pad:
        return y.contiguous(memory_format=layout)
    if not y.numel():
        size = (*y.shape[:2], y.shape[2] + 2 * pad, y.shape[3] + 2 * pad)
        return torch.empty(size, dtype=y.dtype, device=y.device, memory_format=layout)
    return F.pad(y, (pad,) * 4, mode=pad_mode).contiguous(memory_format=layout)


def norm_out(launch: CudaLauncher, *args: Any) -> None:
    *given, out = args
    y = norm(launch, *given)
    if (out.shape, out.dtype, out.stride()) != (y.shape, y.dtype, y.stride()):
        raise ValueError(
            f"instance norm: out must be a dense {y.dtype} tensor of the padded shape, got "
            f"{out.dtype} {list(out.shape)}"
        )
    out.copy_(y)


def norm_of(
    launch: CudaLauncher,
    y: Picture,
    dtype: torch.dtype,
    parameters: tuple[Tensor | None, int | None, Tensor | None, int | None],
    eps: float,
    *,
    relu: bool,
    channels_last: bool,
) -> StyleforgeNorm:
    """Return the struct of an in-place norm of a dense image.

    `parameters` are gamma, its address, beta and its address, as returned by `readable`.
    """
    n, c, h, w = y.shape
    gamma, gamma_at, beta, beta_at = parameters
    either = beta if gamma is None else gamma
    return StyleforgeNorm(
        x=y.address,
        y=y.address,
        gamma=gamma_at,
        beta=beta_at,
        samples=n,
        channels=c,
        pixels=h * w,
        eps=eps,
        relu=relu,
        channels_last=channels_last,
        type=TYPES[dtype],
        parameter_type=0 if either is None else TYPES[either.dtype],
        vectorized=1,
        multiprocessors=launch.gpu.multiprocessors,
        clusters=launch.gpu.major >= 9,
    )


def readable(gamma: Tensor | None, beta: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Return both dense and in one dtype that the kernels read, converted only if needed."""
    given = [x for x in (gamma, beta) if x is not None]
    if len({x.dtype for x in given}) < 2 and all(
        x.dtype in TYPES and x.is_contiguous() for x in given
    ):
        return gamma, beta
    made = [None if x is None else x.to(torch.float32).contiguous() for x in (gamma, beta)]
    return made[0], made[1]


def _prepare(
    launch: CudaLauncher,
    tensors: tuple[Tensor, Tensor | None, Tensor | None, Tensor | None],
    eps: float,
    use_vectorized: bool,
    relu: bool,
    pad: int,
    pad_mode: str,
) -> PreparedCall:
    """Check the arguments, or raise ValueError, and record the launches."""
    input = tensors[0]
    check(*tensors, pad, pad_mode, False)
    layout = dense_layout(input, False)
    if input.dtype not in TYPES or not input.numel():
        rest: dict[str, Any] = {"eps": eps, "relu": relu, "pad": pad, "pad_mode": pad_mode}
        return lambda _, given, __: instance_norm_reference(*given, **rest)
    convert = partial(_converted, layout=layout)
    given = convert(tensors)
    recording = Recording(launch, given)
    x = recording.picture(0)
    n, c, h, w = x.shape
    y = recording.result((n, c, h + 2 * pad, w + 2 * pad), layout)
    parameters = given[1], recording.input(1), given[2], recording.input(2)
    last = layout is torch.channels_last
    p = norm_of(launch, x, input.dtype, parameters, eps, relu=relu, channels_last=last)
    p.y, p.residual, p.vectorized = y.address, recording.input(3), use_vectorized
    p.width, p.pad, p.border = w, pad, BORDERS[pad_mode]
    if scratch := recording.library.styleforge_norm_scratch(p):
        p.scratch = recording.scratch(scratch)
    launched(recording.library.styleforge_norm(p, None), "instance norm")
    changed = any(a is not b for a, b in zip(given, tensors, strict=True))
    return recording.finished("instance norm", y, convert if changed else None)


def _converted(given: Tensors, layout: torch.memory_format) -> Tensors:
    x, gamma, beta, residual = given
    gamma, beta = readable(gamma, beta)
    if residual is not None:
        residual = residual.contiguous(memory_format=layout)
    return x.contiguous(memory_format=layout), gamma, beta, residual
