"""Convolutions and residual blocks on a GPU: what a call of the native launchers is given.

What the kernels do not take (FP64, pictures beyond 2^31 elements) and convolutions that cuDNN
computes faster run on PyTorch; `unavailable_reason` in kernels/ops/convolution.py says so in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.ops.convolution_reference import (
    check,
    check_block,
    check_enlarged,
    check_weight,
    convolve,
    convolve_normalize,
    memory_format,
    residual_block,
)
from kernels.ops.cuda.calls import MOMENTS_BYTES, TYPES, address, bytes_beside, launched
from kernels.ops.cuda.choice import own_kernel_is_faster
from kernels.ops.cuda.norm import norm_forward, norm_of, readable
from kernels.ops.cuda.structs import (
    StyleforgeConvNormRelu,
    StyleforgeConvolution,
    StyleforgeResidualBlock,
)
from kernels.ops.launcher import CudaLauncher
from kernels.ops.norm_reference import check_channels

REFLECT, REPLICATE = 0, 1  # STYLEFORGE_REFLECT, STYLEFORGE_REPLICATE
PLAIN, TENSOR_CORES = 0, 1  # STYLEFORGE_PLAIN, STYLEFORGE_TENSOR_CORES
MOST_ELEMENTS = 1 << 31  # of a picture: the kernels count them in 32 bits
MOST_BLOCKS = 65535  # along the grid's z: four for each sample


@dataclass(frozen=True, slots=True)
class Buffers:
    """A convolution whose weight is packed. The struct holds addresses, so this holds the tensors.

    Attributes:
        p: What the launcher takes.
        y: The result, to be written: in the layout of x.
        kept: The other tensors that `p` points into.
    """

    p: StyleforgeConvolution
    y: Tensor
    kept: tuple[Tensor | None, ...]


def conv_forward(
    launch: CudaLauncher,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding_size: int,
    stride_h: int = 1,
    stride_w: int = 1,
    own_kernel: bool = False,
) -> Tensor:
    """`fused_conv_reflection_pad_forward`."""
    check(input, weight, bias, padding_size, min(stride_h, stride_w))
    if not _is_ours(input, weight, max(stride_h, stride_w), own_kernel):
        return convolve(input, weight, bias, padding_size, stride_h, stride_w)
    conv = _prepared(launch, input, weight, bias, padding_size, (stride_h, stride_w))
    if conv.y.numel():
        launched(launch.library.styleforge_convolve(conv.p, launch.stream), "a convolution")
    return conv.y


def conv_norm_forward(
    launch: CudaLauncher,
    input: Tensor,
    conv_weight: Tensor,
    conv_bias: Tensor | None,
    norm_gamma: Tensor | None,
    norm_beta: Tensor | None,
    eps: float = 1e-5,
    padding: int = 1,
    stride: int = 1,
    relu: bool = False,
    upsample: bool = False,
    own_kernel: bool = False,
) -> Tensor:
    """`fused_conv_instancenorm_forward`."""
    if upsample:
        check_enlarged(conv_weight, padding, stride)
    if upsample and input.numel():  # padded by its own edge, so that a single pixel may be
        check_weight(input, conv_weight, conv_bias)
    else:
        check(input, conv_weight, conv_bias, padding, stride)
    check_channels(conv_weight.shape[0], norm_gamma, norm_beta)
    if not _fits(input, conv_weight, 4 if upsample else 1):
        return convolve_normalize(
            *(input, conv_weight, conv_bias, norm_gamma, norm_beta),
            *(eps, padding, stride, relu, upsample),
        )
    if not _is_ours(input, conv_weight, stride, own_kernel, upsample):
        y = convolve(input, conv_weight, None, padding, stride, stride)
        return norm_forward(launch, y, norm_gamma, norm_beta, eps, relu=relu)
    # The norm takes a bias away again, so none is added.
    conv = _prepared(
        launch, input, conv_weight, None, padding, (stride, stride), upsample, statistics=True
    )
    if conv.y.shape[2] * conv.y.shape[3] <= 1:
        raise ValueError(f"instance norm: one pixel has no variance, got {list(conv.y.shape)}")
    if not conv.y.numel():
        return conv.y
    gamma, beta = readable(norm_gamma, norm_beta)
    p = StyleforgeConvNormRelu(conv.p, norm_of(launch, conv.y, gamma, beta, eps, relu))
    affine = _affine(input, conv.y.shape[1])
    p.norm.scratch = affine.data_ptr()
    launched(
        launch.library.styleforge_conv_norm_relu(p, launch.stream), "a convolution with its norm"
    )
    return conv.y


def residual_block_forward(
    launch: CudaLauncher,
    input: Tensor,
    conv1_weight: Tensor,
    conv1_bias: Tensor | None,
    conv1_gamma: Tensor | None,
    conv1_beta: Tensor | None,
    conv2_weight: Tensor,
    conv2_bias: Tensor | None,
    conv2_gamma: Tensor | None,
    conv2_beta: Tensor | None,
    eps: float = 1e-5,
    own_kernel: bool = False,
) -> Tensor:
    """`fused_residual_block_forward`."""
    check_block(input, conv1_weight, conv2_weight)
    check(input, conv1_weight, conv1_bias, 1, 1)
    check_channels(conv1_weight.shape[0], conv1_gamma, conv1_beta)
    check_channels(input.shape[1], conv2_bias, conv2_gamma, conv2_beta)
    if not _fits(input, conv1_weight):
        return residual_block(
            *(input, conv1_weight, conv1_bias, conv1_gamma, conv1_beta),
            *(conv2_weight, conv2_bias, conv2_gamma, conv2_beta, eps),
        )
    if not _is_ours(input, conv1_weight, 1, own_kernel):
        y = convolve(input, conv1_weight, None, 1)
        inside = norm_forward(launch, y, conv1_gamma, conv1_beta, eps, relu=True)
        y = convolve(inside, conv2_weight, None, 1)
        return norm_forward(launch, y, conv2_gamma, conv2_beta, eps, residual=input)
    x = input.contiguous(memory_format=memory_format(input))  # the sum reads it as it writes y
    first = _prepared(launch, x, conv1_weight, None, 1, (1, 1), statistics=True)
    second = _prepared(launch, first.y, conv2_weight, None, 1, (1, 1), statistics=True)
    if not second.y.numel() or not first.y.numel():
        return second.y
    gamma1, beta1 = readable(conv1_gamma, conv1_beta)
    gamma2, beta2 = readable(conv2_gamma, conv2_beta)
    p = StyleforgeResidualBlock(
        first.p,
        second.p,
        norm_of(launch, first.y, gamma1, beta1, eps, relu=True),
        norm_of(launch, second.y, gamma2, beta2, eps, relu=False),
    )
    p.second_norm.residual = x.data_ptr()
    affine = _affine(x, max(conv1_weight.shape[0], input.shape[1]))
    p.affine = p.second_norm.scratch = affine.data_ptr()
    launched(launch.library.styleforge_residual_block(p, launch.stream), "a residual block")
    return second.y


def _is_ours(
    x: Tensor, weight: Tensor, stride: int, own_kernel: bool, upsample: bool = False
) -> bool:
    """Whether our kernel computes this convolution."""
    return _fits(x, weight, 4 if upsample else 1) and (
        own_kernel
        or own_kernel_is_faster(
            stride=stride,
            outputs=weight.shape[0],
            kernel=weight.shape[2],
            exact=_is_exact(x),
            channels_last=memory_format(x) is torch.channels_last,
            upsample=upsample,
        )
    )


def _fits(x: Tensor, weight: Tensor, grow: int = 1) -> bool:
    """Whether the kernels take the type and size."""
    samples, channels, height, width = x.shape
    most = max(channels, weight.shape[0]) * height * width * grow
    reach = sum(
        max(0, size - 1) * stride for size, stride in zip(x.shape[1:], x.stride()[1:], strict=True)
    )
    return x.dtype in TYPES and max(most, reach) < MOST_ELEMENTS and samples * 4 <= MOST_BLOCKS


def _is_exact(x: Tensor) -> bool:
    """Whether products are those of FP32, without TF32."""
    return x.dtype is torch.float32 and not torch.backends.cudnn.allow_tf32


def _prepared(
    launch: CudaLauncher,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    pad: int,
    strides: Sequence[int],
    enlarge: bool = False,
    *,
    statistics: bool = False,
) -> Buffers:
    """Make the buffers of a convolution and pack its weight; with `statistics`, of y as well."""
    weight = weight.to(x.dtype).contiguous()
    bias = None if bias is None else bias.to(x.dtype).contiguous()
    (samples, channels, height, width), outputs = x.shape, weight.shape[0]
    kernel = 2 if enlarge else weight.shape[2]
    if enlarge:
        out_height, out_width = height, width
    else:
        out_height = (height + 2 * pad - kernel) // strides[0] + 1
        out_width = (width + 2 * pad - kernel) // strides[1] + 1
    grow = 2 if enlarge else 1
    y = torch.empty(
        (samples, outputs, out_height * grow, out_width * grow),
        dtype=x.dtype,
        device=x.device,
        memory_format=memory_format(x),
    )
    p = StyleforgeConvolution(
        x=x.data_ptr(),
        bias=address(bias),
        y=y.data_ptr(),
        x_strides=x.stride(),
        y_strides=y.stride(),
        samples=samples,
        in_channels=channels,
        out_channels=outputs,
        height=height,
        width=width,
        out_height=out_height,
        out_width=out_width,
        kernel=kernel,
        pad=pad,
        stride_h=strides[0],
        stride_w=strides[1],
        border=REPLICATE if enlarge else REFLECT,
        phases=4 if enlarge else 1,
        type=TYPES[x.dtype],
        math=TENSOR_CORES if launch.gpu.major >= 8 and not _is_exact(x) else PLAIN,
        multiprocessors=launch.gpu.multiprocessors,
    )
    if not y.numel():
        return Buffers(p, y, ())
    packed = bytes_beside(x, launch.library.styleforge_packed_bytes(p))
    p.packed = packed.data_ptr()
    parts = None
    if statistics:
        count = samples * launch.library.styleforge_tiles(p) * outputs
        parts = bytes_beside(x, MOMENTS_BYTES * count)
        p.parts = parts.data_ptr()
    launched(
        launch.library.styleforge_pack_weight(
            p, weight.data_ptr(), packed.data_ptr(), launch.stream
        ),
        "a convolution",
    )
    return Buffers(p, y, (x, bias, packed, parts))


def _affine(x: Tensor, channels: int) -> Tensor:
    """A buffer of the affine of every channel of every sample."""
    return bytes_beside(x, MOMENTS_BYTES * x.shape[0] * channels)
