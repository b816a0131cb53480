"""Choices that the engine adapts by itself: a safer precision, a faster network, input sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch

from app.engine.config import EngineConfig
from app.engine.network_selector import NetworkSelector
from app.engine.process_mode import ProcessMode
from app.engine.resolution import (
    LEAST_FULL,
    LEAST_LITE,
    AdaptiveResolution,
    Sizes,
    long_side,
    still_sizes,
    stroke_size,
)
from app.frame import Frame
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import Precision
from utils.translation.texts import tr


class Variant(NamedTuple):
    """The conditions that must be equal for measurements to be comparable."""

    kernels: str  # a key of ALL_VARIANTS
    precision: Precision
    device: torch.device
    family: str = FEED_FORWARD  # a key of FAMILIES


class Adaptation:
    """The selectors and resolutions of every variant, and their choices for each frame.

    Args:
        budget_ms: The capture-to-paint time that the automatic size aims at.
        on_notice: Called with one sentence when a stream first changes to the lite network.

    Attributes:
        compiling: Whether kernels are being compiled, which slows everything else down.
    """

    def __init__(self, budget_ms: float, on_notice: Callable[[str], None]) -> None:
        self.held = False
        self.compiling = False
        self._budget_ms = budget_ms
        self._on_notice = on_notice
        self._lite_announced = False
        self._selectors: dict[Variant, NetworkSelector] = {}
        # By variant, lite and strokes.
        self._resolutions: dict[tuple[Variant, bool, str], AdaptiveResolution] = {}

    def compile_kernels(self, compiling: bool) -> None:
        """Set `compiling`; when it ends, discard the measurements taken meanwhile."""
        if self.compiling and not compiling:
            self._selectors.clear()
            for resolution in self._resolutions.values():
                resolution.reset_measurements()
        self.compiling = compiling

    def set_overhead(self, overhead_ms: float) -> None:
        """Set the capture-to-paint time spent outside the engine."""
        for resolution in self._resolutions.values():
            resolution.overhead_ms = overhead_ms

    def use_lite(
        self,
        variant: Variant,
        config: EngineConfig,
        frame: Frame,
        mode: ProcessMode,
        unavailable: str,
    ) -> bool:
        """Decide whether the lite network styles a frame.

        Args:
            config: With `network` "auto", streams choose the network automatically.
            unavailable: Why there is no lite network; "" if there is one.
        """
        if config.network != "auto" or mode is not ProcessMode.LIVE:
            return config.network == "lite" and not unavailable
        selector = self._selector(variant)
        # In a comparison two networks share the machine, so neither time represents a stream.
        if not config.compare and not self.held:
            at = long_side(config, frame.width, frame.height)
            # A GPU that CUDA reaches shows its paintings as they come.
            fluid = config.fluid and variant.device.type != "cuda"
            selector.decide(frame.width, frame.height, at, fluid=fluid)
        if unavailable:
            return False
        if selector.lite and not self._lite_announced and not self.compiling:
            self._lite_announced = True  # once; from then on the status line shows it
            self._on_notice(
                tr(
                    "Using the fast version of this style to keep the video smooth ({rate} "
                    "otherwise)",
                    rate=selector.rate,
                )
            )
        return selector.lite

    def too_slow(self, variant: Variant) -> str:
        """Return why the full network is too slow for a stream, as a clause; "" if fast enough."""
        return self._selector(variant).remark

    def sizes(
        self, variant: Variant, config: EngineConfig, frame: Frame, mode: ProcessMode, *, lite: bool
    ) -> Sizes:
        """Choose the sizes of the network's input for a frame; see `use_lite` for the arguments."""
        still = still_sizes(config, frame.width, frame.height)
        if config.size is not None or mode.refines:
            return still
        resolution = self._resolution(variant, config, lite=lite)
        if mode is ProcessMode.SINGLE and not config.compare:
            return resolution.first(frame.width, frame.height, still)
        hold = self.held or (config.compare and resolution.streamed)
        return resolution.live(frame.width, frame.height, hold=hold)

    def record(
        self,
        variant: Variant,
        config: EngineConfig,
        mode: ProcessMode,
        sizes: Sizes,
        *,
        network_ms: float,
        around_ms: float,
        lite: bool,
    ) -> None:
        """Record the times of a frame; `around_ms` is the time of scaling and blending."""
        resolution = self._resolution(variant, config, lite=lite)
        # A comparison keeps the size of the preceding stream. Without a stream, the size depends on
        # the time of the network that would run alone.
        if not (config.compare and resolution.streamed):
            resolution.measured(sizes, network_ms)
            resolution.blend_ms = around_ms
            resolution.streamed = not config.compare
        if mode is ProcessMode.LIVE and not config.compare:
            self._selector(variant).measured(lite, sizes, network_ms, around_ms)

    def _selector(self, variant: Variant) -> NetworkSelector:
        if variant not in self._selectors:
            self._selectors[variant] = NetworkSelector()
        return self._selectors[variant]

    def _resolution(
        self, variant: Variant, config: EngineConfig, *, lite: bool
    ) -> AdaptiveResolution:
        key = (variant, lite, config.strokes)
        if key not in self._resolutions:
            # The lite network is used for the frame rate, so its size has to sustain that rate.
            interval_ms = 1000 / FAMILIES[variant.family].lite_fps if lite else math.inf
            least = LEAST_LITE if lite else LEAST_FULL
            self._resolutions[key] = AdaptiveResolution(
                self._budget_ms, interval_ms, stroke_size(config.strokes), least
            )
        return self._resolutions[key]


class PrecisionFallback:
    """Safer replacements of broken precisions, per style, mix, precision and device."""

    def __init__(self) -> None:
        self._replaced: dict[Hashable, Precision] = {}

    def current(self, config: EngineConfig, device: torch.device) -> Precision:
        """Return the precision to compute in: the config's, or its replacement."""
        return self._replaced.get(_key(config, device), config.precision)

    def step_down(self, config: EngineConfig, device: torch.device, broken: Precision) -> Precision:
        """Replace the precision `broken` from now on; return the next safer one.

        `broken` may itself be a replacement.

        Raises:
            ValueError: If `broken` is FP32, which has no safer precision.
        """
        if broken.safer is None:
            raise ValueError(f"there is no safer precision than {broken.title}")
        self._replaced[_key(config, device)] = broken.safer
        return broken.safer


def _key(config: EngineConfig, device: torch.device) -> Hashable:
    return config.styles, config.precision, device
