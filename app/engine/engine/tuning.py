"""Tunes the tiles of the network that paints on a GPU, between frames."""

from __future__ import annotations

import torch

from app.engine.inferred import Inferred
from models.network_config import NetworkConfig
from models.webgpu.tuning import TileTuning, is_tuned
from models.webgpu_devices import is_webgpu


class Tuning:
    """The tuning of the newest network that WebGPU ran at its size. Not thread-safe.

    The tuning of another network begins after the one under way has ended.
    """

    def __init__(self) -> None:
        self._newest: Inferred | None = None
        self._under_way: TileTuning | None = None
        self._device = torch.device("cpu")

    def painted(self, inferred: Inferred) -> None:
        """Note a frame that is painted."""
        if is_webgpu(inferred.device):
            self._newest = inferred

    @property
    def device(self) -> torch.device:
        """The GPU of the tuning under way."""
        return self._device

    def step(self) -> bool | None:
        """Work for some milliseconds.

        Returns:
            True if there is more to do, False after the last step, which kept the tiles; None if
            there is nothing to tune.

        Raises:
            WebGpuError: If the GPU fails.
            OSError: If the tiles cannot be written.
        """
        if self._under_way is None and not self._begin():
            return None
        assert self._under_way is not None
        try:
            more = self._under_way.step()
        except BaseException:
            self._under_way = None
            raise
        if not more:
            self._under_way = None
        return more

    def _begin(self) -> bool:
        newest, self._newest = self._newest, None
        if newest is None:
            return False
        network, device, precision = newest.active.network, newest.device, newest.precision
        assert isinstance(network, NetworkConfig)
        if is_tuned(network, device, precision):
            return False
        self._device = device
        self._under_way = TileTuning(
            network, device, precision, newest.active.state, newest.sizes.detail
        )
        return True
