"""The network for pictures of any size in bounded memory: bands of rows, exactly as if undivided.

An instance norm needs the statistics of the whole picture, so each layer runs twice: band by band
for the statistics of its raw output, then on demand of the next layer for the values. Only the
activations at a quarter of the resolution are stored, 16 numbers per pixel of the picture; the
others are recomputed wherever they are read. Every band reads the rows around it that a convolution
needs, and only the borders of the picture are reflected. The result therefore differs from the
undivided network's by rounding alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.inference.banded_layers import (
    Convolution,
    Enlarging,
    Last,
    Rows,
    Statistics,
    Unit,
    convolved,
    normed,
)
from models.layers import ConvLayer, PublishedNetwork, ResidualBlock
from models.network_config import FULL, NetworkConfig

BAND = 2**19  # approximate pixels of the picture in a band: 64 rows of 8K
LEAST_ROWS = 4  # per band at a quarter of the resolution: more than any convolution reflects
# Measured memory per pixel of a band, in activations of the first layer's width.
COPIES = 5

Progress = Callable[[float], object]  # receives the completed share, 0 to 1; may raise to cancel


@torch.no_grad()
def style_in_bands(
    network: PublishedNetwork,
    rows: Rows,
    write: Callable[[int, Tensor], object],
    size: tuple[int, int],
    progress: Progress = lambda done: None,
    band: int = BAND,
) -> None:
    """Stylize one picture.

    Args:
        network: A network in the dtype and on the device to compute with.
        rows: Returns rows of the picture, [1, 3, bottom - top, W], RGB 0-255, on that device.
        write: Receives each band's first row and values, [1, 3, rows, W], not clamped, in order.
        size: Height and width of the picture, each at least 16.
        progress: Called with the completed share, at least after every band of a layer. An
            exception that it raises ends the run.
        band: Approximate pixels in a band; it affects the result by rounding alone.
    """
    height, width = size
    high, wide = height + -height % 4, width + -width % 4
    bands = _Bands(high // 4, max(LEAST_ROWS, band // wide // 4))
    work = _Work(network, len(bands.of(1)), progress)
    encoded = _encoded(network, _padded(rows, height, width), (high, wide), bands, work)
    for block in network.residual_blocks:
        _add_block(block, encoded, bands, work)

    def middle(top: int, bottom: int) -> Tensor:
        return encoded[:, :, top:bottom]

    quarter = high // 4
    halved = Unit(Enlarging(network.deconv1), middle, quarter, network.in4)
    halved.measure(bands.of(2), work.of(network.deconv1))
    whole = Unit(Enlarging(network.deconv2), halved.values, 2 * quarter, network.in5)
    whole.measure(bands.of(4), work.of(network.deconv2))
    last = Last(network.deconv3)
    done = work.of(network.deconv3)
    for top, bottom in bands.of(4):
        values = convolved(last, whole.values, high, top, bottom)
        write(top, values[:, :, : max(0, height - top), :width])
        done()


def memory_needed(
    height: int, width: int, itemsize: int, shape: NetworkConfig = FULL, band: int = BAND
) -> int:
    """Compute the bytes for `style_in_bands`, without the pictures; `itemsize` is of the dtype."""
    outer, _, inner = shape.widths
    kept = 2 * inner * (-(-height // 4)) * (-(-width // 4))
    pixels = min(max(band, 4 * LEAST_ROWS * width), height * width)  # in a band
    return itemsize * (kept + COPIES * outer * pixels)


class _Bands:
    """Bands at a quarter of the resolution, of at least LEAST_ROWS unless there is only one."""

    def __init__(self, height: int, rows: int) -> None:
        count = max(1, height // max(rows, LEAST_ROWS))
        self._edges = [height * n // count for n in range(count + 1)]

    def of(self, factor: int) -> list[tuple[int, int]]:
        edges = [factor * edge for edge in self._edges]
        return list(itertools.pairwise(edges))


class _Work:
    """A counter of multiplications, for even progress."""

    def __init__(self, network: PublishedNetwork, bands: int, progress: Progress) -> None:
        self._bands, self._progress = bands, progress
        ends = _products(network.conv1), _products(network.deconv3)
        half, back = _products(network.conv2) / 4, _products(network.deconv2)
        quarter, forth = _products(network.conv3) / 16, _products(network.deconv1) / 4
        self._costs: dict[nn.Module, float] = {
            network.conv1: ends[0],
            network.conv2: ends[0] + half,
            network.conv3: ends[0] + half + quarter,
            network.deconv1: forth,
            network.deconv2: forth + back,
            network.deconv3: forth + back + ends[1],
        }
        for block in network.residual_blocks:
            self._costs[block] = _products(block.conv1) / 16
        blocks = sum(self._costs[block] for block in network.residual_blocks)
        self._total = sum(self._costs.values()) + blocks  # a block passes twice
        self._done = 0.0

    def of(self, layer: nn.Module) -> Callable[[], None]:
        share = self._costs[layer] / self._total / self._bands

        def done() -> None:
            self._done += share
            self._progress(min(1.0, self._done))

        return done


def _products(layer: ConvLayer) -> float:
    return layer.conv2d.weight.numel() / (layer.upsample**2 * 9 / 16 if layer.upsample > 1 else 1)


def _padded(rows: Rows, height: int, width: int) -> Rows:
    """Return rows of the picture, padded by reflection to sides that are multiples of 4."""
    right = -width % 4

    def padded(top: int, bottom: int) -> Tensor:
        below = max(0, bottom - height)
        # A band may consist of reflected rows alone, so include the rows that they mirror.
        x = rows(min(top, height - 1 - below), min(bottom, height))
        x = F.pad(x, (0, right, 0, below), mode="reflect")
        x = x[:, :, x.shape[2] - (bottom - top) :]
        return x.contiguous(memory_format=torch.channels_last)

    return padded


def _encoded(
    network: PublishedNetwork, rows: Rows, size: tuple[int, int], bands: _Bands, work: _Work
) -> Tensor:
    """Compute the activations at a quarter of the resolution, [1, C, H / 4, W / 4]."""
    high, wide = size
    first = Unit(Convolution.of(network.conv1), rows, high, network.in1)
    first.measure(bands.of(4), work.of(network.conv1))
    second = Unit(Convolution.of(network.conv2), first.values, high, network.in2)
    second.measure(bands.of(2), work.of(network.conv2))
    third = Convolution.of(network.conv3)
    weight = third.weight
    shape = (1, weight.shape[0], high // 4, wide // 4)
    encoded = torch.empty(
        shape, dtype=weight.dtype, device=weight.device, memory_format=torch.channels_last
    )
    statistics = Statistics(shape[1], weight.device)
    done = work.of(network.conv3)
    for top, bottom in bands.of(1):
        x = convolved(third, second.values, high // 2, top, bottom)
        statistics.add(x)
        encoded[:, :, top:bottom] = x
        done()
    affine = statistics.affine(network.in3)
    for top, bottom in bands.of(1):
        encoded[:, :, top:bottom] = normed(encoded[:, :, top:bottom], affine).relu_()
    return encoded


def _add_block(block: ResidualBlock, x: Tensor, bands: _Bands, work: _Work) -> None:
    """Add a residual block's output for the activations `x` to `x`, in place."""
    inside = torch.empty_like(x)
    height = x.shape[2]
    done = work.of(block)
    first = Convolution.of(block.conv1)
    statistics = Statistics(x.shape[1], x.device)
    for top, bottom in bands.of(1):
        y = convolved(first, lambda top, bottom: x[:, :, top:bottom], height, top, bottom)
        statistics.add(y)
        inside[:, :, top:bottom] = y
        done()
    affine = statistics.affine(block.in1)
    statistics = Statistics(x.shape[1], x.device)
    for top, bottom, y in _in_place(Convolution.of(block.conv2), inside, affine, bands):
        statistics.add(y)
        inside[:, :, top:bottom] = y
        done()
    affine = statistics.affine(block.in2)
    for top, bottom in bands.of(1):
        x[:, :, top:bottom] += normed(inside[:, :, top:bottom], affine).to(x.dtype)


def _in_place(
    operation: Convolution, raw: Tensor, affine: tuple[Tensor, Tensor], bands: _Bands
) -> Iterator[tuple[int, int, Tensor]]:
    """Convolve the normed activations of `raw` band by band, from top to bottom.

    The caller may overwrite each band with its result: the row that the next band reads is saved.
    """
    height = raw.shape[2]
    above = raw[:, :, :0]
    for top, bottom in bands.of(1):
        rows = torch.cat([above, raw[:, :, top : min(bottom + 1, height)]], 2)
        above = raw[:, :, bottom - 1 : bottom].clone()
        values = normed(rows, affine).relu_().to(raw.dtype)
        yield top, bottom, operation.apply(values, int(top == 0), int(bottom == height))
