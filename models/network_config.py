"""The dimensions of a transformer network, and the two configurations that we train."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from utils.translation.texts import tr, trn

MAX_RESIDUAL_BLOCKS = 10
MAX_WIDTH = 4096  # channels; the widest network published has 128


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The dimensions of a transformer network; the defaults are from Johnson et al. 2016.

    Residual blocks are 1 to MAX_RESIDUAL_BLOCKS; `widths`, the channels at full, half and quarter
    resolution, 1 to MAX_WIDTH; `end_kernel`, the first and last convolution's side, odd, 1 to 15.
    Otherwise it raises ValueError.
    """

    num_residual_blocks: int = 5
    widths: tuple[int, int, int] = (32, 64, 128)
    end_kernel: int = 9

    def __post_init__(self) -> None:
        if not 1 <= self.num_residual_blocks <= MAX_RESIDUAL_BLOCKS:
            raise ValueError(
                f"expected 1 to {MAX_RESIDUAL_BLOCKS} residual blocks, "
                f"got {self.num_residual_blocks}"
            )
        if len(self.widths) != 3 or not all(1 <= width <= MAX_WIDTH for width in self.widths):
            raise ValueError(
                f"expected three widths of 1 to {MAX_WIDTH} channels, got {self.widths}"
            )
        if self.end_kernel % 2 == 0 or not 1 <= self.end_kernel <= 15:
            raise ValueError(f"expected an odd end kernel from 1 to 15, got {self.end_kernel}")

    def __str__(self) -> str:
        count = self.num_residual_blocks
        return tr(
            "{blocks}, {widths} channels and a first kernel of {n}",
            blocks=trn("{n} residual block", "{n} residual blocks", count),
            widths="/".join(map(str, self.widths)),
            n=self.end_kernel,
        )

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Map each key of the published state dict to the shape of its parameter, in order."""
        outer, middle, inner = self.widths
        shapes: dict[str, tuple[int, ...]] = {}

        def conv(name: str, out_channels: int, in_channels: int, kernel: int = 3) -> None:
            shapes[f"{name}.conv2d.weight"] = (out_channels, in_channels, kernel, kernel)
            shapes[f"{name}.conv2d.bias"] = (out_channels,)

        def norm(name: str, channels: int) -> None:
            shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (channels,)

        conv("conv1", outer, 3, self.end_kernel)
        norm("in1", outer)
        conv("conv2", middle, outer)
        norm("in2", middle)
        conv("conv3", inner, middle)
        norm("in3", inner)
        for number in range(1, self.num_residual_blocks + 1):
            for part in (1, 2):
                conv(f"res{number}.conv{part}", inner, inner)
                norm(f"res{number}.in{part}", inner)
        conv("deconv1", middle, inner)
        norm("in4", middle)
        conv("deconv2", outer, middle)
        norm("in5", outer)
        conv("deconv3", 3, outer, self.end_kernel)
        return shapes

    def multiply_adds(self, width: int, height: int) -> int:
        """Count the multiply-adds of the convolutions as published."""
        outer, middle, inner = self.widths
        end = self.end_kernel**2 * 3 * outer
        halves = 9 * outer * middle  # per pixel of conv2 (at half size) and deconv2 (at full size)
        quarters = 9 * middle * inner
        residual = 9 * inner * inner * 2 * self.num_residual_blocks
        sixteenths = 16 * (2 * end + halves) + 4 * (halves + quarters) + quarters + residual
        return sixteenths * width * height // 16


FULL = NetworkConfig()
LITE = NetworkConfig(widths=(16, 32, 48), end_kernel=5)

# Keyed by the names that users choose.
CONFIGS: dict[str, NetworkConfig] = {"full": FULL, "lite": LITE}


def network_config(state: Mapping[str, Tensor]) -> NetworkConfig:
    """Infer a network's dimensions from its published state dict.

    Raises:
        ValueError: If the state is not a transformation network's.
    """
    try:
        first, second, third = (state[f"conv{n}.conv2d.weight"] for n in (1, 2, 3))
        widths = (first.shape[0], second.shape[0], third.shape[0])
        return NetworkConfig(num_residual_blocks(state), widths, first.shape[-1])
    except (KeyError, AttributeError, IndexError) as exc:
        raise ValueError(tr("these are not the weights of a transformer network")) from exc


def num_residual_blocks(state: Mapping[str, Tensor]) -> int:
    return max(
        (int(m[1]) for m in (re.match(r"res(\d{1,9})\.", key) for key in state) if m), default=0
    )
