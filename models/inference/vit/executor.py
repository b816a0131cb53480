"""The painter of the any-style network as fused steps, on any device, for one style code at a time.

It computes models.vit_style_transfer.StyleForgeTransformer.stylize with the exact rewrites of
models.inference.vit.weights. Enlargements are convolutions at the small size, a norm includes the
ReLU, the residual and the next layer's padding, and the code's factors are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.network.graph_plan import StageCallback, group_of
from kernels.weight_transforms import column_weights
from models.inference.vit.parts import VitParts
from models.inference.vit.weights import VitWeights
from models.pictures import padded
from models.vit_config import PATCH, VitConfig


class Activations(NamedTuple):
    """The output of one step for the next, channels last and padded for the next convolution.

    Attributes:
        half: [N, widths[1], H/2 + 2, W/2 + 2], from the stem; None before.
        quarter: [N, widths[2], H/4 + 2, W/4 + 2], likewise.
    """

    x: Tensor
    half: Tensor | None = None
    quarter: Tensor | None = None


Step = Callable[[Activations], Activations]


class VitExecutor(VitParts):
    """A painter with one code at a time; several may share `weights`.

    Not thread-safe; use it with gradients disabled only.
    """

    def __init__(self, config: VitConfig, weights: VitWeights) -> None:
        super().__init__(config, weights)
        # In half precision, the column sums would be rounded before they are added.
        exact = self.dtype in (torch.float32, torch.float64)
        last = weights.convolutions["conv_out"]
        self._columns = column_weights(last) if self.device.type == "cpu" and exact else None

    @property
    def steps(self) -> dict[str, Step]:
        blocks = range(self.config.content_blocks)
        steps: dict[str, Step] = {
            "stem/conv1": self._conv1,
            "stem/conv2": self._conv2,
            "stem/conv3": self._conv3,
            "stem/conv4": self._conv4,
            **{f"blocks/block{number + 1}": partial(self._block, number) for number in blocks},
            "decoder/deconv1": self._deconv1,
            "decoder/residual": self._residual,
            "decoder/deconv2": self._deconv2,
            "decoder/deconv3": self._deconv3,
            "decoder/conv_out": self._conv_out,
        }
        return {name: partial(self.run, step) for name, step in steps.items()}

    def __call__(
        self, x: Tensor, mark: StageCallback | None = None, *, by_layer: bool = False
    ) -> Tensor:
        """Paint pictures [N, 3, H, W], RGB 0-255, H and W at least 16.

        Calls `mark` with "stem", "blocks" and "decoder" after each; with `by_layer`, after every
        step. The result has the executor's dtype and is about 0-255, not clamped.
        """
        height, width = x.shape[-2:]
        held, steps = Activations(self.input(x)), self.steps
        for name, following in zip(steps, [*list(steps)[1:], ""], strict=True):
            held = steps[name](held)
            if mark is not None and by_layer:
                mark(name)
            elif mark is not None and group_of(name) != group_of(following):
                mark(group_of(name))
        return held.x[..., :height, :width]

    def input(self, x: Tensor) -> Tensor:
        """Pad pictures [N, 3, H, W] to multiples of 8 and for the first convolution."""
        return self.run(self._padded, x)

    def _padded(self, x: Tensor) -> Tensor:
        return self.reflected(padded(x.to(self.dtype), PATCH), 4)

    # Steps

    def _conv1(self, held: Activations) -> Activations:
        x = self.normed("full", self.conv("conv1", held.x), 0, pad=1)
        return Activations(x)

    def _conv2(self, held: Activations) -> Activations:
        half = self.normed("half", self.conv("conv2", held.x, 2), 1, pad=1)
        return Activations(half, half)

    def _conv3(self, held: Activations) -> Activations:
        quarter = self.normed("quarter", self.conv("conv3", held.x, 2), 2, pad=1)
        return Activations(quarter, held.half, quarter)

    def _conv4(self, held: Activations) -> Activations:
        return held._replace(x=self.embedded(held.x))

    def _block(self, number: int, held: Activations) -> Activations:
        return held._replace(x=self.block(number, held.x))

    def _deconv1(self, held: Activations) -> Activations:
        assert held.quarter is not None
        x = self.enlarged("deconv1", held.x, self.skip("skip1", held.quarter))
        return held._replace(x=self.styled("inside", x, -5, pad=1))

    def _residual(self, held: Activations) -> Activations:
        inner = held.x[..., 1:-1, 1:-1]
        y = self.styled("outside", self.conv("res_conv1", held.x), -4, pad=1)
        y = self.conv("res_conv2", y)
        return held._replace(x=self.styled("small", y, -3, residual=inner, relu=False))

    def _deconv2(self, held: Activations) -> Activations:
        assert held.half is not None
        x = self.enlarged("deconv2", held.x, self.skip("skip2", held.half))
        return held._replace(x=self.styled("middle", x, -2))

    def _deconv3(self, held: Activations) -> Activations:
        return Activations(self.styled("full", self.enlarged("deconv3", held.x, None), -1, pad=4))

    def _conv_out(self, held: Activations) -> Activations:
        bias = self.weights.bias.to(self.dtype)
        weight = self.weights.convolutions["conv_out"]
        if self.winograd.runs_last(held.x, weight):
            return Activations(self.winograd.convolve_last("conv_out", held.x, weight, bias))
        if self._columns is None:
            return Activations(F.conv2d(held.x, weight, bias))
        columns, picks = self._columns
        return Activations(F.conv2d(self.convolved(held.x, columns), picks, bias))
