"""Says what really runs, and why not something faster."""

from __future__ import annotations

import torch

from app.engine.config import EngineConfig
from app.engine.result import RunInfo
from app.engine.style_weights import ActiveWeights
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import cuda_unavailable_reason, title


def run_info(
    config: EngineConfig,
    device: torch.device,
    precision: Precision,
    active: ActiveWeights,
    network_reason: str,
) -> RunInfo:
    """What runs where `config` was asked for.

    Args:
        precision: what is computed in, which may differ from the one asked for.
        active: the weights in use.
        network_reason: why the full or the lite network runs, see `network_reason`.
    """
    limitations = [network_reason]
    if device.type == "cpu" and config.device == "auto":
        limitations.append(cuda_unavailable_reason())
    variant = VARIANTS[config.kernels]
    limitations += variant.limitations(device, precision.value.dtype, active.shape)
    if precision is not config.precision:
        limitations.append(f"{config.precision.title} gave a broken picture")
    else:
        limitations.append(precision.remark(device))
    return RunInfo(
        variant.title,
        precision,
        title(device),
        tuple(filter(None, limitations)),
        active.words,
        config.mix not in (None, config.style),
        active.lite,
    )


def network_reason(
    config: EngineConfig, *, lite: bool, too_slow: str, lite_unavailable: str, compiling: bool
) -> str:
    """Why the network is lite although nobody asked, or full although it should not be; "" where
    it is what was asked for.

    Args:
        lite: whether the lite network runs.
        too_slow: why the automatic choice wants the lite one; "" where it does not.
        lite_unavailable: why there is no lite network; "" where there is one.
        compiling: whether kernels are being compiled, which slows everything else.
    """
    if config.network == "lite":
        return "" if lite else lite_unavailable
    if config.network != "auto" or not too_slow:
        return ""
    reason = "kernels are being compiled" if compiling else too_slow
    if lite:
        return reason
    return f"{reason}, and {lite_unavailable}" if lite_unavailable else ""
