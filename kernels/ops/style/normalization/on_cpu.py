"""Instance norm on the CPU: prepares and makes the calls of the native function."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from ctypes import Structure, addressof, c_char_p, c_double, c_longlong
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kernels.ops.style.normalization.reference import check, dense_layout
from kernels.table.launcher import CpuLauncher


def _padded_size(x: Tensor, pad: int, interleave: bool) -> tuple[int, int, int, int]:
    """Return the shape of the result, [N, C, H + 2 pad, W + 2 pad]."""
    n, c, h, w = x.shape
    if interleave:
        c, h, w = c // 4, 2 * (h - 1), 2 * (w - 1)
    return n, c, h + 2 * pad, w + 2 * pad


class NormStruct(Structure):
    """Mirror of StyleforgeInstanceNorm in instance_norm.cpp."""

    _fields_ = [
        *((name, c_longlong) for name in ("n", "c", "h", "w")),
        *((name, c_longlong) for name in ("n_stride", "c_stride", "h_stride", "w_stride")),
        *((name, c_longlong) for name in ("pad", "replicate", "interleave", "channels_last")),
        ("relu", c_longlong),
        ("eps", c_double),
    ]


# Mirror of StyleforgeInstanceNormCall: threads, the norm, x, weight, bias, residual, y. ctypes
# converts seven arguments more slowly than it passes the bytes of one.
_pack_call = struct.Struct("q6P").pack


class _Prepared(NamedTuple):
    """A call prepared for shapes, strides, dtypes and options.

    For the function, `layout` is the memory format of the result, x and the residual, `parameters`
    is the dtype of weight and bias, and `copies` is whether a tensor needs a conversion.
    """

    run: Callable[..., int]
    norm: NormStruct
    address: int
    size: tuple[int, ...]
    strides: tuple[int, ...]
    layout: torch.memory_format
    parameters: torch.dtype
    copies: bool


def norm(
    launch: CpuLauncher,
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    # Everything that `_prepare` reads. It takes longer than the norm of a small tensor.
    key = (
        x.dtype,
        x.shape,
        x.stride(),
        None if weight is None else (weight.dtype, weight.shape, weight.is_contiguous()),
        None if bias is None else (bias.dtype, bias.shape, bias.is_contiguous()),
        None if residual is None else (residual.dtype, residual.shape, residual.stride()),
        eps,
        relu,
        pad,
        pad_mode,
        interleave,
        None if out is None else (out.dtype, out.shape, out.stride()),
    )
    prepared = launch.calls.get(key)
    if prepared is None:
        prepared = launch.keep(
            key,
            _prepare(launch, x, weight, bias, residual, eps, relu, pad, pad_mode, interleave, out),
        )
    run, _, address, size, strides, layout, parameters, copies = prepared
    if out is None:
        out = x.new_empty_strided(size, strides)
    if copies:
        x = x.contiguous(memory_format=layout)
        weight = None if weight is None else weight.to(parameters).contiguous()
        bias = None if bias is None else bias.to(parameters).contiguous()
        if residual is not None and not _is_dense_inside(residual, layout):
            residual = residual.contiguous(memory_format=layout)
    call = _pack_call(
        torch.get_num_threads(),
        address,
        x.data_ptr(),
        0 if weight is None else weight.data_ptr(),
        0 if bias is None else bias.data_ptr(),
        0 if residual is None else residual.data_ptr(),
        out.data_ptr(),
    )
    if run(call):
        raise MemoryError(f"{_KERNELS[x.dtype][0]}: not enough memory")
    return out


def norm_out(launch: CpuLauncher, *args: Any) -> None:
    norm(launch, *args)


def norm_forward(
    launch: CpuLauncher,
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """Compute `fused_instance_norm_forward`; the compiler vectorizes in any case."""
    return norm(launch, input, gamma, beta, residual, eps, relu)


def _prepare(
    launch: CpuLauncher,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
    relu: bool,
    pad: int,
    pad_mode: str,
    interleave: bool,
    out: Tensor | None,
) -> _Prepared:
    """Check the arguments, or raise ValueError, and describe the call to the C function."""
    check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = dense_layout(x, interleave)
    last = layout is torch.channels_last
    size = _padded_size(x, pad, interleave)
    if out is not None:
        fits = out.shape == size and out.dtype == x.dtype
        if not (fits and out.is_contiguous(memory_format=layout)):
            name = "channels-last " if last else ""
            raise ValueError(
                f"instance norm: out must be a dense {name}{x.dtype} tensor of the padded shape, "
                f"got {out.dtype} {list(out.shape)}"
            )
    if x.dtype not in _KERNELS:
        raise ValueError(f"instance norm: no kernel for {x.dtype}")
    function, parameters = _KERNELS[x.dtype]
    n, c, h, w = size
    copies = not x.is_contiguous(memory_format=layout)
    for parameter in (weight, bias):
        if parameter is not None:
            copies |= parameter.dtype != parameters or not parameter.is_contiguous()
    added = (0, 0, 0, 0)
    if residual is not None:
        dense = _is_dense_inside(residual, layout)
        copies |= not dense
        added = residual.stride() if dense else _strides(residual.shape, layout)
    described = (n, c, h - 2 * pad, w - 2 * pad, *added, pad, pad_mode == "replicate")
    norm = NormStruct(*described, interleave, last, relu, eps)
    return _Prepared(
        launch.function(function, c_char_p) if n * c * h * w else _nothing,
        norm,
        addressof(norm),
        size,
        _strides(size, layout),
        layout,
        parameters,
        copies,
    )


def _nothing(*_: Any) -> int:
    return 0


def _is_dense_inside(residual: Tensor, layout: torch.memory_format) -> bool:
    """Return whether the innermost dimension is dense, which suffices for the C function."""
    return residual.stride(1 if layout is torch.channels_last else 3) == 1


def _strides(size: Iterable[int], layout: torch.memory_format) -> tuple[int, ...]:
    return torch.empty(tuple(size), memory_format=layout, device="meta").stride()


# For each input dtype: the C function, and the dtype of weight and bias.
_KERNELS = {
    torch.float32: ("styleforge_instance_norm_float32", torch.float32),
    torch.float16: ("styleforge_instance_norm_float16", torch.float32),
    torch.bfloat16: ("styleforge_instance_norm_bfloat16", torch.float32),
    torch.float64: ("styleforge_instance_norm_float64", torch.float64),
}
