"""The times of two networks by layer, in rows that both networks have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from app.engine.result import Timings
from kernels.network.graph_plan import group_of

FITS = 1.5  # times that the sum of the layers may be above or below the network's time


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer, or a group of layers, with the median times of both networks in ms."""

    name: str
    plain_ms: float
    ours_ms: float

    @property
    def ratio(self) -> float:
        """Plain PyTorch's time divided by ours, which may be below 1."""
        return self.plain_ms / self.ours_ms


@dataclass(frozen=True, slots=True)
class LayerTable:
    """The layers of plain PyTorch and StyleForge on one device.

    Attributes:
        device: The device's name: "CPU".
        rows: In the order of the network; empty if `reason` says why.
        reason: Why no layer is shown, a sentence without a full stop; "" if layers are shown.
    """

    device: str
    rows: tuple[LayerRow, ...] = ()
    reason: str = ""


def medians(pictures: Sequence[Timings]) -> dict[str, float]:
    """Return the median time of each layer in ms, in the order of the network."""
    by_name: dict[str, list[float]] = {}
    for timings in pictures:
        for name, spent in timings.layers:
            by_name.setdefault(name, []).append(spent)
    return {name: median(times) for name, times in by_name.items()}


def fits(layers: Mapping[str, float], network_ms: float) -> bool:
    """Return whether layers add up to about the time of their network, timed without them."""
    total = sum(layers.values())
    return network_ms / FITS <= total <= network_ms * FITS


def common_rows(plain: Mapping[str, float], ours: Mapping[str, float]) -> tuple[LayerRow, ...]:
    """Return a row for each layer of both networks; empty if they have no names in common.

    A network that divides a block ("res1.conv1") is summed to the other one's block ("res1"), and
    networks with other layers to their groups.
    """
    for name_of in (str, _block_of, group_of):
        first, second = _summed(plain, name_of), _summed(ours, name_of)
        if first.keys() == second.keys() and all(first.values()) and all(second.values()):
            return tuple(LayerRow(name, ms, second[name]) for name, ms in first.items())
    return ()


def _block_of(name: str) -> str:
    return name.partition(".")[0]


def _summed(layers: Mapping[str, float], name_of: Callable[[str], str]) -> dict[str, float]:
    summed: dict[str, float] = {}
    for name, spent in layers.items():
        summed[name_of(name)] = summed.get(name_of(name), 0.0) + spent
    return summed
