"""Instance norm with the residual, the ReLU and the padding around it, in one operation."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from ctypes import Structure, addressof, c_char_p, c_double, c_longlong
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.launcher import CpuLauncher
from kernels.ops.registry import OPERATIONS, fused


def instance_norm_reference(
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
    """What `fused_instance_norm` means, in PyTorch."""
    _check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = _layout(x, interleave)
    last = layout is torch.channels_last
    # Statistics are FP32 whatever the input is; FP64 stays FP64, for gradcheck.
    y = _interleave(x) if interleave else x
    y = y.to(torch.promote_types(x.dtype, torch.float32))
    weight, bias = (None if p is None else p.to(y.dtype) for p in (weight, bias))
    if last:
        y = _normalize_channels_last(y, weight, bias, eps)
    elif y.numel():
        y = F.instance_norm(y, None, None, weight, bias, True, 0.0, eps)
    if residual is not None:
        y = y + residual
    if relu:
        y = y.relu()
    if pad and y.numel():
        y = F.pad(y, (pad,) * 4, mode=pad_mode)
    elif pad:
        y = y.new_empty((*y.shape[:2], y.shape[2] + 2 * pad, y.shape[3] + 2 * pad))
    y = y.to(x.dtype).contiguous(memory_format=layout)
    return y.clone(memory_format=layout) if y is x else y


def _layout(x: Tensor, interleave: bool) -> torch.memory_format:
    """Channels last where the input is, and always when interleaved."""
    if interleave:
        return torch.channels_last
    last = not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def _reference_out(
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
    out.copy_(
        instance_norm_reference(x, weight, bias, residual, eps, relu, pad, pad_mode, interleave)
    )


def _normalize_channels_last(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """PyTorch's instance norm undoes the layout, and its batch norm sums too long for FP32."""
    y = x.permute(0, 2, 3, 1)
    # Row by row, so that no sum is long; what rounding left of the mean is corrected after.
    y = y - _mean_of_pixels(y)
    rest = _mean_of_pixels(y)
    scale = (_mean_of_pixels(y * y) - rest * rest + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    offset = -rest * scale if bias is None else bias - rest * scale
    y = torch.addcmul(offset, y, scale)
    return y.permute(0, 3, 1, 2)


def _mean_of_pixels(x: Tensor) -> Tensor:
    """[N, H, W, C] to [N, 1, 1, C]."""
    return x.mean(2, keepdim=True).mean(1, keepdim=True)


def _interleave(x: Tensor) -> Tensor:
    """[N, 4C, h + 1, w + 1] to [N, C, 2h, 2w]: phase (a, b) of pixel (i, j) is at (i+a, j+b)."""
    n, channels, height, width = x.shape
    c, h, w = channels // 4, height - 1, width - 1
    phases = [
        x[:, (2 * a + b) * c : (2 * a + b + 1) * c, a : a + h, b : b + w]
        for a in (0, 1)
        for b in (0, 1)
    ]
    stacked = torch.stack(phases).view(2, 2, n, c, h, w)
    return stacked.permute(2, 3, 4, 0, 5, 1).reshape(n, c, 2 * h, 2 * w)


def _check(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    pad: int,
    pad_mode: str,
    interleave: bool,
) -> None:
    if x.dim() != 4:
        raise ValueError(f"instance norm: expected [N, C, H, W], got {list(x.shape)}")
    n, c, h, w = x.shape
    if interleave:
        if c % 4 or h < 2 or w < 2:
            raise ValueError(
                f"instance norm: expected [N, 4C, h + 1, w + 1] to interleave, got {list(x.shape)}"
            )
        c, h, w = c // 4, 2 * (h - 1), 2 * (w - 1)
    if h * w <= 1:
        raise ValueError(f"instance norm: one pixel has no variance, got {list(x.shape)}")
    if pad_mode not in ("reflect", "replicate"):
        raise ValueError(f"instance norm: pad_mode is 'reflect' or 'replicate', not '{pad_mode}'")
    if pad < 0 or (pad_mode == "reflect" and pad >= min(h, w)):
        raise ValueError(f"instance norm: cannot pad {h}x{w} by {pad} with reflection")
    for parameter in (weight, bias):
        if parameter is not None and tuple(parameter.shape) != (c,):
            raise ValueError(f"instance norm: expected {c} weights and biases")
    if residual is not None and residual.shape != (n, c, h, w):
        raise ValueError(f"instance norm: the residual has the shape {list(residual.shape)}")
    if residual is not None and residual.dtype != x.dtype:
        raise ValueError(f"instance norm: the residual is {residual.dtype}, not {x.dtype}")


def _reference_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    return instance_norm_reference(input, gamma, beta, residual, eps, relu)


def _samples() -> Iterator[tuple[Any, ...]]:
    """Every branch of the native kernel, small enough to run in a moment."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for layout in (torch.contiguous_format, torch.channels_last):
            for c in (8, 40):
                x = (normal(2, c, 13, 22) * 3 + 5).to(dtype).contiguous(memory_format=layout)
                weight, bias = normal(c), normal(c)
                yield x, None, None, None, 1e-5, False, 0, "reflect", False
                yield x, weight, bias, None, 1e-5, True, 4, "reflect", False
                yield x, weight, bias, x, 1e-5, False, 1, "replicate", False
                yield x, weight[: c // 4], bias[: c // 4], None, 1e-5, True, 1, "reflect", True


def _samples_out() -> Iterator[tuple[Any, ...]]:
    for sample in _samples():
        yield (*sample, torch.zeros_like(instance_norm_reference(*sample)))


def _samples_forward() -> Iterator[tuple[Any, ...]]:
    """One of each path: planes in a block, in a cluster, in parts; channels last; odd shapes."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape in ((2, 8, 13, 22), (1, 3, 96, 128), (1, 2, 240, 256), (1, 1, 520, 521)):
            for layout in (torch.contiguous_format, torch.channels_last):
                x = (normal(*shape) * 3 + 5).to(dtype).contiguous(memory_format=layout)
                gamma, beta = normal(shape[1]), normal(shape[1])
                yield x, None, None, 1e-5, True, None, False
                yield x, gamma, beta, 1e-5, False, x, True


def _padded_size(x: Tensor, pad: int, interleave: bool) -> tuple[int, int, int, int]:
    """The shape of the result, [N, C, H + 2 pad, W + 2 pad]."""
    n, c, h, w = x.shape
    if interleave:
        c, h, w = c // 4, 2 * (h - 1), 2 * (w - 1)
    return n, c, h + 2 * pad, w + 2 * pad


class _Norm(Structure):
    """Mirror of StyleforgeInstanceNorm in cpu/instance_norm.cpp."""

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
    """What follows from shapes, strides, dtypes and options, found out by the first call.

    Attributes:
        run: The function in C, which takes the bytes of a call.
        norm: What a call points to.
        address: Of `norm`.
        size: Of the result.
        strides: Of the result.
        layout: Of the result, and of x and the residual as the function takes them.
        parameters: The dtype of weight and bias as the function takes them.
        copies: Whether a tensor is not as the function takes it.
    """

    run: Callable[..., int]
    norm: _Norm
    address: int
    size: tuple[int, ...]
    strides: tuple[int, ...]
    layout: torch.memory_format
    parameters: torch.dtype
    copies: bool


def _launch(
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
    # Everything that `_prepare` looks at. Its work takes longer than the norm of a small tensor.
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


def _launch_out(
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
    out: Tensor,
) -> None:
    _launch(launch, x, weight, bias, residual, eps, relu, pad, pad_mode, interleave, out)


def _launch_forward(
    launch: CpuLauncher,
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """The compiler vectorizes the code for the CPU, whatever `use_vectorized` says."""
    return _launch(launch, input, gamma, beta, residual, eps, relu)


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
    """Check the arguments and describe the call to the function in C.

    Raises:
        ValueError: An argument does not fit.
    """
    _check(x, weight, bias, residual, pad, pad_mode, interleave)
    layout = _layout(x, interleave)
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
    norm = _Norm(*described, interleave, last, relu, eps)
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
    """What runs for a result without elements."""
    return 0


def _is_dense_inside(residual: Tensor, layout: torch.memory_format) -> bool:
    """Whether the innermost dimension is dense, which is all that the function in C asks for."""
    return residual.stride(1 if layout is torch.channels_last else 3) == 1


def _strides(size: Iterable[int], layout: torch.memory_format) -> tuple[int, ...]:
    """Those of a new tensor."""
    return torch.empty(tuple(size), memory_format=layout, device="meta").stride()


# By the dtype of the input: the C function, and the dtype of weight and bias.
_KERNELS = {
    torch.float32: ("styleforge_instance_norm_float32", torch.float32),
    torch.float16: ("styleforge_instance_norm_float16", torch.float32),
    torch.bfloat16: ("styleforge_instance_norm_bfloat16", torch.float32),
    torch.float64: ("styleforge_instance_norm_float64", torch.float64),
}


@fused(
    "instance_norm",
    reference=instance_norm_reference,
    samples=_samples,
    launch_cpu=_launch,
    cuda=OPERATIONS,
)
def fused_instance_norm(
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
    """pad(relu(norm(x) * weight + bias + residual)), padded on every side.

    Each plane is normalized by its own mean and biased variance, taken in FP32 (FP64 for FP64). Two
    runs on the same machine are bit-equal, whatever the number of threads.

    Args:
        x: [N, C, H, W] of any strides and floating dtype; with `interleave`, [N, 4C, h + 1, w + 1].
        weight: [C], or None for ones.
        bias: [C], or None for zeros.
        residual: [N, C, H, W] of x's dtype with any strides, or None.
        eps: Added to the variance.
        relu: Whether a ReLU follows the sum.
        pad: Pixels on each side; below H and W for "reflect".
        pad_mode: "reflect" or "replicate".
        interleave: x is the four-phase form of an upsampling convolution, H = 2h and W = 2w:
            channel (2a + b) C + c at (i + a, j + b) is pixel (2i + a, 2j + b) of channel c. The
            other positions are ignored, also by the statistics.

    Returns:
        [N, C, H + 2 pad, W + 2 pad] of x's dtype, dense, channels last where x is and with
        `interleave`.

    Raises:
        ValueError: A shape, a dtype or the padding does not fit, or a plane is a single pixel.
    """
    ...


@fused(
    "instance_norm",
    reference=_reference_out,
    samples=_samples_out,
    mutates=("out",),
    launch_cpu=_launch_out,
    cuda=OPERATIONS,
)
def fused_instance_norm_out(
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
    """`fused_instance_norm` into a buffer the caller owns; inference only.

    Args:
        x: This and the next eight arguments are those of `fused_instance_norm`.
        weight: [C] or None.
        bias: [C] or None.
        residual: [N, C, H, W] or None.
        eps: Added to the variance.
        relu: Whether a ReLU follows the sum.
        pad: Pixels on each side.
        pad_mode: "reflect" or "replicate".
        interleave: Whether x is in the four-phase form.
        out: Written to. It has the result's shape, dtype and layout, and overlaps no other
            argument: an output row may be written before the residual behind its mirror image is
            read.

    Raises:
        ValueError: An argument does not fit.
        RuntimeError: A gradient would be needed.
    """
    ...


@fused(
    "instance_norm",
    reference=_reference_forward,
    samples=_samples_forward,
    launch_cpu=_launch_forward,
    cuda=OPERATIONS,
)
def fused_instance_norm_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-5,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """relu(norm(input) * gamma + beta + residual), on the CPU and on CUDA.

    Each plane is normalized by its own mean and biased variance, taken about the mean in FP32 (FP64
    for FP64). Two runs on the same machine are bit-equal.

    Args:
        input: [N, C, H, W] of any strides and floating dtype.
        gamma: [C] of any floating dtype, or None for ones.
        beta: [C] of any floating dtype, or None for zeros.
        eps: Added to the variance.
        use_vectorized: False reads element by element on CUDA, which changes no more than the order
            of sums.
        residual: Of the input's shape and dtype, or None.
        relu: Whether a ReLU follows the sum.

    Returns:
        Of the input's shape and dtype, dense, channels last where the input is.

    Raises:
        ValueError: A shape or a dtype does not fit, or a plane is a single pixel.
    """
    ...
