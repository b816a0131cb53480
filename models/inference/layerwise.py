"""The network layer by layer, on devices that the native network does not support.

Each layer maps [N, C, H, W] of any floating dtype to that dtype; weights are converted to it.
Without native kernels, PyTorch's layers run: our reference implementations are slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.network.graph_plan import StageCallback
from kernels.ops import fused_conv_instancenorm_forward, fused_conv_reflection_pad_forward
from kernels.residual_block_wrapper import residual_block
from kernels.table.registry import OPERATIONS, use_native
from models.layers import ConvLayer, PublishedNetwork, ResidualBlock

Layers = dict[str, Callable[[Tensor], Tensor]]  # by name, in order


def is_native(device: torch.device) -> bool:
    return device.type == "cuda" and use_native(OPERATIONS)


def encoder(network: PublishedNetwork, native: bool) -> Layers:
    """Return conv1 to conv3 with norms, native or PyTorch's: [N, 3, H, W] to [N, C, H/4, W/4]."""
    return {
        "conv1": partial(_first, network.conv1, network.in1, native),
        "conv2": partial(_unit, network.conv2, network.in2, native),
        "conv3": partial(_unit, network.conv3, network.in3, native),
    }


def transformer(network: PublishedNetwork, native: bool) -> Layers:
    """Return the residual blocks, one operation each; they map [N, C, H/4, W/4] to the same."""
    blocks = enumerate(network.residual_blocks, 1)
    return {f"res{number}": partial(_block, block, native) for number, block in blocks}


def decoder(network: PublishedNetwork, native: bool) -> Layers:
    """Return the layers deconv1 to deconv3: [N, C, H/4, W/4] to [N, 3, H, W]."""
    return {
        "deconv1": partial(_unit, network.deconv1, network.in4, native),
        "deconv2": partial(_unit, network.deconv2, network.in5, native),
        "deconv3": partial(_last, network.deconv3, native),
    }


def apply(layers: Layers, x: Tensor, mark: StageCallback) -> Tensor:
    """Apply layers in order, and call `mark` with the name of each layer after it."""
    for name, layer in layers.items():
        x = layer(x)
        mark(name)
    return x


def _first(layer: ConvLayer, norm: nn.InstanceNorm2d, native: bool, x: Tensor) -> Tensor:
    x = x.contiguous()  # faster in every precision, see benchmarks/reports/operations.json
    return _unit(layer, norm, native, x)


def _unit(layer: ConvLayer, norm: nn.InstanceNorm2d, native: bool, x: Tensor) -> Tensor:
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


def _last(layer: ConvLayer, native: bool, x: Tensor) -> Tensor:
    if not native:
        return layer(x)
    conv = layer.conv2d
    return fused_conv_reflection_pad_forward(x, conv.weight, conv.bias, conv.kernel_size[0] // 2)


def _block(block: ResidualBlock, native: bool, x: Tensor) -> Tensor:
    if not native:
        y = _norm(block.conv1(x), block.in1).relu()
        return _norm(block.conv2(y), block.in2) + x
    return residual_block(x, block.conv1.conv2d, block.in1, block.conv2.conv2d, block.in2)


def _norm(x: Tensor, norm: nn.InstanceNorm2d) -> Tensor:
    return F.instance_norm(x, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)
