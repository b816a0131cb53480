"""The network on the CPU as fused units, channels last.

A unit is one convolution, then norm, residual, ReLU and the next layer's padding in one pass. All
rewrites are exact: biases that the norm cancels are not added, an upsampling convolution is one
small convolution before the enlargement, and the last layer is computed column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.network.graph_plan import StageCallback
from kernels.ops import fused_instance_norm, fused_instance_norm_out
from kernels.weight_transforms import can_write_into, column_weights, convolve, phase_weight
from models.inference.buffers import PreparedWeights, Workspace
from models.layers import ConvLayer, PublishedNetwork
from models.precision import compute_dtype


class CpuExecutor:
    """The executor of one network on the CPU. Not thread-safe.

    With gradients disabled, it reuses activation buffers and prepared weights from frame to frame.
    Activations between `encode`, `transform` and `decode` are already padded for the next layer.
    """

    def __init__(self) -> None:
        self.workspace = Workspace()
        self._prepared = PreparedWeights()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # a copy of the network allocates its own buffers

    def encode(self, network: PublishedNetwork, x: Tensor, mark: StageCallback) -> Tensor:
        """Apply conv1 to in3: [N, 3, H, W], floating, to [N, C, H/4 + 2, W/4 + 2].

        Like `transform` and `decode`, it calls `mark` with the name of each layer after that layer.
        """
        pad = (network.shape.end_kernel // 2,) * 4
        x = F.pad(x.to(compute_dtype(x)), pad, mode="reflect")
        x = x.contiguous(memory_format=torch.channels_last)
        x = self._unit("a", x, network.conv1, network.in1)
        mark("conv1")
        x = self._unit("b", x, network.conv2, network.in2)
        mark("conv2")
        x = self._unit("a", x, network.conv3, network.in3)
        mark("conv3")
        return x

    def transform(self, network: PublishedNetwork, x: Tensor, mark: StageCallback) -> Tensor:
        """Apply the residual blocks: [N, C, H/4 + 2, W/4 + 2] to the same shape."""
        here, there = "a", "b"
        last = network.num_residual_blocks
        for number, block in enumerate(network.residual_blocks, 1):
            y = self._unit("inside", x, block.conv1, block.in1)
            mark(f"res{number}.conv1")
            # The upsampling layer pads after the enlargement; before it, that padding is
            # replication.
            mode = "replicate" if number == last else "reflect"
            inner = x[..., 1:-1, 1:-1]
            x = self._unit(
                there, y, block.conv2, block.in2, residual=inner, relu=False, pad_mode=mode
            )
            mark(f"res{number}.conv2")
            here, there = there, here
        return x

    def decode(self, network: PublishedNetwork, x: Tensor, mark: StageCallback) -> Tensor:
        """Apply deconv1 to deconv3: [N, C, H/4 + 2, W/4 + 2] to [N, 3, H, W]."""
        # The last residual block wrote to "a" or "b", depending on the number of blocks.
        here, there = ("b", "a") if network.num_residual_blocks % 2 else ("a", "b")
        x = self._unit(there, x, network.deconv1, network.in4, pad_mode="replicate")
        mark("deconv1")
        end = network.shape.end_kernel // 2
        x = self._unit(here, x, network.deconv2, network.in5, pad=end)
        mark("deconv2")
        x = self._last(x, network.deconv3)
        mark("deconv3")
        return x

    def _unit(
        self,
        to: str,
        x: Tensor,  # [N, C, H, W], padded
        layer: ConvLayer,
        norm: nn.InstanceNorm2d,
        *,
        residual: Tensor | None = None,
        relu: bool = True,
        pad: int = 1,
        pad_mode: str = "reflect",
    ) -> Tensor:
        """Apply convolution, norm, residual, ReLU and padding; into buffer `to` if in use."""
        upsample, stride = layer.upsample > 1, layer.conv2d.stride[0]
        make = _phase if upsample else _plain
        owned = _owned()
        (weight,) = self._weights(layer, x.dtype, make)
        # The norm cancels the bias; only autograd needs it, for a gradient of zero.
        bias = layer.conv2d.bias if torch.is_grad_enabled() else None
        if bias is not None:
            bias = bias.to(x.dtype).repeat(4 if upsample else 1)
        n, _, height, width = x.shape
        out, _, high, wide = weight.shape
        shape = (n, out, (height - high) // stride + 1, (width - wide) // stride + 1)
        raw = self.workspace.take("raw", shape, x) if owned and can_write_into(x) else None
        y = convolve(x, weight, bias, stride, raw)
        affine = (norm.weight, norm.bias, residual, norm.eps, relu, pad, pad_mode, upsample)
        if not owned:
            return fused_instance_norm(y, *affine)
        if upsample:
            shape = (n, out // 4, 2 * (shape[2] - 1), 2 * (shape[3] - 1))
        padded = (n, shape[1], shape[2] + 2 * pad, shape[3] + 2 * pad)
        result = self.workspace.take(to, padded, x)
        fused_instance_norm_out(y, *affine, result)
        return result

    def _last(self, x: Tensor, layer: ConvLayer) -> Tensor:
        conv = layer.conv2d
        bias = None if conv.bias is None else conv.bias.to(x.dtype)
        # In half precision, the column sums would be rounded before they are added.
        if x.dtype not in (torch.float32, torch.float64):
            (weight,) = self._weights(layer, x.dtype, _plain)
            return F.conv2d(x, weight, bias)
        columns, picks = self._weights(layer, x.dtype, column_weights)
        n, _, height, width = x.shape
        shape = (n, columns.shape[0], height - columns.shape[2] + 1, width)
        owned = _owned() and can_write_into(x)
        raw = self.workspace.take("raw", shape, x) if owned else None
        return F.conv2d(convolve(x, columns, out=raw), picks, bias)

    def _weights(
        self, layer: ConvLayer, dtype: torch.dtype, make: Callable[[Tensor], tuple[Tensor, ...]]
    ) -> tuple[Tensor, ...]:
        source = layer.conv2d.weight
        if _owned():
            return self._prepared.get(layer, source, dtype, make)
        return tuple(weight.to(dtype) for weight in make(source))


def _owned() -> bool:
    """Return whether buffers and prepared weights may be reused, which autograd does not allow."""
    return not torch.is_grad_enabled()


def _plain(weight: Tensor) -> tuple[Tensor, ...]:
    return (weight,)


def _phase(weight: Tensor) -> tuple[Tensor, ...]:
    return (phase_weight(weight),)
