"""The network with the native kernels' exact rewrites in PyTorch, for benchmarks to compile."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.weight_transforms import phase_weight
from models.layers import ConvLayer, to_channels_last
from models.transformer_net import TransformerNetBaseline


class PhaseConv(nn.Module):
    """An UpsampleConvLayer (x2) as one smaller convolution, merged in float64, without bias."""

    def __init__(self, layer: ConvLayer) -> None:
        super().__init__()
        self.register_buffer("weight", phase_weight(layer.conv2d.weight.detach()))

    def forward(self, x: Tensor) -> Tensor:
        """Map [N, C, H, W] to [N, Cout, 2 H, 2 W]."""
        height, width = x.shape[-2:]
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), self.get_buffer("weight"))
        phases = torch.unflatten(y, 1, (2, 2, -1))
        # Phase (a, b) of pixel (i, j) is at (i + a, j + b).
        rows = [
            torch.stack([phases[:, a, b, :, a : a + height, b : b + width] for b in (0, 1)], -1)
            for a in (0, 1)
        ]
        return torch.stack(rows, 3).flatten(4, 5).flatten(2, 3)


class Norm(nn.Module):
    """Instance norm with statistics in FP32 or better; PyTorch's converts channels-last to NCHW."""

    def __init__(self, norm: nn.InstanceNorm2d) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, (2, 3), correction=0, keepdim=True)
        scale = torch.rsqrt(var + self.eps) * self.weight[:, None, None]
        return ((wide - mean) * scale + self.bias[:, None, None]).to(x.dtype)


def with_rewrites(network: TransformerNetBaseline) -> TransformerNetBaseline:
    """Return a rewritten copy, channels last, with fewer multiplications for the same picture.

    Biases before a norm, which cancels them, are dropped. Upsampling layers become a PhaseConv.
    Convert the result to another dtype, not `network`: weights are merged in float64.
    """
    result = copy.deepcopy(network)
    for parent in list(result.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.InstanceNorm2d):
                setattr(parent, name, Norm(child))
            elif isinstance(child, ConvLayer) and child.upsample > 1:
                setattr(parent, name, PhaseConv(child))
            elif isinstance(child, ConvLayer) and child is not result.deconv3:
                child.conv2d.bias = None
    return to_channels_last(result)
