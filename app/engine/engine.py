"""Turns a frame into a styled frame. Knows PyTorch; knows nothing of Qt."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from app.engine.blending import Pixels, blend, fit_to, join_bands, peak_difference
from app.engine.guided_upsampling import GuidedUpsampler
from app.engine.network_selector import LEAST_FPS, NetworkSelector
from app.engine.resolution import AdaptiveResolution, Sizes, fit
from app.engine.result import Comparison, EngineConfig, RunInfo, StyledFrame, Timings, same_network
from app.engine.stage_timer import Stopwatch, pace
from app.engine.style_weights import ActiveWeights, StyleWeights
from app.engine.temporal_smoothing import TemporalSmoother
from app.errors import StyleForgeError
from app.frame import Frame
from app.options import NETWORKS, STROKE_SIZE, STROKES, UPSAMPLING
from app.styles.library import Library, StyleError
from models.checkpoints import CheckpointError, State
from models.inference.frame_pipeline import SingleFrameRunner
from models.inference.two_resolution import TwoResolutionRunner
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import PLANS_KEPT, VARIANTS, TransformerNetFused
from utils.devices import cuda_unavailable_reason, resolve, title
from utils.opencv import cv2

log = logging.getLogger(__name__)

BASELINE = "baseline"
SIZES = (None, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1920)
NETWORKS_KEPT = 4  # their buffers are what fills memory
PACED_FRAMES = 60  # the comparison's medians cover this many frames


class EngineError(StyleForgeError):
    """The engine cannot do what its config asks for."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One network's answer: `raws` are [H, W, 3] in 0-255 on the device, unrounded where
    compared, one of each size it worked at."""

    pixels: Pixels
    raws: tuple[Tensor, ...]
    timings: Timings
    broken: bool  # not finite, or one constant

    @property
    def network_ms(self) -> float:
        """What the network's own path took: all but joining two sizes."""
        return self.timings.total - self.timings.blend


