"""Finds the fastest tiles of a network on a GPU, in small steps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan, unsupported
from kernels.network.webgpu.steps import Pair, tiled
from kernels.network.webgpu.tiles import CANDIDATES, DEFAULT, Tile
from kernels.network.webgpu.weights import Weights

ROUNDS = 7  # runs of each tile; the least time counts
FASTER = 0.97  # a tile is taken if it needs at most this share of the best one's time
DECIBELS = 55  # the least PSNR of sums in FP16 against the network in FP32
LEVELS = 1  # by which a byte of a tile's picture may differ from the default tile's

Picture = NDArray[np.uint8]  # [H, W, 3]


@dataclass(frozen=True, slots=True)
class Trial:
    """A tile that was tried, or the tile of residual layers with sums in FP16.

    Attributes:
        milliseconds: The least time of its layers; NaN if it was refused.
        best: The least time of the best tile before, measured by turns with it.
        refused: Why the tile cannot be used, else "". The text is for developers.
    """

    tile: Tile
    milliseconds: float
    best: float
    refused: str = ""


class Tuner:
    """Tries all candidates for each tile of a network, one after another.

    A candidate must paint the default tiles' picture. Its layers run by turns with the best tile's,
    because a GPU's clocks change. Last come sums in FP16 for a network in FP16: they must keep the
    picture of the network in FP32 to DECIBELS.

    Attributes:
        network: The network with the best tiles and sums so far.
        trials: By field of Tiles, the tiles that were tried; by "sums", those in FP16.
    """

    def __init__(
        self, device: Device, network: Network, state: Mapping[str, Tensor], size: Pair
    ) -> None:
        """Take a network and a published state dict, for pictures of a width and height.

        The tuner starts with the default tiles and sums, not with the network's.
        """
        self.network = replace(network, tiles=DEFAULT, sums="fp32")
        self.trials: dict[str, list[Trial]] = {}
        self._device, self._state, self._size = device, state, size
        wide, high = size
        self._picture = np.random.default_rng(0).integers(0, 256, (high, wide, 3)).astype(np.uint8)

    def steps(self) -> Generator[float]:
        """Work in steps of some milliseconds on a fast GPU; yield the share that is done.

        The caller may stop at any step: `network` is then the best one so far.

        Raises:
            WebGpuError: If the device is lost or out of memory.
            ValueError: If the device cannot paint such pictures, see `plan.unsupported`.
        """
        plan = WebGpuPlan(self._device, self.network, self._size)
        yield 0.0
        weights = yield from self._packed(self.network, 0.0)
        best = _Painter(plan, weights)
        wanted = best.paint(self._picture)
        yield 0.0
        fields = [field for field in CANDIDATES if field not in self._unused]
        count = sum(len(CANDIDATES[field]) for field in fields) + 1
        done = 0

        def checked(painted: Picture) -> str:
            apart = int(np.abs(painted.astype(np.int16) - wanted).max())
            return f"{apart} levels off" if apart > LEVELS else ""

        for field in fields:
            seen = {_tiles_of(best.network)}
            for tile in CANDIDATES[field]:
                done += 1
                network = replace(self.network, tiles=replace(self.network.tiles, **{field: tile}))
                if _tiles_of(network) in seen:
                    continue
                seen.add(_tiles_of(network))
                better = yield from self._tried(field, network, best, checked, done / count)
                best = better or best
        if self.network.half:
            yield from self._sums_tried(best)

    @property
    def _unused(self) -> set[str]:
        """The fields that no layer of the network uses."""
        unused = {"plain" if self.network.winograd else "product"}
        return unused | ({"narrow", "wide"} if self.network.enlarging_winograd else {"phases"})

    def _sums_tried(self, best: _Painter) -> Generator[float]:
        """Try sums in FP16 against the picture of the network in FP32."""
        exact = replace(self.network, half=False)
        if unsupported(exact, self._size, self._device):
            return  # there is nothing to hold them against
        try:
            plan = WebGpuPlan(self._device, exact, self._size)
            yield 1.0
            weights = yield from self._packed(exact, 1.0)
            wanted = _Painter(plan, weights).paint(self._picture)
        except WebGpuError:  # too little memory for two networks
            best.paint(self._picture)  # a device that is lost raises here too
            return
        yield 1.0

        def checked(painted: Picture) -> str:
            error = np.square(painted.astype(np.float64) - wanted).mean()
            decibels = 10 * np.log10(255**2 / max(error, 1e-9))
            return f"{decibels:.1f} dB" if decibels < DECIBELS else ""

        yield from self._tried("sums", replace(self.network, sums="fp16"), best, checked, 1.0)

    def _tried(
        self,
        field: str,
        network: Network,
        best: _Painter,
        checked: Callable[[Picture], str],
        share: float,
    ) -> Generator[float, None, _Painter | None]:
        """Try a network; return its painter if it is the fastest one.

        Args:
            field: The field of Tiles that differs, or "sums".
            checked: Returns why a picture is wrong, else "".
        """
        residual = "product" if network.winograd else "plain"
        tile: Tile = getattr(network.tiles, residual if field == "sums" else field)
        trials = self.trials.setdefault(field, [])
        try:
            other = yield from self._built(network, best, share)
            refused = checked(other.paint(self._picture))
            yield share
            if refused:
                trials.append(Trial(tile, np.nan, np.nan, refused))
                return None
            least = yield from self._raced(best, other, share)
        except WebGpuError as error:
            trials.append(Trial(tile, np.nan, np.nan, str(error)))
            best.paint(self._picture)  # a device that is lost raises here too
            return None
        trials.append(Trial(tile, least[1], least[0]))
        if least[1] > FASTER * least[0]:
            return None
        self.network = network
        return other

    def _raced(
        self, best: _Painter, other: _Painter, share: float
    ) -> Generator[float, None, list[float]]:
        """Run the layers in which two networks differ by turns; return the least times in ms."""
        layers = [
            layer.name
            for layer, before in zip(other.network.normed, best.network.normed, strict=True)
            if layer != before
        ]
        least = [np.inf, np.inf]
        for _ in range(ROUNDS):
            for number, painter in enumerate((best, other)):
                least[number] = min(least[number], painter.milliseconds(layers))
                yield share
        return least

    def _built(
        self, network: Network, best: _Painter, share: float
    ) -> Generator[float, None, _Painter]:
        """Compile the shaders that the best tiles do not have, and pack their filters."""
        for layer in network.normed:
            if layer not in best.network.normed:
                self._device.pipeline(tiled(layer, network.half))
                yield share
        plan = WebGpuPlan(self._device, network, self._size, beside=best.plan)
        yield share
        weights = yield from self._packed(network, share, best.weights)
        return _Painter(plan, weights)

    def _packed(
        self, network: Network, share: float, beside: Weights | None = None
    ) -> Generator[float, None, Weights]:
        packing = Weights.in_steps(self._device, network, self._state, beside=beside)
        while True:
            try:
                next(packing)
            except StopIteration as end:
                return end.value
            yield share


class _Painter:
    """A plan with weights."""

    def __init__(self, plan: WebGpuPlan, weights: Weights) -> None:
        self.plan, self.weights, self.network = plan, weights, weights.network

    def paint(self, picture: Picture) -> Picture:
        return self.plan.start(self.weights, picture).result()

    def milliseconds(self, layers: Sequence[str]) -> float:
        return self.plan.milliseconds(self.weights, layers)


def _tiles_of(network: Network) -> tuple[Tile, ...]:
    """Return the tile of each layer, as it fits the layer."""
    return tuple(layer.tile for layer in network.normed)


def tuned(tuner: Tuner) -> Network:
    """Take all steps; return the network with the best tiles and sums."""
    for _ in tuner.steps():
        pass
    return tuner.network
