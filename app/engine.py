"""Turns a frame into a styled frame. Knows PyTorch; knows nothing of Qt."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from app.blending import Pixels, blend, fit_to, peak_difference
from app.frames import Frame
from app.problems import StyleForgeError
from app.sizing import AutoSize, fit
from app.stopwatch import Stopwatch, pace
from app.styled import Comparison, EngineConfig, Running, Styled, Timings
from app.styles import Library, Style, StyleError, check_weights
from models.checkpoints import CheckpointError, load_checkpoint
from models.network_shape import num_residual_blocks
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.devices import resolve, title, why_no_cuda

log = logging.getLogger(__name__)

BASELINE = "baseline"
SIZES = (None, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1920)
NETWORKS_KEPT = 3  # their buffers are what fills memory
PACED_FRAMES = 60  # the comparison's medians cover this many frames


class EngineError(StyleForgeError):
    """The engine cannot do what its config asks for."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One network's answer: `raw` is [H, W, 3] float in 0-255 on the device."""

    pixels: Pixels
    raw: Tensor
    timings: Timings
    broken: bool  # not finite, or one constant


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
        self._library = library
        self._notice = notice
        self._budget_ms = budget_ms
        self._config: EngineConfig | None = None
        self._style: Style | None = None
        self._device = torch.device("cpu")
        self._weights: dict[str, dict[str, Tensor]] = {}
        self._networks: dict[tuple[str, Precision, torch.device, int], Network] = {}
        self._sizes: dict[tuple[str, Precision, torch.device, bool], AutoSize] = {}
        self._stepped_down: dict[tuple[str, Precision, torch.device], Precision] = {}
        self._resized = np.empty((0, 0, 3), np.uint8)
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
        style = self._library.get(config.style)
        try:
            device = resolve(config.device)
        except ValueError as exc:
            raise EngineError(str(exc)) from exc
        if config.kernels not in VARIANTS:
            raise EngineError(
                f"there are no kernels '{config.kernels}', only {', '.join(VARIANTS)}"
            )
        self._load(style)
        self._config, self._style, self._device = config, style, device

    def lag(self, overhead_ms: float) -> None:
        """Tell the automatic size how much of capture-to-paint is spent outside the engine."""
        for size in self._sizes.values():
            size.overhead_ms = overhead_ms

    def process(
        self,
        frame: Frame,
        *,
        still: bool = False,
        look: Callable[[], EngineConfig] | None = None,
    ) -> Styled:
        """Style one frame; the result has the frame's size.

        `still` lets the automatic size spend seconds on a picture that will not change. `look`
        gives the config wanted by now: where only strength or colours differ from the one in
        force, the newer is blended, so that dragging a slider never shows a stale picture.
        Raises EngineError when memory runs out.
        """
        if self._config is None:
            raise EngineError("no style was chosen yet")
        try:
            return self._process(frame, self._config, still, look)
        except RuntimeError as exc:
            # On the CPU, PyTorch's allocator raises a plain RuntimeError.
            if not isinstance(exc, torch.OutOfMemoryError) and "alloc" not in str(exc):
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
        look: Callable[[], EngineConfig] | None,
    ) -> Styled:
        precision = self._precision(config)
        auto = self._auto_size(config, precision)
        size = self._size(frame, config, auto, still)
        self._resized = fit_to(frame.pixels, size, self._resized)
        pictures = {
            kernels: self._render(kernels, precision, self._resized)
            for kernels in self._order(config)
        }
        picture = pictures[config.kernels]
        if picture.broken and precision.safer and frame.pixels.min() < frame.pixels.max():
            self._step_down(config, precision)
            return self._process(frame, config, still, look)
        start = time.perf_counter()
        if look is not None and same_network(wanted := look(), config):
            self._config = config = wanted
        finished = blend(picture.pixels, frame.pixels, config.strength, config.keep_colors)
        timings = replace(
            picture.timings,
            read=frame.read_ms,
            download=picture.timings.download + (time.perf_counter() - start) * 1e3,
        )
        auto.measured(size, sum(p.timings.total for p in pictures.values()))
        return Styled(
            replace(frame, pixels=finished),
            frame,
            config,
            timings,
            size,
            self._running(config, precision),
            self._compare(frame, config, precision, pictures) if config.compare else None,
        )

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
        config: EngineConfig,
        precision: Precision,
        pictures: dict[str, Picture],
    ) -> Comparison:
        baseline = pictures[BASELINE]
        kernels, fused = next((k, p) for k, p in pictures.items() if k != BASELINE)
        paired = (tuple(sorted(pictures)), precision, self._device, baseline.pixels.shape)
        if paired != self._paired:  # the first frame of a new pairing only warms up
            self._paired = paired
            self._paces = (deque(maxlen=PACED_FRAMES), deque(maxlen=PACED_FRAMES))
        else:
            self._paces[0].append(baseline.timings.total)
            self._paces[1].append(fused.timings.total)
        difference, psnr = peak_difference(fused.raw, baseline.raw)
        agrees, bound = precision.agree(difference, psnr)
        mix = partial(
            blend, source=frame.pixels, strength=config.strength, keep_colors=config.keep_colors
        )
        return Comparison(
            replace(frame, pixels=mix(baseline.pixels)),
            replace(frame, pixels=mix(fused.pixels)),
            VARIANTS[kernels].title,
            pace(self._paces[0] or [baseline.timings.total]),
            pace(self._paces[1] or [fused.timings.total]),
            difference,
            psnr,
            bound,
            agrees,
            len(self._paces[0]),
        )

    def _render(self, kernels: str, precision: Precision, pixels: Pixels) -> Picture:
        """One picture by one network, timed: upload, network (in groups), download."""
        net = self._network(kernels, precision)  # outside inference mode: it holds parameters
        device = self._device
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        clock = Stopwatch(device)
        with (
            torch.inference_mode(),
            torch.autocast(device.type, half, enabled=precision.value.autocast),
        ):
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
        return Picture(out, raw, clock.read(), broken)

    def _network(self, kernels: str, precision: Precision) -> Network:
        assert self._style is not None
        state = self._weights[self._style.key]
        blocks = num_residual_blocks(state)
        key = (kernels, precision, self._device, blocks)
        network = self._networks.pop(key, None)
        if network is None:
            module = VARIANTS[kernels](num_residual_blocks=blocks)
            module.requires_grad_(False).eval()
            module.to(self._device, precision.value.dtype)
            network = Network(module)
        self._networks[key] = network  # last in the dict, so the first is the longest unused
        if len(self._networks) > NETWORKS_KEPT:
            self._networks.pop(next(iter(self._networks)))
        network.wear(self._style.key, state)
        return network

    def _load(self, style: Style) -> None:
        if style.key in self._weights:
            return
        try:
            check_weights(style)
            self._weights[style.key] = load_checkpoint(style.weights)
        except (OSError, CheckpointError, StyleError) as exc:
            raise EngineError(str(exc)) from exc

    def forget(self, key: str) -> None:
        """Drop what is cached of a style that was removed or replaced."""
        self._weights.pop(key, None)
        for network in self._networks.values():
            network.undress(key)

    def _precision(self, config: EngineConfig) -> Precision:
        key = (config.style, config.precision, self._device)
        return self._stepped_down.get(key, config.precision)

    def _step_down(self, config: EngineConfig, broken: Precision) -> None:
        safer = broken.safer
        assert safer is not None
        assert self._style is not None
        self._stepped_down[(config.style, config.precision, self._device)] = safer
        self._notice(
            f"{broken.title} gave a broken picture with {self._style.title}; using {safer.title}"
        )

    def _auto_size(self, config: EngineConfig, precision: Precision) -> AutoSize:
        key = (config.kernels, precision, self._device, config.compare)
        if key not in self._sizes:
            self._sizes[key] = AutoSize(self._budget_ms)
        return self._sizes[key]

    def _size(
        self, frame: Frame, config: EngineConfig, auto: AutoSize, still: bool
    ) -> tuple[int, int]:
        if config.size is not None:
            return fit(frame.width, frame.height, config.size)
        return (auto.still if still else auto.live)(frame.width, frame.height)

    def _running(self, config: EngineConfig, precision: Precision) -> Running:
        remarks = []
        if self._device.type == "cpu" and config.device == "auto":
            remarks.append(why_no_cuda())
        remarks += VARIANTS[config.kernels].remarks(self._device, precision.value.dtype)
        if precision is not config.precision:
            remarks.append(f"{config.precision.title} gave a broken picture")
        else:
            remarks.append(precision.remark(self._device))
        return Running(
            VARIANTS[config.kernels].title,
            precision,
            title(self._device),
            tuple(remark for remark in remarks if remark),
        )


class Network:
    """A network of one variant, precision and device, wearing one style at a time."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._style: str | None = None

    def wear(self, style: str, state: dict[str, Tensor]) -> None:
        """Take on the weights of `style`; nothing to do if it wears them."""
        if style != self._style:
            self._module.load_state_dict(state)
            self._style = style

    def undress(self, style: str) -> None:
        if style == self._style:
            self._style = None

    def __call__(self, x: Tensor, mark: Callable[[str], None]) -> Tensor:
        return self._module(x, mark)


def same_network(a: EngineConfig, b: EngineConfig) -> bool:
    """True if `a` and `b` differ in what is blended at most, so one network answers both."""
    return replace(a, strength=b.strength, keep_colors=b.keep_colors) == b
