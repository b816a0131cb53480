"""Finds the fastest tiles of a network on a GPU, in small steps."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kernels.network.webgpu.device import Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import WebGpuPlan
from kernels.network.webgpu.steps import Pair, tiled
from kernels.network.webgpu.tiles import CANDIDATES, DEFAULT, Tile, Tiles
from kernels.network.webgpu.weights import Weights

ROUNDS = 7  # runs of each tile; the least time counts
FASTER = 0.97  # a tile is taken if it needs at most this share of the best one's time
LEVELS = 1  # by which a byte of a tile's picture may differ from the default tile's


@dataclass(frozen=True, slots=True)
class Trial:
    """A tile that was tried.

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
    because a GPU's clocks change.

    Attributes:
        tiles: The best tiles so far.
        trials: By field of Tiles, the tiles that were tried.
    """

    def __init__(
        self, device: Device, network: Network, state: Mapping[str, Tensor], size: Pair
    ) -> None:
        """Take a network and a published state dict, for pictures of a width and height.

        The tuner starts with the default tiles, not with the network's.
        """
        self.tiles = DEFAULT
        self.trials: dict[str, list[Trial]] = {}
        self._device, self._state, self._size = device, state, size
        self._network = replace(network, tiles=DEFAULT)

    def steps(self) -> Generator[float]:
        """Work in steps of some milliseconds on a fast GPU; yield the share that is done.

        The caller may stop at any step: `tiles` are then the best ones so far.

        Raises:
            WebGpuError: If the device is lost or out of memory.
            ValueError: If the device cannot paint such pictures, see `plan.unsupported`.
        """
        wide, high = self._size
        picture = np.random.default_rng(0).integers(0, 256, (high, wide, 3)).astype(np.uint8)
        plan = WebGpuPlan(self._device, self._network, self._size)
        yield 0.0
        best = _Painter(plan, Weights(self._device, self._network, self._state))
        yield 0.0
        wanted = best.paint(picture)
        yield 0.0
        fields = [field for field in CANDIDATES if field != self._unused]
        count = sum(len(CANDIDATES[field]) for field in fields)
        done = 0
        for field in fields:
            seen = {_tiles_of(best.network)}
            for tile in CANDIDATES[field]:
                done += 1
                network = replace(self._network, tiles=replace(self.tiles, **{field: tile}))
                if _tiles_of(network) in seen:
                    continue
                seen.add(_tiles_of(network))
                better = yield from self._tried(field, network, best, picture, wanted, done / count)
                best = better or best

    @property
    def _unused(self) -> str:
        """The field that no layer of the network uses."""
        return "plain" if self._network.winograd else "product"

    def _tried(
        self,
        field: str,
        network: Network,
        best: _Painter,
        picture: NDArray[np.uint8],
        wanted: NDArray[np.uint8],
        share: float,
    ) -> Generator[float, None, _Painter | None]:
        """Try one tile; return its painter if it is the best one."""
        tile: Tile = getattr(network.tiles, field)
        trials = self.trials.setdefault(field, [])
        try:
            other = yield from self._built(network, best, share)
            painted = other.paint(picture)
            yield share
            apart = int(np.abs(painted.astype(np.int16) - wanted).max())
            if apart > LEVELS:
                trials.append(Trial(tile, np.nan, np.nan, f"{apart} levels off"))
                return None
            names = [
                layer.name
                for layer, before in zip(network.normed, best.network.normed, strict=True)
                if layer != before
            ]
            least = [np.inf, np.inf]
            for _ in range(ROUNDS):
                for number, painter in enumerate((best, other)):
                    least[number] = min(least[number], painter.milliseconds(names))
                    yield share
        except WebGpuError as error:
            trials.append(Trial(tile, np.nan, np.nan, str(error)))
            best.paint(picture)  # a device that is lost raises here too
            return None
        trials.append(Trial(tile, least[1], least[0]))
        if least[1] > FASTER * least[0]:
            return None
        self.tiles = network.tiles
        return other

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
        weights = Weights(self._device, network, self._state, beside=best.weights)
        yield share
        return _Painter(plan, weights)


class _Painter:
    """A plan with weights."""

    def __init__(self, plan: WebGpuPlan, weights: Weights) -> None:
        self.plan, self.weights, self.network = plan, weights, weights.network

    def paint(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return self.plan.start(self.weights, picture).result()

    def milliseconds(self, layers: Sequence[str]) -> float:
        return self.plan.milliseconds(self.weights, layers)


def _tiles_of(network: Network) -> tuple[Tile, ...]:
    """Return the tile of each layer, as it fits the layer."""
    return tuple(layer.tile for layer in network.normed)


def tuned(tuner: Tuner) -> Tiles:
    """Take all steps; return the best tiles."""
    for _ in tuner.steps():
        pass
    return tuner.tiles
