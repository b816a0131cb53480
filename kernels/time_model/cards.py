"""NVIDIA's GPUs and the figures that decide the network's time, from cards.toml or the driver."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

from kernels.driver.driver import (
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    Driver,
)
from kernels.network.gpu import Gpu

FILE = Path(__file__).with_name("cards.toml")

# By major compute capability, for cards not in the table: dense FP16 multiply-adds with FP32
# accumulation, per clock and multiprocessor. If there are two rates, GeForce's.
_TENSOR_RATES = {9: 2048}
_LEAST_TENSOR_RATE = 256


@dataclass(frozen=True, slots=True)
class Card:
    """A kind of GPU; cards.toml describes the figures, and `origin` says where they come from.

    Attributes:
        bandwidth_gb_s: Memory bandwidth.
        l2_mb: Second-level cache.
        shared_kb: The maximum shared memory of a block.
        tensor_rate: Dense FP16 multiply-adds per clock and multiprocessor.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    clock_mhz: float
    bandwidth_gb_s: float
    l2_mb: float
    shared_kb: int
    tensor_rate: int
    origin: str = "NVIDIA's published specifications"

    @property
    def gpu(self) -> Gpu:
        """The properties that decide which backend runs the network, and how."""
        of_multiprocessor = self.shared_kb + 1  # CUDA reserves 1 KB for each block
        return Gpu(
            self.capability, self.shared_kb * 1024, of_multiprocessor * 1024, self.multiprocessors
        )

    def part(self, multiprocessors: int, shared_kb: int = 0) -> Card:
        """Return the card that a part of this one represents; 0 KB for all its shared memory."""
        of_block = shared_kb - 1 if shared_kb else self.shared_kb
        return replace(self, multiprocessors=multiprocessors, shared_kb=of_block)

    @property
    def short_name(self) -> str:
        """The name without maker and brand: "RTX 3060"."""
        return self.name.removeprefix("NVIDIA ").removeprefix("GeForce ")


@cache
def cards() -> tuple[Card, ...]:
    rows = tomllib.loads(FILE.read_text("utf-8"))["card"]
    return tuple(Card(**row | {"capability": _pair(row["capability"])}) for row in rows)


def find(name: str) -> Card:
    """Find a card by its name in any case; "NVIDIA" and "GeForce" are optional.

    Raises:
        ValueError: If the table lacks the card. The message names similar cards.
    """
    wanted = name.strip().casefold()
    for card in cards():
        if wanted in (card.name.casefold(), card.short_name.casefold()):
            return card
    similar = [card.short_name for card in cards() if wanted and wanted in card.name.casefold()]
    known = ", ".join(similar or [card.short_name for card in cards()])
    raise ValueError(f"the table has no card '{name}'; it has {known}")


def card_of(device: torch.device, driver: Driver | None = None) -> Card:
    """Return the description of the card that `device` names.

    Multiprocessors and shared memory come from the driver, because cards of one name can differ. If
    the table has no row for the card, clock and memory come from the driver as well, and the
    compute capability decides the tensor cores' rate; `origin` says so.

    Raises:
        ValueError: If neither table nor driver has the clocks.
        BuildError: If there is no driver to ask.
    """
    gpu = Gpu.of(device)
    name, shared_kb = torch.cuda.get_device_name(device), gpu.shared_bytes // 1024
    for card in cards():
        if (card.name, card.capability) != (name, gpu.capability):
            continue
        origin = card.origin
        if card.multiprocessors != gpu.multiprocessors:
            origin += f", with the driver's {gpu.multiprocessors} multiprocessors"
        return replace(
            card, multiprocessors=gpu.multiprocessors, shared_kb=shared_kb, origin=origin
        )
    driver = driver or Driver()
    index = device.index if str(device) != device.type else torch.cuda.current_device()
    khz, memory_khz, bus_bits, l2_bytes = (
        driver.attribute(attribute, index)
        for attribute in (
            CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
            CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
            CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
            CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
        )
    )
    if not (khz and memory_khz and bus_bits):
        raise ValueError(f"{name} is not in the table, and the driver does not report its clocks")
    rate = _TENSOR_RATES.get(gpu.capability[0], _LEAST_TENSOR_RATE)
    return Card(
        name,
        gpu.capability,
        gpu.multiprocessors,
        khz / 1e3,
        2 * memory_khz * bus_bits / 8 / 1e6,  # two transfers per clock
        l2_bytes / 2**20,
        shared_kb,
        rate,
        "what the driver tells, for the card is not in the table; "
        f"{rate} multiply-adds per clock and multiprocessor are assumed",
    )


def _pair(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
