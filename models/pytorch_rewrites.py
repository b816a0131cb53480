"""The network by its exact rewrites in PyTorch alone: the most that a compiler can start from.

What the native kernels gain is measured against this, compiled, not only against the network as
it was published.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.weight_transforms import phase_weight
from models.layers import ConvLayer
from models.transformer_net import TransformerNetBaseline


class PhaseConv(nn.Module):
    """A ConvLayer that enlarges, as one smaller convolution before the enlargement."""

    def __init__(self, layer: ConvLayer) -> None:
        super().__init__()
        self.register_buffer("weight", phase_weight(layer.conv2d.weight.detach()))

    def forward(self, x: Tensor) -> Tensor:  # [N, C, H, W] to [N, Cout, 2 H, 2 W]
        height, width = x.shape[-2:]
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), self.get_buffer("weight"))
        phases = y.unflatten(1, (2, 2, -1))
        # Phase (a, b) of pixel (i, j) sits at (i + a, j + b).
        rows = [
            torch.stack([phases[:, a, b, :, a : a + height, b : b + width] for b in (0, 1)], -1)
            for a in (0, 1)
        ]
        return torch.stack(rows, 3).flatten(4, 5).flatten(2, 3)


class Norm(nn.Module):
    """Instance norm written out, since PyTorch's own asks for NCHW; half precision in FP32."""

    def __init__(self, norm: nn.InstanceNorm2d) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, x: Tensor) -> Tensor:  # [N, C, H, W]
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        var, mean = torch.var_mean(wide, (2, 3), correction=0, keepdim=True)
        scale = torch.rsqrt(var + self.eps) * self.weight[:, None, None]
        return ((wide - mean) * scale + self.bias[:, None, None]).to(x.dtype)


def with_rewrites(network: TransformerNetBaseline) -> TransformerNetBaseline:
    """A copy of `network` that computes the same picture with fewer multiplications.

    Biases that a norm removes are gone, layers that enlarge are a PhaseConv, and everything is
    channels last. Convert to another dtype afterwards: weights are merged in float64.
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
    return result.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
