"""Finds the fastest tiles and sums of a network on a GPU in small steps, and keeps them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.network.tuned import tuned_folder
from kernels.network.webgpu import kept_tiles
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.tuning import Tuner
from models.network_config import NetworkConfig
from models.precision import Precision
from models.webgpu_devices import adapter_of, opened

log = logging.getLogger(__name__)


def untuned(shape: NetworkConfig, precision: Precision) -> Network:
    """Return a network in FP32 or FP16 with the default tiles."""
    return Network.of(shape, half=precision is Precision.fp16)


def network_for(shape: NetworkConfig, device: torch.device, precision: Precision) -> Network:
    """Return a network with the tiles and sums that were kept for a GPU, or else the defaults."""
    network = untuned(shape, precision)
    kept = kept_tiles.read(tuned_folder(), adapter_of(device), network)
    if kept.reason:
        log.warning("%s", kept.reason)
    return kept.network or network


def is_tuned(shape: NetworkConfig, device: torch.device, precision: Precision) -> bool:
    """Return whether tiles were kept for a network on a GPU."""
    network = untuned(shape, precision)
    return kept_tiles.read(tuned_folder(), adapter_of(device), network).network is not None


class TileTuning:
    """The search for the fastest tiles of a network, for pictures of one size."""

    def __init__(
        self,
        shape: NetworkConfig,
        device: torch.device,
        precision: Precision,
        state: Mapping[str, Tensor],
        size: tuple[int, int],
    ) -> None:
        """Take a network, a GPU, and a style's weights, which the search copies.

        Raises:
            WebGpuError: If the GPU cannot be opened.
        """
        self._adapter = adapter_of(device)
        network = untuned(shape, precision)
        copied = {name: weight.clone() for name, weight in state.items()}
        self._tuner = Tuner(opened(device), network, copied, size)
        self._steps = self._tuner.steps()

    def step(self) -> bool:
        """Work for some milliseconds; return whether there is more to do. The last step keeps.

        Raises:
            WebGpuError: If the GPU fails.
            OSError: If the tiles cannot be written.
        """
        if next(self._steps, None) is not None:
            return True
        kept_tiles.write(tuned_folder(), self._adapter, self._tuner.network)
        return False
