"""The figures of GPUs that decide the network's time through WebGPU, from webgpu_cards.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("webgpu_cards.toml")


@dataclass(frozen=True, slots=True)
class GpuCard:
    """A kind of GPU; webgpu_cards.toml describes the figures."""

    name: str
    adapter: str
    fp32_tflops: float
    bandwidth_gb_s: float
    source: str

    @property
    def products_per_ms(self) -> float:
        """FP32 multiply-adds in a millisecond."""
        return self.fp32_tflops * 1e12 / 2 / 1e3

    @property
    def bytes_per_ms(self) -> float:
        return self.bandwidth_gb_s * 1e9 / 1e3


@cache
def gpu_cards() -> tuple[GpuCard, ...]:
    return tuple(GpuCard(**row) for row in tomllib.loads(FILE.read_text("utf-8"))["card"])


def card_of_adapter(name: str) -> GpuCard | None:
    """Return the kind of a GPU by the name that its driver reports, or None if it is unknown."""
    found = (card for card in gpu_cards() if re.search(card.adapter, name, re.IGNORECASE))
    return next(found, None)
