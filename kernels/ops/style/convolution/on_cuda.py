"""Convolutions and residual blocks on a GPU: the arguments of the native launchers' calls.

Unsupported tensors (FP64, images beyond 2^31 elements) and convolutions that cuDNN computes faster
run in PyTorch; `unavailable_reason` in api.py returns the reason in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.style.convolution.choice import own_kernel_is_faster
from kernels.ops.style.convolution.reference import (
    check,
    check_block,
    check_enlarged,
    check_weight,
    convolve_normalize,
    memory_format,
    pad_and_convolve,
    residual_block,
)
from kernels.ops.style.normalization.on_cuda import norm_forward, norm_of, readable
from kernels.ops.style.normalization.reference import check_channels
from kernels.ops.style.structs import (
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeResidualBlock,
)
from kernels.table.calls import (
    MOMENTS_BYTES,
    TYPES,
    Picture,
    PreparedCall,
    Recording,
    Tensors,
    launched,
    run,
)
from kernels.table.launcher import CudaLauncher
from utils.tf32 import convolutions_use_tf32

REFLECT, REPLICATE = 0, 1  # STYLEFORGE_REFLECT, STYLEFORGE_REPLICATE
PLAIN, TENSOR_CORES = 0, 1  # STYLEFORGE_PLAIN, STYLEFORGE_TENSOR_CORES
MOST_ELEMENTS = 1 << 31  # per image: the kernels index in 32 bits
MOST_BLOCKS = 65535  # along the grid's z: four per sample

_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
# PyTorch's public function takes longer.
_reflection_pad2d = _torch._nn.reflection_pad2d


def conv_forward(launch: CudaLauncher, *args: Any) -> Tensor:
    return _run(launch, _prepare_conv, args[:3], args[3:])


def conv_norm_forward(launch: CudaLauncher, *args: Any) -> Tensor:
    return _run(launch, _prepare_conv_norm, args[:5], args[5:])


def residual_block_forward(launch: CudaLauncher, *args: Any) -> Tensor:
    return _run(launch, _prepare_block, args[:9], args[9:])


def _run(
    launch: CudaLauncher,
    prepare: Callable[..., PreparedCall],
    tensors: Tensors,
    options: tuple[object, ...],
) -> Tensor:
    return run(launch, prepare, tensors, (*options, convolutions_use_tf32()))


def _prepare_conv(
    launch: CudaLauncher,
    tensors: tuple[Tensor, Tensor, Tensor | None],
    pad: int,
    stride_h: int,
    stride_w: int,
    own_kernel: bool,
    tf32: bool,
) -> PreparedCall:
    """Check the arguments, or raise ValueError, and record launches; cuDNN has TF32 if `tf32`."""
    x, weight, bias = tensors
    check(x, weight, bias, pad, min(stride_h, stride_w))
    shape = _Shape.of(x, weight, pad, (stride_h, stride_w))
    exact = x.dtype is torch.float32 and not tf32
    if not shape.elements:
        return partial(_nothing, shape.out, memory_format(x))
    if not _is_ours(x, weight, max(stride_h, stride_w), own_kernel, exact):
        return _by_cudnn(tensors, pad, (stride_h, stride_w))
    given = _converted(tensors)
    recording = Recording(launch, given)
    y = recording.result(shape.out, memory_format(x))
    at = recording.input(1), recording.input(2)
    picture = recording.picture(0)
    conv = _recorded(recording, launch, shape, picture, *at, y, exact, statistics=False)
    launched(recording.library.styleforge_convolve(conv, None), "a convolution")
    return recording.finished("a convolution", y, _needed_conversion(_converted, tensors, given))


def _prepare_conv_norm(
    launch: CudaLauncher,
    tensors: tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None],
    eps: float,
    padding: int,
    stride: int,
    relu: bool,
    upsample: bool,
    own_kernel: bool,
    tf32: bool,
) -> PreparedCall:
    x, weight, bias, gamma, beta = tensors
    if upsample:
        check_enlarged(weight, padding, stride)
    if upsample and x.numel():  # edge padding also works for a single pixel
        check_weight(x, weight, bias)
    else:
        check(x, weight, bias, padding, stride)
    check_channels(weight.shape[0], gamma, beta)
    shape = _Shape.of(x, weight, padding, (stride, stride), enlarge=upsample)
    exact = x.dtype is torch.float32 and not tf32
    if not _fits(x, weight, 4 if upsample else 1):
        return lambda _, given, __: convolve_normalize(
            *given, eps=eps, padding=padding, stride=stride, relu=relu, upsample=upsample
        )
    if not _is_ours(x, weight, stride, own_kernel, exact, upsample):
        # The norm cancels a bias, so none is added.
        convolve = _by_cudnn((x, weight, None), padding, (stride, stride))
        return lambda launch, given, addresses: norm_forward(
            launch,
            convolve(launch, (given[0], given[1], None), addresses),
            *given[3:],
            eps=eps,
            relu=relu,
        )
    if shape.out[2] * shape.out[3] <= 1:
        raise ValueError(f"instance norm: one pixel has no variance, got {list(shape.out)}")
    layout = memory_format(x)
    if not shape.elements:
        return partial(_nothing, shape.out, layout)
    given = _converted_with_norm(tensors)
    recording = Recording(launch, given)
    y = recording.result(shape.out, layout)
    picture, weight_at = recording.picture(0), recording.input(1)
    conv = _recorded(recording, launch, shape, picture, weight_at, None, y, exact, statistics=True)
    last = layout is torch.channels_last
    parameters = given[3], recording.input(3), given[4], recording.input(4)
    norm = norm_of(launch, y, x.dtype, parameters, eps, relu=relu, channels_last=last)
    norm.scratch = recording.scratch(_affine_bytes(shape.out))
    p = StyleforgeConvNormRelu(conv, norm)
    what = "a convolution with its norm"
    launched(recording.library.styleforge_conv_norm_relu(p, None), what)
    return recording.finished(what, y, _needed_conversion(_converted_with_norm, tensors, given))


def _prepare_block(
    launch: CudaLauncher,
    tensors: Tensors,
    eps: float,
    own_kernel: bool,
    tf32: bool,
) -> PreparedCall:
    x, first, second = tensors[0], tensors[1:5], tensors[5:]
    check_block(x, first[0], second[0])
    check(x, first[0], first[1], 1, 1)
    check_channels(first[0].shape[0], *first[2:])
    check_channels(x.shape[1], *second[1:])
    if not _fits(x, first[0]):
        return lambda _, given, __: residual_block(*given, eps)
    exact = x.dtype is torch.float32 and not tf32
    if not _is_ours(x, first[0], 1, own_kernel, exact):
        return partial(_block_by_cudnn, eps=eps)
    inside = _Shape.of(x, first[0], 1, (1, 1))
    outside = _Shape(inside.out, inside.input[1], inside.input, 3, 1, (1, 1), enlarge=False)
    if not inside.elements or not outside.elements:
        return partial(_nothing, outside.out, memory_format(x))
    given = _converted_block(tensors)
    recording = Recording(launch, given)
    layout, picture = memory_format(x), recording.picture(0)
    y = recording.result(outside.out, layout)
    between = recording.between(inside.out, layout, x.dtype)
    last = layout is torch.channels_last
    at = recording.input
    convs = (
        _recorded(recording, launch, inside, picture, at(1), None, between, exact, statistics=True),
        _recorded(recording, launch, outside, between, at(5), None, y, exact, statistics=True),
    )
    norms = [
        norm_of(
            *(launch, to, x.dtype, (given[n], at(n), given[n + 1], at(n + 1)), eps),
            relu=relu,
            channels_last=last,
        )
        for to, n, relu in ((between, 3, True), (y, 7, False))
    ]
    p = StyleforgeResidualBlock(*convs, *norms)
    p.second_norm.residual = picture.address
    affine = recording.scratch(max(_affine_bytes(inside.out), _affine_bytes(outside.out)))
    p.affine = p.second_norm.scratch = affine
    what = "a residual block"
    launched(recording.library.styleforge_residual_block(p, None), what)
    return recording.finished(what, y, _needed_conversion(_converted_block, tensors, given))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The properties of a convolution that its launches depend on, except addresses and dtypes."""

    input: tuple[int, int, int, int]
    outputs: int
    out: tuple[int, int, int, int]  # of the result
    kernel: int
    pad: int
    strides: tuple[int, int]
    enlarge: bool

    @classmethod
    def of(
        cls,
        x: Tensor,
        weight: Tensor,
        pad: int,
        strides: tuple[int, int],
        *,
        enlarge: bool = False,
    ) -> _Shape:
        samples, channels, height, width = x.shape
        outputs, kernel = weight.shape[0], weight.shape[2]
        if enlarge:
            size = 2 * height, 2 * width
        else:
            size = (
                (height + 2 * pad - kernel) // strides[0] + 1,
                (width + 2 * pad - kernel) // strides[1] + 1,
            )
        given = samples, channels, height, width
        return cls(given, outputs, (samples, outputs, *size), kernel, pad, strides, enlarge)

    @property
    def elements(self) -> int:
        return torch.Size(self.out).numel()


