"""Predicts the time of a network on a card: per layer a constant, and its products or bytes.

The time of a layer is

    launch_us + max(tiles x clocks of a tile / clock, bytes / (bandwidth x bandwidth_share))

where `tiles` is the largest number on one multiprocessor, over all its blocks. A tile takes
products / rate clocks of the tensor cores. The rest of the multiprocessor, independent of their
rate, takes `tile_clocks`, and `product_clocks` and `element_clocks` for its products and elements.
Blocks that share a multiprocessor hide a part of this from one another, but never the tensor cores'
own clocks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from kernels.network import abi
from kernels.network.dispatch import BACKENDS, told_reason
from kernels.network.shapes import WITH_KERNELS
from kernels.time_model.cards import Card
from kernels.time_model.work import Work, work

FILE = Path(__file__).with_name("calibration.json")

# By compute capability: the share of the tensor cores' rate that mma.sync, used in network_sm80.cu,
# reaches. On Hopper only wgmma reaches all of it.
MMA_SYNC_SHARE = {(9, 0): 1350 / 2048}


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of a backend, fitted to measured times.

    Attributes:
        launch_us: Microseconds per layer, for start, first loads, last stores, merging statistics.
        tile_clocks: Clocks of a multiprocessor for a tile of any size: barriers, latencies.
        product_clocks: Clocks of a multiprocessor for 1,024 products, besides the tensor cores':
            operands from shared memory, instructions, waiting.
        element_clocks: Clocks of a multiprocessor to load, normalize and store 1,024 elements.
        overlap: With b blocks per multiprocessor, the other blocks hide overlap x (1 - 1 / b) of a
            tile's clocks.
        bandwidth_share: The part of the published bandwidth that copies reach.
    """

    launch_us: float
    tile_clocks: float
    product_clocks: float
    element_clocks: float
    overlap: float
    bandwidth_share: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants, the measurements they were fitted to, and the library's description."""

    source: str
    constants: Mapping[str, Constants]
    traits: abi.Abi

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Calibration:
        return cls(
            stored["source"],
            {name: Constants(**row) for name, row in stored["constants"].items()},
            abi.traits(stored["description"]),
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time of a network on a card in FP16, with each layer's in order, in ms."""

    backend: str
    layers_ms: Mapping[str, float]

    @property
    def ms(self) -> float:
        return sum(self.layers_ms.values())

    @property
    def fps(self) -> float:
        """Pictures per second, of the network alone."""
        return 1e3 / self.ms


@cache
def calibration() -> Calibration:
    return Calibration.of(json.loads(FILE.read_text("utf-8")))


def backend_for(card: Card, network: str = "full", told: Calibration | None = None) -> str:
    """Return the backend that runs a network in WITH_KERNELS in FP16 on a card.

    `told` is by default the program's.

    Raises:
        ValueError: If none does. The message says why, and what runs instead.
    """
    traits, shape = (told or calibration()).traits, WITH_KERNELS[network]
    reasons = {
        backend.name: backend.reason(card.gpu, shape, torch.float16, traits) for backend in BACKENDS
    }
    for name, reason in reasons.items():
        if not reason:
            return name
    raise ValueError(told_reason(card.gpu, reasons))


def predict(
    card: Card,
    width: int,
    height: int,
    network: str = "full",
    *,
    backend: str = "",
    told: Calibration | None = None,
) -> Prediction:
    """Predict the time of a network in WITH_KERNELS in FP16 for one picture.

    `backend` is a row of BACKENDS, instead of the one that would run.

    Raises:
        ValueError: If no backend runs on the card.
    """
    told = told or calibration()
    backend = backend or backend_for(card, network, told)
    launches = work(network, backend, told.traits, width, height, card.gpu)
    constants, rate = told.constants[backend], tensor_rate(card, backend)
    return Prediction(
        backend, {launch.layer: layer_ms(launch, card, constants, rate) for launch in launches}
    )


def tensor_rate(card: Card, backend: str) -> float:
    """Return the multiply-adds per clock and multiprocessor that a backend can reach."""
    share = 1.0 if backend == "sm90" else MMA_SYNC_SHARE.get(card.capability, 1.0)
    return card.tensor_rate * share


def layer_ms(launch: Work, card: Card, constants: Constants, rate: float) -> float:
    """Return a layer's time in milliseconds; `rate` is in multiply-adds per clock and SM."""
    tensor = launch.products / rate
    beside = (
        constants.tile_clocks
        + launch.products * constants.product_clocks / 1024
        + launch.elements * constants.element_clocks / 1024
    )
    hidden = constants.overlap * (1 - 1 / launch.blocks_together(card.multiprocessors))
    tiles = launch.most_tiles(card.multiprocessors)
    clocks = tiles * max(tensor, (tensor + beside) * (1 - hidden))
    # The cache serves the previous layer's output if it fits.
    cached = launch.bytes_in <= card.l2_mb * 2**20 / 2
    moved = launch.bytes_out + (0 if cached else launch.bytes_in)
    us = max(
        clocks / card.clock_mhz,
        moved / (card.bandwidth_gb_s * 1e3 * constants.bandwidth_share),
    )
    return (constants.launch_us + us) / 1e3


def to_json(constants: Mapping[str, Constants]) -> dict[str, dict[str, float]]:
    """Return the constants in the form of calibration.json and the reports."""
    return {name: asdict(row) for name, row in constants.items()}
