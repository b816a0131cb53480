"""The step of the engine that chooses weights, precision, sizes, texture and bands of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from app.engine.adaptation import Adaptation, PrecisionFallback, Variant
from app.engine.config import EngineConfig
from app.engine.engine.faults import EngineError
from app.engine.engine.webgpu import WebGpuUse
from app.engine.inferred import Inferred
from app.engine.network_pool import NetworkPool
from app.engine.process_mode import ProcessMode
from app.engine.style_weights import StyleWeights
from app.frame import Frame
from models.webgpu_devices import host_of, is_webgpu
from utils.translation.joints import clauses
from utils.translation.texts import tr


class Preparation:
    """The choices for each frame, from earlier frames' times and results. Not thread-safe."""

    def __init__(
        self,
        style_weights: StyleWeights,
        networks: NetworkPool,
        adaptation: Adaptation,
        on_notice: Callable[[str], None],
        webgpu: WebGpuUse,
    ) -> None:
        self._webgpu = webgpu
        self._style_weights, self._networks = style_weights, networks
        self._adaptation, self._on_notice = adaptation, on_notice
        self._fallback = PrecisionFallback()

    def choose(
        self, frame: Frame, config: EngineConfig, mode: ProcessMode, device: torch.device
    ) -> Inferred:
        """Return the choices for a frame. Its device is the CPU if its GPU does not paint it.

        Raises:
            EngineError: If the frame needs bands of rows, in which another runtime cannot compute.
        """
        inferred = self._choose(frame, config, mode, device)
        if not (reason := self._webgpu.refusal(inferred)):
            return inferred
        return replace(self._choose(frame, config, mode, host_of(device)), elsewhere=reason)

    def _choose(
        self, frame: Frame, config: EngineConfig, mode: ProcessMode, device: torch.device
    ) -> Inferred:
        family = self._style_weights.family
        precision = self._fallback.current(config, device)
        precision = family.computed(config.kernels, precision, device, slow=config.compare)
        variant = Variant(config.kernels, precision, device, family.key)
        unavailable = self._style_weights.lite_unavailable_reason
        lite = self._adaptation.use_lite(variant, config, frame, mode, unavailable)
        active = self._style_weights.active(lite=lite)
        sizes = self._adaptation.sizes(variant, config, frame, mode, lite=lite)
        texture = config.texture_or(self._style_weights.texture(moving=mode.has_history))
        strokes = self._style_weights.strokes(moving=mode.has_history)
        comb = config.comb_or(*strokes) if texture > 0 else None
        bands = ""
        if not config.compare and not is_webgpu(device):
            bands = self._networks.bands_reason(family, precision, device, sizes.detail)
        if bands and (runtime := family.variant(config.kernels).runtime):
            refusal = tr("{runtime} cannot compute in bands of rows", runtime=runtime.title)
            raise EngineError(clauses((refusal, bands)))
        return Inferred(
            frame,
            config,
            mode,
            device,
            precision,
            active,
            sizes,
            texture,
            (),
            (),
            {},
            0.0,
            bands,
            comb=comb,
        )

    def step_down(self, inferred: Inferred) -> bool:
        """Use a safer precision from now on if the network's output is broken.

        Return True if the frame must be computed again.
        """
        precision, pixels = inferred.precision, inferred.frame.pixels
        broken = inferred.rendering.broken and pixels.min() < pixels.max()
        if not broken or precision.safer is None:
            return False
        safer = self._fallback.step_down(inferred.config, inferred.device, precision)
        self._on_notice(
            tr(
                "{precision} gave a broken picture with {style}; using {safer}",
                precision=precision.title,
                style=inferred.active.label,
                safer=safer.title,
            )
        )
        return True
