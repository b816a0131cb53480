"""Layers that compute any rows of their result, from rows of the picture or of another layer.

A layer with an instance norm first runs once, from top to bottom, for the whole picture's
statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.weight_transforms import column_weights, phase_weight
from models.layers import ConvLayer


class Rows(Protocol):
    """A source of rows of a picture or of activations, [1, C, bottom - top, W], channels last."""

    def __call__(self, top: int, bottom: int) -> Tensor:
        """Return rows `top` to `bottom`, which are within the height."""
        ...


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution after reflection padding, without its bias, which the norm after it cancels."""

    weight: Tensor
    pad: int
    stride: int = 1

    @classmethod
    def of(cls, layer: ConvLayer) -> Convolution:
        conv = layer.conv2d
        weight = conv.weight.contiguous(memory_format=torch.channels_last)
        return cls(weight, conv.kernel_size[0] // 2, conv.stride[0])

    def reads(self, top: int, bottom: int) -> tuple[int, int]:
        return top * self.stride - self.pad, (bottom - 1) * self.stride + self.pad + 1

    def apply(self, x: Tensor, above: int, below: int) -> Tensor:
        """Convolve rows after reflecting `above` and `below` of them."""
        x = F.pad(x, (self.pad, self.pad, above, below), mode="reflect")
        return F.conv2d(x, self.weight, None, self.stride)


class Enlarging:
    """An enlargement and 3x3 convolution as one 2x2 one, without bias; see phase_weight."""

    def __init__(self, layer: ConvLayer) -> None:
        weight = phase_weight(layer.conv2d.weight)
        self.weight = weight.contiguous(memory_format=torch.channels_last)

    def reads(self, top: int, bottom: int) -> tuple[int, int]:
        return top // 2 - 1, (bottom + 1) // 2 + 1

    def apply(self, x: Tensor, above: int, below: int) -> Tensor:
        """Enlarge rows; rows above and below the picture equal its first and last row."""
        x = F.pad(x, (1, 1, above, below), mode="replicate")
        z = F.conv2d(x, self.weight)
        rows, columns = z.shape[2] - 1, z.shape[3] - 1
        channels = z.shape[1] // 4
        shape = (1, channels, 2 * rows, 2 * columns)
        out = torch.empty(shape, dtype=z.dtype, device=z.device, memory_format=torch.channels_last)
        for phase in range(4):
            a, b = divmod(phase, 2)
            of_phase = z[:, phase * channels : (phase + 1) * channels]
            out[:, :, a::2, b::2] = of_phase[:, :, a : a + rows, b : b + columns]
        return out


class Last:
    """The last convolution, with its bias; on the CPU column by column, see column_weights."""

    def __init__(self, layer: ConvLayer) -> None:
        conv = layer.conv2d
        self._plain, self.bias = Convolution.of(layer), conv.bias
        by_columns = conv.weight.device.type == "cpu" and conv.weight.dtype in (
            torch.float32,
            torch.float64,  # otherwise the sums of columns would be rounded
        )
        self._columns = column_weights(conv.weight) if by_columns else None

    def reads(self, top: int, bottom: int) -> tuple[int, int]:
        return self._plain.reads(top, bottom)

    def apply(self, x: Tensor, above: int, below: int) -> Tensor:
        pad = self._plain.pad
        x = F.pad(x, (pad, pad, above, below), mode="reflect")
        if self._columns is None:
            return F.conv2d(x, self._plain.weight, self.bias)
        columns, picks = self._columns
        return F.conv2d(F.conv2d(x, columns), picks, self.bias)


Operation = Convolution | Enlarging | Last


def convolved(operation: Operation, rows: Rows, height: int, top: int, bottom: int) -> Tensor:
    """Compute rows `top` to `bottom` of a convolution; its input has `height` rows."""
    low, high = operation.reads(top, bottom)
    x = rows(max(low, 0), min(high, height))
    return operation.apply(x, max(0, -low), max(0, high - height))


class Statistics:
    """The float64 mean and sum of squared deviations per channel (Chan, Golub and LeVeque 1983)."""

    def __init__(self, channels: int, device: torch.device) -> None:
        self._count = 0
        self._mean, self._squares = torch.zeros(2, channels, dtype=torch.float64, device=device)

    def add(self, x: Tensor) -> None:
        """Add a band [1, C, rows, W]."""
        flat = x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])
        flat = flat.to(torch.promote_types(flat.dtype, torch.float32))
        center = flat.mean(0)
        deviation = flat - center
        moved = deviation.mean(0).double()  # corrects the rounding of the mean
        count = len(flat)
        squares = deviation.square_().sum(0).double() - count * moved.square()
        delta = center.double() + moved - self._mean
        total = self._count + count
        self._mean += delta * (count / total)
        self._squares += squares + delta.square() * (self._count * count / total)
        self._count = total

    def affine(self, norm: nn.InstanceNorm2d) -> tuple[Tensor, Tensor]:
        """Return the norm as a scale and a shift, each [1, C, 1, 1] in float64."""
        scale = torch.rsqrt(self._squares / self._count + norm.eps) * norm.weight.double()
        shift = norm.bias.double() - self._mean * scale
        return scale.view(1, -1, 1, 1), shift.view(1, -1, 1, 1)


def normed(x: Tensor, affine: tuple[Tensor, Tensor]) -> Tensor:
    """Scale and shift `x` into a new tensor, in float32 or better."""
    wide = torch.promote_types(x.dtype, torch.float32)
    scale, shift = (each.to(wide) for each in affine)
    return torch.addcmul(shift, x.to(wide), scale)


class Unit:
    """A convolution with its norm and ReLU, which computes values wherever they are read."""

    def __init__(
        self,
        operation: Operation,
        rows: Rows,
        height: int,  # of its input
        norm: nn.InstanceNorm2d,
    ) -> None:
        self._operation, self._rows, self._height, self._norm = operation, rows, height, norm
        self._affine: tuple[Tensor, Tensor] | None = None

    def raw(self, top: int, bottom: int) -> Tensor:
        low, high = top, bottom
        if isinstance(self._operation, Enlarging):  # it computes pairs of rows
            low, high = top - top % 2, bottom + bottom % 2
        x = convolved(self._operation, self._rows, self._height, low, high)
        return x[:, :, top - low : bottom - low]

    def measure(self, bands: list[tuple[int, int]], done: Callable[[], None]) -> None:
        statistics: Statistics | None = None
        for top, bottom in bands:
            x = self.raw(top, bottom)
            statistics = statistics or Statistics(x.shape[1], x.device)
            statistics.add(x)
            done()
        assert statistics is not None
        self._affine = statistics.affine(self._norm)

    def values(self, top: int, bottom: int) -> Tensor:
        """Return rows of the result; `measure` must have run."""
        assert self._affine is not None
        raw = self.raw(top, bottom)
        return normed(raw, self._affine).relu_().to(raw.dtype)
