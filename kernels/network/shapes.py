"""The dimensions of networks, and the networks that have their own kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Dimensions(Protocol):
    """The sizes that decide which kernels run a network, and how often.

    `widths` are the channels at full, half and quarter size, `end_kernel` an end kernel's side.
    """

    @property
    def num_residual_blocks(self) -> int: ...

    @property
    def widths(self) -> tuple[int, int, int]: ...

    @property
    def end_kernel(self) -> int: ...


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """Plain values for Dimensions."""

    widths: tuple[int, int, int]
    end_kernel: int
    num_residual_blocks: int = 5


FULL, LITE = NetworkShape((32, 64, 128), 9), NetworkShape((16, 32, 48), 5)

# Keyed by the library's names.
WITH_KERNELS = {"full": FULL, "lite": LITE}


def name_of(network: Dimensions) -> str:
    """Return the name of the kernels for a network with any number of blocks; "" if none."""
    for name, shape in WITH_KERNELS.items():
        if (network.widths, network.end_kernel) == (shape.widths, shape.end_kernel):
            return name
    return ""
