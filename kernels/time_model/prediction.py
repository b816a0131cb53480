"""Predicts the time of the network on a card: a constant for each layer, and its products or bytes.

The time of a layer is

    launch_us + max(rounds x clocks of a tile / clock, bytes / (bandwidth x bandwidth_share))

A multiprocessor works through `rounds` tiles, the most that any has. A tile takes the tensor cores
products / rate clocks, and the rest of the multiprocessor, which does not depend on their rate,
`product_clocks` and `element_clocks` for its products and elements. Blocks that share a
multiprocessor hide a part of this from one another, but never the tensor cores' own clocks.
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
from kernels.network.dispatch import BACKENDS
from kernels.time_model.cards import Card
from kernels.time_model.work import Work, work

FILE = Path(__file__).with_name("calibration.json")

# What mma.sync, which the general path uses, reaches of the tensor cores' rate, by compute
# capability: only wgmma reaches all of a Hopper's.
MMA_SYNC_SHARE = {(9, 0): 0.62}

REGISTERS = 65536  # of a multiprocessor, of every capability in the table
REGISTER_UNIT = 8  # registers of a thread are given out in such steps
RESERVED_SHARED_BYTES = 1024  # that the driver takes for each block


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of one path through the network, fitted to measured times.

    Attributes:
        launch_us: Of every layer, in microseconds: its start, first loads, last stores, and the
            merging of statistics.
        product_clocks: Clocks of a multiprocessor for 1,024 products, besides the tensor cores':
            operands from shared memory, instructions, waiting.
        element_clocks: Clocks of a multiprocessor for 1,024 elements loaded, normalized and stored.
        overlap: With b blocks on a multiprocessor, overlap x (1 - 1 / b) of the clocks of its tiles
            are hidden by the other blocks'.
        bandwidth_share: The part of the published bandwidth that copies reach.
    """

    launch_us: float
    product_clocks: float
    element_clocks: float
    overlap: float
    bandwidth_share: float


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes beside its dynamic shared memory.

    Attributes:
        registers: Of a thread.
        static_shared_bytes: Of a block.
    """

    registers: int
    static_shared_bytes: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants, and the kernels that they are of.

    Attributes:
        source: What the constants were fitted to, in words.
        constants: By path: "general" or "hopper".
        traits: What the library said of itself.
        resources: Of the general path's kernels, by their names there.
    """

    source: str
    constants: Mapping[str, Constants]
    traits: abi.Abi
    resources: Mapping[str, Resources]

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Calibration:
        """Read what calibration.json holds."""
        return cls(
            stored["source"],
            {name: Constants(**row) for name, row in stored["constants"].items()},
            abi.traits(stored["description"]),
            {name: Resources(**row) for name, row in stored["resources"].items()},
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time of the network on a card, in FP16.

    Attributes:
        backend: The name of the row of BACKENDS that would run it.
        layers_ms: The time of each layer, by name, in order, in milliseconds.
    """

    backend: str
    layers_ms: Mapping[str, float]

    @property
    def ms(self) -> float:
        """Of the network, in milliseconds."""
        return sum(self.layers_ms.values())

    @property
    def fps(self) -> float:
        """Pictures a second, of the network alone."""
        return 1e3 / self.ms


@cache
def calibration() -> Calibration:
    """The calibration that comes with the program."""
    return Calibration.of(json.loads(FILE.read_text("utf-8")))


def path_of(backend: str) -> str:
    """The path through the network whose constants a backend has."""
    return "hopper" if backend == "sm90" else "general"


def backend_for(card: Card, told: Calibration | None = None) -> str:
    """The backend that runs the network in FP16 on a card.

    Args:
        card: The card.
        told: Has the kernels; the program's calibration by default.

    Raises:
        ValueError: None does; the message says why, and what runs instead.
    """
    traits = (told or calibration()).traits
    reasons = {
        backend.name: backend.reason(card.gpu, torch.float16, traits) for backend in BACKENDS
    }
    for name, reason in reasons.items():
        if not reason:
            return name
    raise ValueError(list(reasons.values())[-1])


def predict(
    card: Card,
    width: int,
    height: int,
    *,
    backend: str = "",
    shared_kb: int = 0,
    told: Calibration | None = None,
) -> Prediction:
    """Predict the time of the network in FP16 for one picture.

    Args:
        card: The card.
        width: Of the picture, in pixels.
        height: Of the picture, in pixels.
        backend: The name of a row of BACKENDS instead of the one that would run.
        shared_kb: Shared memory of a multiprocessor that blocks share, in KB, where less than the
            card's is to be used; 0 for all of it.
        told: The calibration; the program's by default.

    Raises:
        ValueError: The native network does not run on the card.
    """
    told = told or calibration()
    backend = backend or backend_for(card, told)
    constants, resources = told.constants[path_of(backend)], told.resources
    launches = work(backend, told.traits, width, height, card.multiprocessors)
    shared_bytes = (shared_kb or card.shared_kb + 1) * 1024
    times: dict[str, float] = {}
    for launch in launches:
        resident = 1
        if path_of(backend) == "general":
            resident = resident_blocks(launch, resources[launch.kernel], shared_bytes)
        times[launch.layer] = layer_ms(
            launch, card, constants, resident, tensor_rate(card, backend)
        )
    return Prediction(backend, times)


def tensor_rate(card: Card, backend: str) -> float:
    """Multiply-adds per clock and multiprocessor that a backend's instructions can reach."""
    share = 1.0 if path_of(backend) == "hopper" else MMA_SYNC_SHARE.get(card.capability, 1.0)
    return card.tensor_rate * share


def resident_blocks(launch: Work, resources: Resources, shared_bytes: int) -> int:
    """How many blocks of a layer a multiprocessor holds at once, at least one.

    Args:
        launch: The layer.
        resources: Of its kernel.
        shared_bytes: That the multiprocessor's blocks share.
    """
    of_block = launch.shared_bytes + resources.static_shared_bytes + RESERVED_SHARED_BYTES
    registers = -(-resources.registers // REGISTER_UNIT) * REGISTER_UNIT * launch.threads
    return max(1, min(shared_bytes // of_block, REGISTERS // registers))


def layer_ms(launch: Work, card: Card, constants: Constants, resident: int, rate: float) -> float:
    """The time of one layer, in milliseconds.

    Args:
        launch: The layer.
        card: Where it runs.
        constants: Of its path.
        resident: Blocks that a multiprocessor holds at once.
        rate: Of the tensor cores, in multiply-adds per clock and multiprocessor.
    """
    rounds = -(-launch.blocks // card.multiprocessors)
    tensor = launch.products / rate
    beside = (
        launch.products * constants.product_clocks + launch.elements * constants.element_clocks
    ) / 1024
    together = min(resident, rounds)
    hidden = constants.overlap * (1 - 1 / together)
    clocks = rounds * max(tensor, (tensor + beside) * (1 - hidden))
    # What the layer before has just written is read from the cache where it fits.
    cached = launch.bytes_in <= card.l2_mb * 2**20 / 2
    moved = launch.bytes_out + (0 if cached else launch.bytes_in)
    us = max(
        clocks / card.clock_mhz,
        moved / (card.bandwidth_gb_s * 1e3 * constants.bandwidth_share),
    )
    return (constants.launch_us + us) / 1e3


def to_json(constants: Mapping[str, Constants]) -> dict[str, dict[str, float]]:
    """The constants as calibration.json and the reports hold them."""
    return {name: asdict(row) for name, row in constants.items()}