class Engine:
    """One owner, one thread: configure, then process frame after frame.

    `notice` is called with one sentence when the engine changes its ways by itself.
    """

    def __init__(
        self,
        library: Library,
        notice: Callable[[str], None] = log.info,
        budget_ms: float = 150.0,
    ) -> None:
        self._notice = notice
        self._budget_ms = budget_ms
        self._config: EngineConfig | None = None
        self._style_weights = StyleWeights(library)
        self._device = torch.device("cpu")
        self._networks: dict[tuple[str, Precision, torch.device, NetworkConfig], Network] = {}
        self._sizes: dict[tuple[str, Precision, torch.device, bool, str], AdaptiveResolution] = {}
        self._selectors: dict[tuple[str, Precision, torch.device], NetworkSelector] = {}
        self._told_of_lite = False
        self._compiling = False
        self._held = False
        self._stepped_down: dict[Hashable, Precision] = {}
        self._resized = self._resized_for_strokes = np.empty((0, 0, 3), np.uint8)
        self._upsampler = GuidedUpsampler()
        self._smoothers: dict[str, TemporalSmoother] = {}  # by kernels
        self._loaded: Hashable = None  # the outfit of the last frame
        self._turn = False  # which of the compared networks goes first
        self._paired: object = None  # what the two paces of the comparison were measured on
        self._paces: tuple[deque[float], deque[float]] = (deque(), deque())

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
        for what, name, known in (
            ("kernels", config.kernels, VARIANTS),
            ("network", config.network, NETWORKS),
            ("strokes", config.strokes, STROKES),
            ("upsampling", config.upsampling, UPSAMPLING),
        ):
            if name not in known:
                raise EngineError(f"there are no {what} '{name}', only {', '.join(known)}")
        try:
            self._style_weights.choose(config)
        except (OSError, CheckpointError, StyleError) as exc:
            raise EngineError(str(exc)) from exc
        if self._config is not None and not same_network(config, self._config):
            self.cut()
        self._config, self._device = config, device

    def cut(self) -> None:
        """The next frame does not continue the last: another source, a seek."""
        self._smoothers.clear()

    def compile_kernels(self, compiling: bool) -> None:
        """Whether kernels are being compiled. What is measured meanwhile is of other kernels on
        a busy machine: it steers the stream until they are there, is not told, and is then
        forgotten."""
        if self._compiling and not compiling:
            self._selectors.clear()
            for size in self._sizes.values():
                size.remeasure()
        self._compiling = compiling

    def hold(self, held: bool) -> None:
        """While held (a recording), the automatic size and network stay as they are."""
        self._held = held

    def lag(self, overhead_ms: float) -> None:
        """Tell the automatic size how much of capture-to-paint is spent outside the engine."""
        for size in self._sizes.values():
            size.overhead_ms = overhead_ms

    def process(
        self,
        frame: Frame,
        *,
        still: bool = False,
        live: bool = True,
        look: Callable[[], EngineConfig] | None = None,
    ) -> StyledFrame:
        """Style one frame; the result has the frame's size.

        `still` lets the automatic size spend seconds on a picture that will not change, and
        `live` tells frames that follow one another from single pictures: only there is anything
        smoothed, and only there does the automatic network stoop to the lite one. `look` gives
        the config wanted by now: where only what follows the network differs from the one in
        force, the newer is blended, so that dragging a slider never shows a stale picture.
        Raises EngineError when memory runs out.
        """
        if self._config is None:
            raise EngineError("no style was chosen yet")
        try:
            return self._process(frame, self._config, still, live, look)
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

    def _process(
        self,
        frame: Frame,
        config: EngineConfig,
        still: bool,
        live: bool,
        look: Callable[[], EngineConfig] | None,
    ) -> StyledFrame:
        precision = self._precision(config)
        lite = self._lite(frame, config, precision, live and not still)
        active = self._style_weights.active(lite=lite)
        auto = self._resolution(config, precision, lite)
        sizes = self._sizes_of(frame, config, auto, still)
        self._resized = fit_to(frame.pixels, sizes.detail, self._resized)
        pictures = {
            kernels: self._paint(kernels, precision, active, frame, sizes)
            for kernels in self._order(config)
        }
        picture = pictures[config.kernels]
        if picture.broken and precision.safer and frame.pixels.min() < frame.pixels.max():
            self._step_down(config, precision, active)
            return self._process(frame, config, still, live, look)
        if look is not None and same_network(wanted := look(), config):
            self._config = config = wanted
        if not (live and config.smoothing) or active.key != self._loaded:
            self._smoothers.clear()
        self._loaded = active.key
        finished = {k: self._finish(k, p, frame, config, live) for k, p in pictures.items()}
        pixels, blend_ms = finished[config.kernels]
        every_blend_ms = sum(ms for _, ms in finished.values())
        networks_ms = sum(p.timings.total for p in pictures.values())
        # A comparison keeps the stream's size; one that began without a stream finds it by what
        # the network takes that would run alone.
        if not (config.compare and auto.streamed):
            auto.measured(sizes, picture.network_ms)
            auto.blend_ms = blend_ms + picture.timings.blend
            auto.streamed = not config.compare
        beside_ms = networks_ms + every_blend_ms - picture.timings.total - blend_ms
        if live and not still and not config.compare:
            selector = self._network_selector(config, precision)
            selector.measured(lite, sizes, picture.timings.total, blend_ms)
        return StyledFrame(
            frame.with_pixels(pixels),
            frame,
            config,
            picture.timings + Timings(read=frame.read_ms, blend=blend_ms, beside=beside_ms),
            sizes.detail,
            self._run_info(config, precision, active),
            self._compare(frame, precision, active, pictures, finished) if config.compare else None,
        )

    def _finish(
        self, kernels: str, picture: Picture, frame: Frame, config: EngineConfig, live: bool
    ) -> tuple[Pixels, float]:
        """What is shown of a network's picture, and the milliseconds that took."""
        start = time.perf_counter()
        pixels = picture.pixels
        if live and config.smoothing:
            smoother = self._smoothers.setdefault(kernels, TemporalSmoother())
            pixels = smoother.smooth(pixels, self._resized, config.smoothing)
        guided = config.upsampling == "guided"
        pixels = self._upsampler.enlarge(pixels, self._resized, frame.pixels, guided=guided)
        pixels = blend(pixels, frame.pixels, config.strength, config.keep_colors)
        return pixels, (time.perf_counter() - start) * 1e3

    def _order(self, config: EngineConfig) -> tuple[str, ...]:
        """The networks to run on a frame. Compared, the two take turns in going first, so that
        neither always finds the caches and clocks the other left."""
        if not config.compare:
            return (config.kernels,)
        other = config.kernels if config.kernels != BASELINE else "fused"
        self._turn = not self._turn
        return (BASELINE, other) if self._turn else (other, BASELINE)

    def _compare(
        self,
        frame: Frame,
        precision: Precision,
        active: ActiveWeights,
        pictures: dict[str, Picture],
        finished: dict[str, tuple[Pixels, float]],
    ) -> Comparison:
        baseline = pictures[BASELINE]
        kernels, fused = next((k, p) for k, p in pictures.items() if k != BASELINE)
        size = baseline.pixels.shape
        paired = (tuple(sorted(pictures)), precision, self._device, active.shape, size)
        if paired != self._paired:  # the first frame of a new pairing only warms up
            self._paired = paired
            self._paces = (deque(maxlen=PACED_FRAMES), deque(maxlen=PACED_FRAMES))
        else:
            self._paces[0].append(baseline.network_ms)
            self._paces[1].append(fused.network_ms)
        apart = [peak_difference(a, b) for a, b in zip(fused.raws, baseline.raws, strict=True)]
        difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)
        agrees, bound = precision.agree(difference, psnr)
        return Comparison(
            frame.with_pixels(finished[BASELINE][0]),
            frame.with_pixels(finished[kernels][0]),
            VARIANTS[kernels].title,
            pace(self._paces[0] or [baseline.network_ms]),
            pace(self._paces[1] or [fused.network_ms]),
            difference,
            psnr,
            bound,
            agrees,
            len(self._paces[0]),
            (size[1], size[0]),
            precision,
        )

    def _paint(
        self, kernels: str, precision: Precision, active: ActiveWeights, frame: Frame, sizes: Sizes
    ) -> Picture:
        """One network's picture of `frame`, which was resized to `sizes.detail`."""
        if sizes.strokes == sizes.detail:
            return self._render(kernels, precision, active, self._resized)
        if (picture := self._render_both(kernels, precision, active, sizes)) is not None:
            return picture
        detail = self._render(kernels, precision, active, self._resized)
        start = time.perf_counter()
        small = fit_to(frame.pixels, sizes.strokes, self._resized_for_strokes)
        self._resized_for_strokes = small
        resizing_ms = (time.perf_counter() - start) * 1e3
        strokes = self._render(kernels, precision, active, small)
        start = time.perf_counter()
        joined = join_bands(strokes.pixels, detail.pixels)
        blend_ms = resizing_ms + (time.perf_counter() - start) * 1e3
        return Picture(
            joined,
            detail.raws + strokes.raws,
            detail.timings + strokes.timings + Timings(blend=blend_ms),
            detail.broken or strokes.broken,
        )

    def _render_both(
        self, kernels: str, precision: Precision, active: ActiveWeights, sizes: Sizes
    ) -> Picture | None:
        """Both sizes by the native network on a GPU, joined there; None where it does not run, or
        where the pictures are to be compared as they were before they were rounded."""
        assert self._config is not None
        if self._config.compare or self._device.type != "cuda":
            return None
        net = self._network(kernels, precision, active)
        clock = Stopwatch(self._device)
        with torch.inference_mode():
            with torch.autocast("cuda", torch.float16, enabled=precision.value.autocast):
                strokes = net.path(sizes.strokes, self._device)
                detail = net.path(sizes.detail, self._device)
            if strokes is None or detail is None:
                return None
            result = TwoResolutionRunner(strokes, detail).style(self._resized, clock.mark)
            raws = detail.plan.pictures[0], strokes.plan.pictures[0]
        return Picture(result.pixels, raws, clock.read(), result.broken)

    def _render(
        self, kernels: str, precision: Precision, active: ActiveWeights, pixels: Pixels
    ) -> Picture:
        """One picture by one network, timed: upload, network (in groups), download."""
        # Outside inference mode, since it holds parameters.
        net = self._network(kernels, precision, active)
        device = self._device
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        clock = Stopwatch(device)
        with (
            torch.inference_mode(),
            torch.autocast(device.type, half, enabled=precision.value.autocast),
        ):
            assert self._config is not None
            size = pixels.shape[1], pixels.shape[0]
            # Compared, the pictures are wanted as they were before they were rounded.
            if not self._config.compare and (path := net.path(size, device)):
                result = path.style(pixels, clock.mark)
                return Picture(result.pixels, (path.plan.pictures[0],), clock.read(), result.broken)
            frames = torch.from_numpy(pixels)[None].to(device)
            x = frames.permute(0, 3, 1, 2).to(precision.value.dtype)  # [1, 3, H, W]
            x = x.contiguous(memory_format=VARIANTS[kernels].memory_format)
            clock.mark("upload")
            y = net(x, clock.mark)
            raw = y[0].permute(1, 2, 0).float()  # [H, W, 3]
            clock.mark("network")
            # NaN spreads through aminmax, so the two ends tell of any broken pixel.
            low, high = (float(value) for value in torch.aminmax(raw))
            raw = raw.clamp(0, 255)
            out = (raw + 0.5).to(torch.uint8).contiguous().cpu().numpy()
            clock.mark("download")
        broken = not (math.isfinite(low) and math.isfinite(high)) or low == high
        return Picture(out, (raw,), clock.read(), broken)

    def _network(self, kernels: str, precision: Precision, active: ActiveWeights) -> Network:
        key = (kernels, precision, self._device, active.shape)
        network = self._networks.pop(key, None)
        if network is None:
            module = VARIANTS[kernels](**asdict(active.shape))
            module.requires_grad_(False).eval()
            module.to(self._device, precision.value.dtype)
            network = Network(module)
        self._networks[key] = network  # last in the dict, so the first is the longest unused
        if len(self._networks) > NETWORKS_KEPT:
            self._networks.pop(next(iter(self._networks)))
        network.load_weights(active.key, active.state)
        return network

    def forget(self, key: str) -> None:
        """Drop what is cached of a style that was removed or replaced."""
        self._style_weights.forget(key)

    def _network_selector(self, config: EngineConfig, precision: Precision) -> NetworkSelector:
        key = (config.kernels, precision, self._device)
        return self._selectors.setdefault(key, NetworkSelector())

    def _lite(
        self, frame: Frame, config: EngineConfig, precision: Precision, streaming: bool
    ) -> bool:
        if config.network != "auto" or not streaming:
            return config.network == "lite" and not self._style_weights.lite_unavailable_reason
        selector = self._network_selector(config, precision)
        # Compared, two networks share the machine, which says nothing of either alone.
        if not config.compare and not self._held:
            largest = max(frame.width, frame.height)
            long_side = config.size or min(STROKE_SIZE, largest)
            scale = STROKES[config.strokes].scale
            selector.decide(frame.width, frame.height, round(long_side * scale))
        if self._style_weights.lite_unavailable_reason:
            return False
        if selector.lite and not self._told_of_lite and not self._compiling:
            self._told_of_lite = True  # once; from then on the status line says it
            self._notice(f"Changed to the lite network: {selector.remark}")
        return selector.lite

    def _precision(self, config: EngineConfig) -> Precision:
        key = (config.style, config.mix, config.precision, self._device)
        return self._stepped_down.get(key, config.precision)

    def _step_down(self, config: EngineConfig, broken: Precision, active: ActiveWeights) -> None:
        safer = broken.safer
        assert safer is not None
        self._stepped_down[(config.style, config.mix, config.precision, self._device)] = safer
        self._notice(
            f"{broken.title} gave a broken picture with {active.words}; using {safer.title}"
        )

    def _resolution(
        self, config: EngineConfig, precision: Precision, lite: bool
    ) -> AdaptiveResolution:
        key = (config.kernels, precision, self._device, lite, config.strokes)
        if key not in self._sizes:
            # Who takes the lite network does so for the frame rate.
            interval_ms = 1000 / LEAST_FPS if lite else math.inf
            stroke_size = round(STROKE_SIZE * STROKES[config.strokes].scale)
            self._sizes[key] = AdaptiveResolution(self._budget_ms, interval_ms, stroke_size)
        return self._sizes[key]

    def _sizes_of(
        self, frame: Frame, config: EngineConfig, auto: AdaptiveResolution, still: bool
    ) -> Sizes:
        if config.size is not None:
            scale = STROKES[config.strokes].scale
            size = fit(frame.width, frame.height, round(config.size * scale))
            return Sizes(size, size)
        if still:
            return auto.still(frame.width, frame.height)
        hold = self._held or (config.compare and auto.streamed)
        return auto.live(frame.width, frame.height, hold=hold)

    def _run_info(
        self, config: EngineConfig, precision: Precision, active: ActiveWeights
    ) -> RunInfo:
        limitations = [self._why_this_network(config, precision, active)]
        if self._device.type == "cpu" and config.device == "auto":
            limitations.append(cuda_unavailable_reason())
        limitations += VARIANTS[config.kernels].limitations(
            self._device, precision.value.dtype, active.shape
        )
        if precision is not config.precision:
            limitations.append(f"{config.precision.title} gave a broken picture")
        else:
            limitations.append(precision.remark(self._device))
        return RunInfo(
            VARIANTS[config.kernels].title,
            precision,
            title(self._device),
            tuple(remark for remark in limitations if remark),
            active.words,
            config.mix not in (None, config.style),
            active.lite,
        )

    def _why_this_network(
        self, config: EngineConfig, precision: Precision, active: ActiveWeights
    ) -> str:
        """Why the network is lite although nobody asked, or full although it should not be."""
        reason = (
            self._network_selector(config, precision).remark if config.network == "auto" else ""
        )
        if reason and self._compiling:
            reason = "kernels are being compiled"
        if active.lite:
            return reason
        if config.network == "lite":
            return self._style_weights.lite_unavailable_reason
        without = self._style_weights.lite_unavailable_reason
        return f"{reason}, and {without}" if reason and without else ""


class Network:
    """A network of one variant, precision, device and shape, wearing one outfit at a time."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._loaded: Hashable = None
        self._paths: dict[tuple[int, int], SingleFrameRunner] = {}  # by the size of their pictures

    def load_weights(self, key: Hashable, state: State) -> None:
        """Take on the weights that `key` stands for; nothing to do if it wears them."""
        if key != self._loaded:
            self._module.load_state_dict(state)
            self._loaded = key

    def path(self, size: tuple[int, int], device: torch.device) -> SingleFrameRunner | None:
        """Through the native network, which takes pictures of `size` (width, height) as they are;
        None where there is none. Of plans that the network keeps, so that none is held beyond
        that."""
        if not isinstance(self._module, TransformerNetFused):
            return None
        plan = self._module.plan((1, size[1], size[0]), device)
        path = self._paths.pop(size, None)
        if plan is None:
            return None
        if path is None or path.plan is not plan:
            path = SingleFrameRunner(plan)
        self._paths[size] = path  # last in the dict, so the first is the longest unused
        if len(self._paths) > PLANS_KEPT:
            self._paths.pop(next(iter(self._paths)))
        return path

    def __call__(self, x: Tensor, mark: Callable[[str], None]) -> Tensor:
        return self._module(x, mark)
