"""Turns a frame into a styled frame. Knows PyTorch; knows nothing of Qt."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from app.engine.blending import Pixels, blend, fit_to, join_bands
from app.engine.comparison import Comparer
from app.engine.config import EngineConfig, same_network
from app.engine.guided_upsampling import GuidedUpsampler
from app.engine.network_pool import NetworkPool, Rendering
from app.engine.network_selector import LEAST_FPS, NetworkSelector
from app.engine.precision_fallback import PrecisionFallback
from app.engine.process_mode import ProcessMode
from app.engine.resolution import AdaptiveResolution, Sizes, long_side, requested_sizes
from app.engine.result import Comparison, RunInfo, StyledFrame, Timings
from app.engine.run_info import network_reason, run_info
from app.engine.style_weights import ActiveWeights, StyleWeights
from app.engine.temporal_smoothing import TemporalSmoother
from app.errors import StyleForgeError
from app.frame import Frame
from app.options import STROKE_SIZE, STROKES
from app.parameters import CHOICES
from app.styles.library import Library
from app.styles.pack import StyleError
from models.checkpoints import CheckpointError
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import resolve, title
from utils.opencv import cv2

log = logging.getLogger(__name__)

SIZES = (None, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1920)


class EngineError(StyleForgeError):
    """The engine cannot do what its config asks for."""


@dataclass(frozen=True, slots=True, eq=False)
class Inferred:
    """What the networks made of a frame; `Engine.finish` makes the result of it."""

    frame: Frame
    config: EngineConfig
    mode: ProcessMode
    precision: Precision
    active: ActiveWeights
    sizes: Sizes
    inputs: tuple[Pixels, ...]  # of each size; the larger first
    renderings: dict[str, Rendering]  # by kernels
    resize_ms: float

    @property
    def rendering(self) -> Rendering:
        """Of the network that was asked for."""
        return self.renderings[self.config.kernels]


class Engine:
    """One owner, one thread: configure, then `infer` and `finish` frame after frame.

    `on_notice` is called with one sentence when the engine changes its ways by itself.
    """

    def __init__(
        self,
        library: Library,
        on_notice: Callable[[str], None] = log.info,
        budget_ms: float = 150.0,
    ) -> None:
        self._on_notice = on_notice
        self._budget_ms = budget_ms
        self._config: EngineConfig | None = None
        self._style_weights = StyleWeights(library)
        self._device = torch.device("cpu")
        self._networks = NetworkPool()
        self._resolutions: dict[Hashable, AdaptiveResolution] = {}
        self._selectors: dict[Hashable, NetworkSelector] = {}
        self._fallback = PrecisionFallback()
        self._comparer = Comparer()
        self._told_of_lite = False
        self._compiling = False
        self._held = False
        self._resized = self._resized_for_strokes = np.empty((0, 0, 3), np.uint8)
        self._upsampler = GuidedUpsampler()
        self._smoothers: dict[str, TemporalSmoother] = {}  # by kernels
        self._smoothed: Hashable = None  # the weights of the last frame

    @property
    def config(self) -> EngineConfig | None:
        """The config in force; None before the first configure."""
        return self._config

    def configure(self, config: EngineConfig) -> None:
        """Take effect from the next frame on; raises StyleForgeError and keeps the old config
        where the style, device or kernels are not to be had."""
        try:
            device = resolve(config.device)
        except ValueError as exc:
            raise EngineError(str(exc)) from exc
        for what, known in {"kernels": VARIANTS, **CHOICES}.items():
            if (name := getattr(config, what)) not in known:
                raise EngineError(f"there are no {what} '{name}', only {', '.join(known)}")
        try:
            self._style_weights.choose(config)
        except (OSError, CheckpointError, StyleError) as exc:
            raise EngineError(str(exc)) from exc
        if self._config is not None and not same_network(config, self._config):
            self.reset_history()
        self._config, self._device = config, device

    def reset_history(self) -> None:
        """The next frame does not continue the last: another source, a seek."""
        self._smoothers.clear()

    def compile_kernels(self, compiling: bool) -> None:
        """Whether kernels are being compiled. What is measured meanwhile is of other kernels on
        a busy machine: it steers the stream until they are there, is not told, and is then
        forgotten."""
        if self._compiling and not compiling:
            self._selectors.clear()
            for resolution in self._resolutions.values():
                resolution.reset_measurements()
        self._compiling = compiling

    def hold(self, held: bool) -> None:
        """While held (a recording), the automatic size and network stay as they are."""
        self._held = held

    def set_overhead(self, overhead_ms: float) -> None:
        """Tell the automatic size how much of capture-to-paint is spent outside the engine."""
        for resolution in self._resolutions.values():
            resolution.overhead_ms = overhead_ms

    def evict(self, key: str) -> None:
        """Drop what is cached of a style that was removed or replaced."""
        self._style_weights.forget(key)

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        """`infer`, then `finish`, with the config in force."""
        return self.finish(self.infer(frame, mode))

    def infer(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> Inferred:
        """Run the network on a frame, or both networks where they are compared.

        What it gives is valid until the next call. Raises EngineError when memory runs out.
        """
        if self._config is None:
            raise EngineError("no style was chosen yet")
        config = self._config
        with self._reporting_memory(frame):
            while True:
                precision = self._fallback.current(config, self._device)
                inferred = self._infer(frame, config, mode, precision)
                broken = inferred.rendering.broken and frame.pixels.min() < frame.pixels.max()
                if not broken or precision.safer is None:
                    return inferred
                safer = self._fallback.step_down(config, self._device, precision)
                self._on_notice(
                    f"{precision.title} gave a broken picture with {inferred.active.words}; "
                    f"using {safer.title}"
                )

    def finish(self, inferred: Inferred, newest: EngineConfig | None = None) -> StyledFrame:
        """The result, which has the frame's size.

        Where `newest` differs from the config the network ran with only in what follows the
        network, it is what takes effect, so that dragging a slider never shows a stale picture.
        Raises EngineError when memory runs out.
        """
        if newest is not None and same_network(newest, inferred.config):
            self._config = newest
            inferred = replace(inferred, config=newest)
        with self._reporting_memory(inferred.frame):
            return self._finish(inferred)

    def _infer(
        self, frame: Frame, config: EngineConfig, mode: ProcessMode, precision: Precision
    ) -> Inferred:
        lite = self._lite(frame, config, precision, mode)
        active = self._style_weights.active(lite=lite)
        sizes = self._sizes(frame, config, self._resolution(config, precision, lite), mode)
        start = time.perf_counter()
        self._resized = fit_to(frame.pixels, sizes.detail, self._resized)
        inputs = (self._resized,)
        if sizes.strokes != sizes.detail:
            small = fit_to(frame.pixels, sizes.strokes, self._resized_for_strokes)
            self._resized_for_strokes = small
            inputs += (small,)
        resize_ms = (time.perf_counter() - start) * 1e3
        order = self._comparer.order(config.kernels) if config.compare else (config.kernels,)
        renderings = {k: self._render(k, precision, active, inputs) for k in order}
        return Inferred(
            frame, config, mode, precision, active, sizes, inputs, renderings, resize_ms
        )

    def _render(
        self,
        kernels: str,
        precision: Precision,
        active: ActiveWeights,
        inputs: tuple[Pixels, ...],
    ) -> Rendering:
        """One network's picture of its inputs: of two sizes, joined."""
        network = self._networks.get(kernels, precision, self._device, active)
        if len(inputs) == 1:
            return network.render(inputs[0])
        large, small = inputs
        joined = network.render_two(large, (small.shape[1], small.shape[0]))
        if joined is not None:
            return joined
        detail, strokes = network.render(large), network.render(small)
        start = time.perf_counter()
        pixels = join_bands(strokes.pixels, detail.pixels)
        joining = Timings(blend=(time.perf_counter() - start) * 1e3)
        return Rendering(
            pixels,
            detail.timings + strokes.timings + joining,
            detail.broken or strokes.broken,
            detail.raws + strokes.raws,
        )

    def _finish(self, inferred: Inferred) -> StyledFrame:
        frame, config, rendering = inferred.frame, inferred.config, inferred.rendering
        smoothed = inferred.mode.has_history and config.smoothing
        if not smoothed or inferred.active.key != self._smoothed:
            self._smoothers.clear()
        self._smoothed = inferred.active.key
        begun = time.perf_counter()
        pixels = self._blend(inferred, config.kernels)
        blend_ms = (time.perf_counter() - begun) * 1e3
        comparison, comparison_ms = None, 0.0
        if config.compare:
            begun = time.perf_counter()
            comparison = self._compare(inferred, pixels)
            comparison_ms = (time.perf_counter() - begun) * 1e3
            others = (r for kernels, r in inferred.renderings.items() if kernels != config.kernels)
            comparison_ms += sum(other.timings.total for other in others)
        self._learn(inferred, blend_ms)
        timings = rendering.timings + Timings(
            read=frame.read_ms,
            resize=inferred.resize_ms,
            blend=blend_ms,
            comparison=comparison_ms,
        )
        return StyledFrame(
            frame.with_pixels(pixels),
            frame,
            config,
            timings,
            inferred.sizes.detail,
            self._run_info(inferred),
            comparison,
        )

    def _blend(self, inferred: Inferred, kernels: str) -> Pixels:
        """What is shown of one network's picture."""
        config, frame, resized = inferred.config, inferred.frame, inferred.inputs[0]
        pixels = inferred.renderings[kernels].pixels
        if inferred.mode.has_history and config.smoothing:
            smoother = self._smoothers.setdefault(kernels, TemporalSmoother())
            pixels = smoother.smooth(pixels, resized, config.smoothing)
        guided = config.upsampling == "guided"
        pixels = self._upsampler.enlarge(pixels, resized, frame.pixels, guided=guided)
        return blend(pixels, frame.pixels, config.strength, config.keep_colors)

    def _compare(self, inferred: Inferred, pixels: Pixels) -> Comparison:
        config, frame = inferred.config, inferred.frame
        shown = {
            kernels: pixels if kernels == config.kernels else self._blend(inferred, kernels)
            for kernels in inferred.renderings
        }
        precision, active = inferred.precision, inferred.active
        return self._comparer.compare(
            inferred.renderings,
            {
                kernels: self._networks.get(kernels, precision, self._device, active)
                for kernels in inferred.renderings
            },
            inferred.inputs,
            {kernels: frame.with_pixels(shown[kernels]) for kernels in shown},
            precision,
            (self._device, active.shape),
        )

    def _learn(self, inferred: Inferred, blend_ms: float) -> None:
        """What this frame says of the sizes and the network to use."""
        config, precision, active = inferred.config, inferred.precision, inferred.active
        rendering, sizes = inferred.rendering, inferred.sizes
        around_ms = inferred.resize_ms + rendering.timings.blend + blend_ms
        resolution = self._resolution(config, precision, active.lite)
        # A comparison keeps the stream's size; one that began without a stream finds it by what
        # the network takes that would run alone.
        if not (config.compare and resolution.streamed):
            resolution.measured(sizes, rendering.network_ms)
            resolution.blend_ms = around_ms
            resolution.streamed = not config.compare
        if inferred.mode is ProcessMode.LIVE and not config.compare:
            selector = self._selector(config, precision)
            selector.measured(active.lite, sizes, rendering.network_ms, around_ms)

    def _selector(self, config: EngineConfig, precision: Precision) -> NetworkSelector:
        key = (config.kernels, precision, self._device)
        return self._selectors.setdefault(key, NetworkSelector())

    def _lite(
        self, frame: Frame, config: EngineConfig, precision: Precision, mode: ProcessMode
    ) -> bool:
        """Whether to use the lite network: only for streams where nobody asked for it."""
        unavailable = self._style_weights.lite_unavailable_reason
        if config.network != "auto" or mode is not ProcessMode.LIVE:
            return config.network == "lite" and not unavailable
        selector = self._selector(config, precision)
        # Compared, two networks share the machine, which says nothing of either alone.
        if not config.compare and not self._held:
            selector.decide(frame.width, frame.height, long_side(config, frame.width, frame.height))
        if unavailable:
            return False
        if selector.lite and not self._told_of_lite and not self._compiling:
            self._told_of_lite = True  # once; from then on the status line says it
            self._on_notice(f"Changed to the lite network: {selector.remark}")
        return selector.lite

    def _resolution(
        self, config: EngineConfig, precision: Precision, lite: bool
    ) -> AdaptiveResolution:
        key = (config.kernels, precision, self._device, lite, config.strokes)
        if key not in self._resolutions:
            # Who takes the lite network does so for the frame rate.
            interval_ms = 1000 / LEAST_FPS if lite else math.inf
            stroke_size = round(STROKE_SIZE * STROKES[config.strokes].scale)
            resolution = AdaptiveResolution(self._budget_ms, interval_ms, stroke_size)
            self._resolutions[key] = resolution
        return self._resolutions[key]

    def _sizes(
        self,
        frame: Frame,
        config: EngineConfig,
        resolution: AdaptiveResolution,
        mode: ProcessMode,
    ) -> Sizes:
        """The sizes of the network's input."""
        if config.size is not None:
            return requested_sizes(config, frame.width, frame.height)
        if mode.at_leisure:
            return resolution.still(frame.width, frame.height)
        hold = self._held or (config.compare and resolution.streamed)
        return resolution.live(frame.width, frame.height, hold=hold)

    def _run_info(self, inferred: Inferred) -> RunInfo:
        config, precision, active = inferred.config, inferred.precision, inferred.active
        reason = network_reason(
            config,
            lite=active.lite,
            too_slow=self._selector(config, precision).remark,
            lite_unavailable=self._style_weights.lite_unavailable_reason,
            compiling=self._compiling,
        )
        return run_info(config, self._device, precision, active, reason)

    @contextmanager
    def _reporting_memory(self, frame: Frame) -> Iterator[None]:
        """Within, want of memory is an EngineError, and the networks give theirs back."""
        try:
            yield
        except (RuntimeError, MemoryError, cv2.error) as exc:
            # On the CPU, PyTorch's allocator raises a plain RuntimeError, OpenCV's its own.
            wanting = isinstance(exc, torch.OutOfMemoryError | MemoryError)
            if not wanting and "alloc" not in str(exc):
                raise
            self._networks.clear()
            torch.cuda.empty_cache()
            raise EngineError(
                f"{title(self._device)} ran out of memory on a frame of "
                f"{frame.width}x{frame.height}; choose a smaller size"
            ) from exc