def _recorded(
    recording: Recording,
    launch: CudaLauncher,
    shape: _Shape,
    x: Picture,
    weight: int | None,
    bias: int | None,
    y: Picture,
    exact: bool,
    *,
    statistics: bool,
) -> StyleforgeConvolution:
    """Record the packing of a weight, and return its convolution.

    With `statistics`, the convolution also computes the statistics of y. `exact` means FP32 without
    TF32.
    """
    samples, channels, height, width = shape.input
    grow = 2 if shape.enlarge else 1
    p = StyleforgeConvolution(
        x=x.address,
        bias=bias,
        y=y.address,
        x_strides=x.strides,
        y_strides=y.strides,
        samples=samples,
        in_channels=channels,
        out_channels=shape.outputs,
        height=height,
        width=width,
        out_height=shape.out[2] // grow,
        out_width=shape.out[3] // grow,
        kernel=2 if shape.enlarge else shape.kernel,
        pad=shape.pad,
        stride_h=shape.strides[0],
        stride_w=shape.strides[1],
        border=REPLICATE if shape.enlarge else REFLECT,
        phases=4 if shape.enlarge else 1,
        type=TYPES[recording.dtype],
        math=TENSOR_CORES if _has_tensor_cores(launch, recording.dtype) and not exact else PLAIN,
        multiprocessors=launch.gpu.multiprocessors,
    )
    library = recording.library
    p.packed = recording.scratch(library.styleforge_packed_bytes(p))
    if statistics:
        count = samples * library.styleforge_tiles(p) * shape.outputs
        p.parts = recording.scratch(MOMENTS_BYTES * count)
    launched(library.styleforge_pack_weight(p, weight, p.packed, None), "a convolution")
    return p


