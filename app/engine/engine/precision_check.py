"""The check for commands: a precision that the user asks for by name must be offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from app.engine.config import EngineConfig
from app.engine.engine.faults import EngineError
from kernels.table.registry import prepare
from models.families.family import NetworkFamily
from models.precision import Precision
from utils.translation.texts import tr


def check_precision(
    config: EngineConfig, families: Sequence[NetworkFamily[Any]], device: torch.device
) -> None:
    """Raise EngineError with the reason if no family offers the config's precision on `device`.

    `Engine.configure` accepts such a config, as stored settings may have it, and computes in FP32.
    If BF16 has to be measured, the kernels are loaded first, and compiled if they are missing.
    """
    precision = config.precision
    if precision is Precision.bf16 and device.type == "cpu" and not precision.refusal(device):
        for operations in dict.fromkeys(name for family in families for name in family.operations):
            prepare(family=operations)
    refusals = [family.refusal(config.kernels, precision, device) for family in families]
    if all(refusals):
        raise EngineError(tr(refusals[0]))
