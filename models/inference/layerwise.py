"""The network layer by layer, on devices that the native network does not support.

Each function maps activations [N, C, H, W], not padded, of any floating dtype to activations of
that dtype; weights are converted to it. Where the device has no native kernels, PyTorch's layers
are used: the reference implementations of our operations are slower.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.ops import fused_conv_instancenorm_forward, fused_conv_reflection_pad_forward
from kernels.ops.registry import OPERATIONS, use_native
from kernels.residual_block_wrapper import residual_block
from models.layers import ConvLayer, PublishedNetwork, ResidualBlock


def is_native(device: torch.device) -> bool:
    """Whether the operations have native kernels for the device."""
    return device.type == "cuda" and use_native(OPERATIONS)


def encode(network: PublishedNetwork, x: Tensor, native: bool) -> Tensor:
    """Apply conv1 to in3.

    Args:
        network: The layers.
        x: [N, 3, H, W].
        native: Whether to use native kernels (see `is_native`) or PyTorch's layers.

    Returns:
        [N, C, H/4, W/4].
    """
    x = x.contiguous()  # faster in every precision, see benchmarks/operations.json
    for number in (1, 2, 3):
        x = _unit(x, getattr(network, f"conv{number}"), getattr(network, f"in{number}"), native)
    return x


def transform(network: PublishedNetwork, x: Tensor, native: bool) -> Tensor:
    """Apply the residual blocks: [N, C, H/4, W/4] to the same shape; `native` as for `encode`."""
    for block in network.residual_blocks:
        x = _block(x, block, native)
    return x


def decode(network: PublishedNetwork, x: Tensor, native: bool) -> Tensor:
    """Apply deconv1 to deconv3: [N, C, H/4, W/4] to [N, 3, H, W]; `native` as for `encode`."""
    x = _unit(x, network.deconv1, network.in4, native)
    x = _unit(x, network.deconv2, network.in5, native)
    if not native:
        return network.deconv3(x)
    conv = network.deconv3.conv2d
    return fused_conv_reflection_pad_forward(x, conv.weight, conv.bias, conv.kernel_size[0] // 2)


def _unit(x: Tensor, layer: ConvLayer, norm: nn.InstanceNorm2d, native: bool) -> Tensor:
    if not native:
        return _norm(layer(x), norm).relu()
    conv = layer.conv2d
    return fused_conv_instancenorm_forward(
        x,
        conv.weight,
        conv.bias,
        norm.weight,
        norm.bias,
        norm.eps,
        conv.kernel_size[0] // 2,
        conv.stride[0],
        True,
        layer.upsample > 1,
    )


def _block(x: Tensor, block: ResidualBlock, native: bool) -> Tensor:
    if not native:
        y = _norm(block.conv1(x), block.in1).relu()
        return _norm(block.conv2(y), block.in2) + x
    return residual_block(x, block.conv1.conv2d, block.in1, block.conv2.conv2d, block.in2)


def _norm(x: Tensor, norm: nn.InstanceNorm2d) -> Tensor:
    return F.instance_norm(x, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)
