"""The convolutional ends of the any-style network: pictures to tokens, and tokens to pictures."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import ConvLayer
from models.optimized_blocks import AdaIN, normalize
from models.vit_config import VitConfig

CENTER, SPREAD = 127.5, 64.0  # pixels are (x - CENTER) / SPREAD inside the network
END_KERNEL = 9  # side of the first and the last convolution's kernel


class StemResult(NamedTuple):
    """Tokens [N, embed_dim, H/8, W/8], and activations.

    `half` is [N, widths[1], H/2, W/2], `quarter` [N, widths[2], H/4, W/4].
    """

    tokens: Tensor
    half: Tensor
    quarter: Tensor


class PlaneNorm(nn.Module):
    """Instance norm (arXiv:1607.08022) with a learned scale and shift per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = (each[:, None, None].to(x.dtype) for each in (self.weight, self.bias))
        return torch.addcmul(bias, normalize(x, (2, 3)), weight)


class Stem(nn.Module):
    """The patch embedding: four convolutions, three of which halve the picture.

    If `normed`, instance norm and ReLU follow the first three, which removes the content picture's
    own style. Otherwise GELU follows, which preserves a style picture's.
    """

    def __init__(self, config: VitConfig, *, normed: bool) -> None:
        super().__init__()
        full, half, quarter = config.widths
        self.conv1 = ConvLayer(3, full, END_KERNEL)
        self.conv2 = ConvLayer(full, half, 3, stride=2)
        self.conv3 = ConvLayer(half, quarter, 3, stride=2)
        self.conv4 = ConvLayer(quarter, config.embed_dim, 3, stride=2)
        if not normed:  # without norms, PyTorch's own initial weights nearly lose the picture
            for conv in (self.conv1, self.conv2, self.conv3, self.conv4):
                keep_variance(conv.conv2d)
        self.norms = nn.ModuleList(PlaneNorm(width) for width in config.widths if normed)
        self.position = nn.Conv2d(
            config.embed_dim,
            config.embed_dim,
            3,
            padding=1,
            padding_mode="reflect",
            groups=config.embed_dim,
        )

    def forward(self, picture: Tensor) -> StemResult:
        """Embed [N, 3, H, W], RGB 0-255, H and W multiples of 8 and at least 16.

        A depthwise convolution adds surroundings to tokens (Chu et al. 2021, arXiv:2102.10882).
        """
        x = self._activate(self.conv1((picture - CENTER) / SPREAD), 0)
        half = self._activate(self.conv2(x), 1)
        quarter = self._activate(self.conv3(half), 2)
        tokens = self.conv4(quarter)
        return StemResult(tokens + self.position(tokens), half, quarter)

    def _activate(self, x: Tensor, number: int) -> Tensor:
        return F.relu(self.norms[number](x)) if len(self.norms) else F.gelu(x)


class EnlargingConv(ConvLayer):
    """A bilinear enlargement by two, then a ConvLayer.

    With a nearest-neighbor enlargement, the painting depends on where edges fall between the
    repeated pixels: lattices of 2, 4 and 8 pixels flicker when the camera moves.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(enlarge(x))


def enlarge(x: Tensor) -> Tensor:
    """Enlarge planes by two, bilinearly: [N, C, H, W] to [N, C, 2 H, 2 W].

    This is `F.interpolate` with mode="bilinear", as repeated pixels and two averages over 2x2.
    Their backward pass needs no atomic sums, which are slow in bfloat16 and have no fixed order.
    """
    repeated = F.interpolate(x, scale_factor=2, mode="nearest")
    # repeats the border, since pixels come in pairs
    padded = F.pad(repeated, (1, 1, 1, 1), mode="reflect")
    return F.avg_pool2d(F.avg_pool2d(padded, 2, stride=1), 2, stride=1)


def keep_variance(layer: nn.Conv2d | nn.Linear) -> None:
    """Draw weights that preserve variance through a ReLU (He et al. 2015, arXiv:1502.01852)."""
    if not layer.weight.is_meta:  # on meta, PyTorch would load its compiler, which takes 1.4 s
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


class Decoder(nn.Module):
    """Three bilinear enlargements and convolutions; the code sets every norm's scale and shift."""

    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        full, half, quarter = config.widths
        code = config.code_dim
        self.deconv1 = EnlargingConv(config.embed_dim, quarter, 3)
        self.skip1 = nn.Conv2d(quarter, quarter, 1)
        self.norm1 = AdaIN(quarter, code)
        self.res_conv1 = ConvLayer(quarter, quarter, 3)
        self.res_norm1 = AdaIN(quarter, code)
        self.res_conv2 = ConvLayer(quarter, quarter, 3)
        self.res_norm2 = AdaIN(quarter, code)
        self.deconv2 = EnlargingConv(quarter, half, 3)
        self.skip2 = nn.Conv2d(half, half, 1)
        self.norm2 = AdaIN(half, code)
        self.deconv3 = EnlargingConv(half, full, 3)
        self.norm3 = AdaIN(full, code)
        self.conv_out = ConvLayer(full, 3, END_KERNEL)

    def forward(self, tokens: Tensor, stem: StemResult, code: Tensor) -> Tensor:
        """Paint [N, 3, H, W], about 0-255, not clamped, from tokens [N, embed_dim, H/8, W/8].

        `stem` is the stem's result for the content; `code` is [N, code_dim] or [1, code_dim].
        """
        x = F.relu(self.norm1(self.deconv1(tokens) + self.skip1(stem.quarter), code))
        y = F.relu(self.res_norm1(self.res_conv1(x), code))
        x = x + self.res_norm2(self.res_conv2(y), code)
        x = F.relu(self.norm2(self.deconv2(x) + self.skip2(stem.half), code))
        x = F.relu(self.norm3(self.deconv3(x), code))
        return self.conv_out(x) * SPREAD + CENTER