def _has_tensor_cores(launch: CudaLauncher, dtype: torch.dtype) -> bool:
    """Return whether the GPU's tensor cores multiply a dtype; before 8.0, FP16 is the only one."""
    return launch.gpu.major >= 8 or dtype is torch.float16


def _nothing(
    shape: tuple[int, ...], layout: torch.memory_format, _: CudaLauncher, given: Tensors, __: object
) -> Tensor:
    """Return a result without elements, or of a block whose inner result has none."""
    x = given[0]
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=layout)


def _by_cudnn(
    tensors: tuple[Tensor, Tensor, Tensor | None], pad: int, strides: tuple[int, int]
) -> PreparedCall:
    x = tensors[0]
    if not x.numel() or any(each is not None and each.dtype is not x.dtype for each in tensors):
        return lambda _, given, __: pad_and_convolve(
            *given, pad=pad, stride_h=strides[0], stride_w=strides[1]
        )
    padding, layout = (pad,) * 4, memory_format(x)

    def call(_: CudaLauncher, given: Tensors, __: object) -> Tensor:
        x, weight, bias = given
        y = F.conv2d(_reflection_pad2d(x, padding) if pad else x, weight, bias, strides)
        return y if y.is_contiguous(memory_format=layout) else y.contiguous(memory_format=layout)

    return call


def _block_by_cudnn(launch: CudaLauncher, given: Tensors, _addresses: object, eps: float) -> Tensor:
    x, weight1, _, gamma1, beta1, weight2, _, gamma2, beta2 = given
    y = pad_and_convolve(x, weight1, None, 1)
    inside = norm_forward(launch, y, gamma1, beta1, eps, relu=True)
    y = pad_and_convolve(inside, weight2, None, 1)
    return norm_forward(launch, y, gamma2, beta2, eps, residual=x)


def _is_ours(
    x: Tensor, weight: Tensor, stride: int, own_kernel: bool, exact: bool, upsample: bool = False
) -> bool:
    return _fits(x, weight, 4 if upsample else 1) and (
        own_kernel
        or own_kernel_is_faster(
            stride=stride,
            outputs=weight.shape[0],
            kernel=weight.shape[2],
            exact=exact,
            channels_last=memory_format(x) is torch.channels_last,
            upsample=upsample,
        )
    )


def _fits(x: Tensor, weight: Tensor, grow: int = 1) -> bool:
    samples, channels, height, width = x.shape
    most = max(channels, weight.shape[0]) * height * width * grow
    reach = sum(
        max(0, size - 1) * stride for size, stride in zip(x.shape[1:], x.stride()[1:], strict=True)
    )
    return x.dtype in TYPES and max(most, reach) < MOST_ELEMENTS and samples * 4 <= MOST_BLOCKS


def _affine_bytes(shape: tuple[int, int, int, int]) -> int:
    return MOMENTS_BYTES * shape[0] * shape[1]


# Tensors as kernels read them


def _converted(given: Tensors) -> Tensors:
    x, weight, *rest = given
    biases = [None if each is None else each.to(x.dtype).contiguous() for each in rest]
    return (x, weight.to(x.dtype).contiguous(), *biases)


def _converted_with_norm(given: Tensors) -> Tensors:
    x, weight, bias, *parameters = given
    return (*_converted((x, weight))[:2], bias, *readable(parameters[0], parameters[1]))


def _converted_block(given: Tensors) -> Tensors:
    x, weight1, _, gamma1, beta1, weight2, _, gamma2, beta2 = given
    x = x.contiguous(memory_format=memory_format(x))  # the sum reads it as it writes y
    first, second = _converted((x, weight1)), _converted((x, weight2))
    return (
        *(*first, given[2], *readable(gamma1, beta1)),
        *(second[1], given[6], *readable(gamma2, beta2)),
    )


def _needed_conversion(convert: Any, tensors: Tensors, given: Tensors) -> Any:
    return convert if any(a is not b for a, b in zip(tensors, given, strict=True)) else None
