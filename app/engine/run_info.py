"""The description of what runs, and why nothing faster does."""

from __future__ import annotations

import torch

from app.engine.config import EngineConfig
from app.engine.painting_devices import painting_title
from app.engine.result import RunInfo
from app.engine.style_weights import ActiveWeights
from app.engine.webgpu_rates import why_not
from kernels.frames import native_smoothing
from kernels.jit import build
from models.precision import Precision
from utils.devices import cuda_unavailable_reason
from utils.translation.texts import tr


class LatestRunInfo:
    """A cache of the latest RunInfo, renewed if an input of `run_info` changes. Not thread-safe."""

    def __init__(self) -> None:
        self._read: tuple[object, ...] = ()
        self._info: RunInfo | None = None

    def get(
        self,
        config: EngineConfig,
        device: torch.device,
        precision: Precision,
        active: ActiveWeights,
        reasons: tuple[str, ...],
    ) -> RunInfo:
        read = (config, device, precision, active, reasons, build.reasons(), why_not())
        if self._info is None or read != self._read:
            self._info = run_info(config, device, precision, active, reasons)
            self._read = read
        return self._info


def run_info(
    config: EngineConfig,
    device: torch.device,
    precision: Precision,
    active: ActiveWeights,
    reasons: tuple[str, ...],
) -> RunInfo:
    """Describe what runs in `precision`, which may differ from the config's."""
    limitations = list(reasons)
    family = active.family
    runtime = family.variant(config.kernels).runtime
    if device.type == "cpu" and config.device == "auto" and runtime is None:
        limitations += cuda_unavailable_reason(), why_not()
    limitations += family.limitations(config.kernels, device, precision, active.network)
    if device.type == "cpu" and config.smoothing:
        limitations.append(native_smoothing.unavailable_reason())
    if precision is not config.precision:
        refusal = family.refusal(config.kernels, config.precision, device)
        broken = tr("{precision} gave a broken picture", precision=config.precision.title)
        limitations.append(tr(refusal) or broken)
    elif runtime is None:
        limitations.append(tr(precision.remark(device)))
    limitations += active.remarks
    return RunInfo(
        family.variant(config.kernels).title,
        precision,
        painting_title(device) if runtime is None else runtime.device_title(),
        tuple(filter(None, limitations)),
        active.label,
        len(config.styles) > 1,
        active.lite,
        family.describe(active.network),
    )


def network_reason(
    config: EngineConfig, *, lite: bool, too_slow: str, lite_unavailable: str, compiling: bool
) -> str:
    """Return why a network runs that the user did not choose, as a clause; else ""."""
    if config.network == "lite":
        return "" if lite else lite_unavailable
    if config.network != "auto" or not too_slow:
        return ""
    reason = tr("kernels are being compiled") if compiling else too_slow
    if lite:
        return reason
    if not lite_unavailable:
        return ""
    return tr("{reason}, and {other}", reason=reason, other=lite_unavailable)
