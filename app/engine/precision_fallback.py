"""Replaces a precision that gives broken pictures by the next safer one."""

from __future__ import annotations

from collections.abc import Hashable

import torch

from app.engine.config import EngineConfig
from models.precision import Precision


class PrecisionFallback:
    """Remembers which precisions failed; a config that names another one starts afresh."""

    def __init__(self) -> None:
        self._replaced: dict[Hashable, Precision] = {}

    def current(self, config: EngineConfig, device: torch.device) -> Precision:
        """What to compute in: the precision of `config`, or what it was replaced by."""
        return self._replaced.get(_key(config, device), config.precision)

    def step_down(self, config: EngineConfig, device: torch.device, broken: Precision) -> Precision:
        """The precision that replaces `broken` from now on. Raises ValueError for FP32."""
        if broken.safer is None:
            raise ValueError(f"there is no safer precision than {broken.title}")
        self._replaced[_key(config, device)] = broken.safer
        return broken.safer


def _key(config: EngineConfig, device: torch.device) -> Hashable:
    return config.style, config.mix, config.precision, device
