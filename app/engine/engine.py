"""The engine, which turns a frame into a styled frame. It uses PyTorch and is independent of Qt."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
import torch

from app.engine.adaptation import Adaptation, PrecisionFallback, Variant
from app.engine.comparison import Comparer
from app.engine.config import EngineConfig, same_network
from app.engine.display_path import DisplayPath, Submitted
from app.engine.inferred import Inferred, Pending
from app.engine.network_pool import Network, NetworkPool, Size
from app.engine.post.blending import (
    Pixels,
    PostProcessor,
    deep_picture,
    eight_bits,
    fit_to,
)
from app.engine.process_mode import ProcessMode
from app.engine.result import Comparison, RunInfo, StyledFrame
from app.engine.run_info import LatestRunInfo, network_reason
from app.engine.style_weights import StyleWeights
from app.engine.texture import Texture
from app.errors import StyleForgeError
from app.frame import Frame
from app.frame_memory import allocate_by, pageable
from app.parameters import CHOICES
from app.styles.library import Library
from app.styles.pack import StyleError
from app.translation.texts import tr
from kernels.frames.stream_state import StateError, StreamState, part_of, under
from models.checkpoints import CheckpointError
from models.families.family import NetworkFamily
from models.families.table import FAMILIES
from models.inference.host_memory import new_pinned_pixels
from models.runtimes.runtime import RuntimeFault
from models.transformer_net import ALL_VARIANTS
from utils.devices import resolve, title
from utils.free_memory import free_bytes
from utils.opencv import cv2

log = logging.getLogger(__name__)

# Offered to the user; from 2560 on for pictures.
SIZES = (None, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1920, 2560, 3840, 6000, 7680)


class EngineError(StyleForgeError):
    """The engine cannot do what its config requests."""


class Engine:
    """Styles frames: `configure`, then `infer` and `finish` for each frame; or, so that frames
    overlap on a GPU, `begin` for a frame and then `complete` for the one before. Frames of one size
    can go through the network together: `process_batch`, `begin_batch` and `complete_batch`. Not
    thread-safe.

    Args:
        library: Where styles are looked up.
        on_notice: Called with one sentence when the engine changes precision or network by itself.
        budget_ms: The capture-to-paint time that the automatic size aims at.
        free: Gives the free bytes of a device, once for each: pictures that would not fit at once
            are computed in bands of rows.

    Attributes:
        on_progress: Told the share that is done, 0 to 1, while a picture is computed in bands of
            rows; what it raises ends the computation. May be set.
    """

    def __init__(
        self,
        library: Library,
        on_notice: Callable[[str], None] = log.info,
        budget_ms: float = 150.0,
        free: Callable[[torch.device], float] = free_bytes,
    ) -> None:
        self._library, self._on_notice = library, on_notice
        self.on_progress: Callable[[float], object] = lambda share: None
        self._config: EngineConfig | None = None
        self._style_weights = StyleWeights(library)
        self._device = torch.device("cpu")
        self._networks = NetworkPool(free)
        self._by_layer = False
        self._adaptation = Adaptation(budget_ms, on_notice)
        self._fallback = PrecisionFallback()
        self._comparer = Comparer()
        self._post = PostProcessor()
        self._display = DisplayPath()
        self._texture = Texture()
        self._latest_run_info = LatestRunInfo()
        self._resized = self._resized_for_strokes = np.empty((0, 0, 3), np.uint8)  # buffers

    def apart(self) -> Engine:
        """Make another engine with the same styles, which paints beside this one and logs its
        notices only."""
        return Engine(self._library, log.info)

    @property
    def config(self) -> EngineConfig | None:
        """The config in force; None before the first `configure`."""
        return self._config

    @property
    def family(self) -> NetworkFamily[Any]:
        """The family of the styles in force, after `configure`."""
        return self._style_weights.family

    @property
    def memory_bytes(self) -> float:
        """The bytes that were free on the device when it was first used, after `configure`."""
        return self._networks.memory(self._device)

    def configure(self, config: EngineConfig) -> None:
        """Use `config` from the next frame on.

        Raises:
            StyleForgeError: The style, the device, the runtime or another choice is not available;
                the config in force stays.
        """
        try:
            device = resolve(config.device)
        except ValueError as exc:
            raise EngineError(str(exc)) from exc
        for what, known in {"kernels": ALL_VARIANTS, **CHOICES}.items():
            if (name := getattr(config, what)) not in known:
                raise EngineError(f"there are no {what} '{name}', only {', '.join(known)}")
        try:
            runtime = (
                FAMILIES[self._library.get(config.style).family].variant(config.kernels).runtime
            )
            if runtime is not None:
                if reason := runtime.refusal(config.precision):
                    raise EngineError(reason)
                device = torch.device("cpu")  # from whose memory it takes pictures
            self._style_weights.choose(config)
        except (OSError, CheckpointError, StyleError) as exc:
            raise EngineError(str(exc)) from exc
        if self._config is not None and not same_network(config, self._config):
            self.reset_history()
        self._config, self._device = config, device
        allocate_by(new_pinned_pixels if device.type == "cuda" else pageable)

    def reset_history(self) -> None:
        """Do not smooth the next frame with earlier ones: the source was changed, or a seek."""
        self._post.reset_history()
        self._display.reset_history()
        self._texture.reset()

    def history(self) -> StreamState:
        """What the next frame continues, for `restore_history` of an engine with the same config.
        Waits for the frames that were begun."""
        return {
            **under("post", self._post.state()),
            **under("display", self._display.state()),
            **under("texture", self._texture.state()),
        }

    def restore_history(self, state: StreamState) -> None:
        """Continue with the next frame the stream that `state` is of.

        Raises:
            EngineError: It was kept by other kernels, or of frames of another size.
        """
        try:
            self._post.restore(part_of(state, "post"))
            self._texture.restore(part_of(state, "texture"))
        except StateError as exc:
            raise EngineError(str(exc)) from exc
        self._display.restore(part_of(state, "display"))

    def compile_kernels(self, compiling: bool) -> None:
        """Tell whether kernels are being compiled. Measurements taken meanwhile adapt the stream
        until the kernels are ready, and are then discarded."""
        self._adaptation.compile_kernels(compiling)

    def hold(self, held: bool) -> None:
        """Keep the automatic size and network as they are while `held`, for a recording."""
        self._adaptation.held = held

    def time_layers(self, on: bool) -> None:
        """Have the timings tell every layer, except in comparisons, which it would slow down."""
        self._by_layer = on

    def set_overhead(self, overhead_ms: float) -> None:
        """Tell how much of the time from capture to paint is spent outside the engine."""
        self._adaptation.set_overhead(overhead_ms)

    def evict(self, key: str) -> None:
        """Drop the cached weights of a style that was removed or replaced."""
        self._style_weights.evict(key)

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        """Style a frame with the config in force: `infer`, then `finish`."""
        return self.finish(self.infer(frame, mode))

    def infer(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> Inferred:
        """Run the network on a frame, or both networks if they are compared.

        Args:
            frame: The input.
            mode: How much time it may take, and whether it continues the frame before it.

        Returns:
            The output of the networks, valid until the next call.

        Raises:
            EngineError: There is not enough memory, or no config.
        """
        config = self._in_force()
        with self._memory_errors(frame):
            while True:
                inferred = self._infer(self._chosen(frame, config, mode))
                if not self._step_down(inferred):
                    return inferred

    def finish(self, inferred: Inferred, newest: EngineConfig | None = None) -> StyledFrame:
        """Make the result, in the frame's size.

        Args:
            inferred: What `infer` returned last.
            newest: The newest config. It takes effect if it differs only in what follows the
                network, so that a slider that is being dragged acts at once.

        Raises:
            EngineError: There is not enough memory.
        """
        if self._takes(newest, inferred.config):
            inferred = replace(inferred, config=newest)
        with self._memory_errors(inferred.frame):
            return self._finish(inferred)

    def begin(
        self,
        frame: Frame,
        mode: ProcessMode = ProcessMode.LIVE,
        newest: EngineConfig | None = None,
        screen: Size | None = None,
    ) -> Pending | None:
        """Start styling a frame on the GPU, where one more frame may be under way.

        Args:
            frame: The input.
            mode: How much time it may take, and whether it continues the frame before it.
            newest: As of `finish`.
            screen: (width, height) of a copy of the result that a window paints.

        Returns:
            What `complete` takes. None where frames cannot overlap: off the GPU, in comparisons and
            where the network runs without a plan; `process` styles the frame.

        Raises:
            EngineError: There is not enough memory, or no config.
        """
        self._takes(newest, self._in_force())
        return self.begin_batch((frame,), mode, screen)

    def complete(self, pending: Pending) -> StyledFrame:
        """Wait for a frame and make the result. Frames are completed in the order begun.

        Raises:
            EngineError: There is not enough memory.
        """
        (styled,) = self.complete_batch(pending)
        return styled

    def process_batch(
        self, frames: Sequence[Frame], mode: ProcessMode = ProcessMode.LIVE
    ) -> list[StyledFrame]:
        """Style frames of one size, together where the network can; `StyledFrame.batch` says
        whether it did. Otherwise as `process` of each, in their order.

        Raises:
            EngineError: There is not enough memory, or no config.
        """
        pending = self.begin_batch(frames, mode)
        if pending is not None:
            return self.complete_batch(pending)
        config = self._in_force()
        with self._memory_errors(frames[0]):
            batch = [self._chosen(frame, config, mode) for frame in frames]
            return self._finish_batch(batch, self._infer_batch(batch))

    def begin_batch(
        self,
        frames: Sequence[Frame],
        mode: ProcessMode = ProcessMode.LIVE,
        screen: Size | None = None,
    ) -> Pending | None:
        """Start styling frames of one size on the GPU as one batch; otherwise as `begin`.

        Raises:
            EngineError: There is not enough memory, or no config.
            ValueError: The frames differ in size.
        """
        config = self._in_force()
        if len({(frame.width, frame.height) for frame in frames}) != 1:
            raise ValueError("the frames of a batch have one size")
        with self._memory_errors(frames[0]):
            batch = tuple(self._chosen(frame, config, mode) for frame in frames)
            submitted = self._submit(batch, screen)
        return None if submitted is None else Pending(batch, submitted)

    def complete_batch(self, pending: Pending) -> list[StyledFrame]:
        """Wait for a batch and make the results, as `complete` does of one frame."""
        with self._memory_errors(pending.batch[0].frame):
            collected = self._collected(pending.batch, pending.submitted)
            return self._finish_batch(pending.batch, collected)

    def discard(self, pending: Pending) -> None:
        """Wait for a frame that is not needed any more."""
        pending.submitted.submission.wait()

    def _in_force(self) -> EngineConfig:
        if self._config is None:
            raise EngineError("no style was chosen yet")
        return self._config

    def _takes(self, newest: EngineConfig | None, config: EngineConfig) -> TypeGuard[EngineConfig]:
        """Use the newest config if it differs from `config` only in what follows the network."""
        if newest is None or not same_network(newest, config):
            return False
        self._config = newest
        return True

    def _step_down(self, inferred: Inferred) -> bool:
        """Whether the output is broken and the frame is to be computed again, in a safer precision,
        which is in force from now on."""
        precision, pixels = inferred.precision, inferred.frame.pixels
        broken = inferred.rendering.broken and pixels.min() < pixels.max()
        if not broken or precision.safer is None:
            return False
        safer = self._fallback.step_down(inferred.config, self._device, precision)
        self._on_notice(
            tr(
                "{precision} gave a broken picture with {style}; using {safer}",
                precision=precision.title,
                style=inferred.active.label,
                safer=safer.title,
            )
        )
        return True

    def expected_ms(self, frame: Frame, mode: ProcessMode) -> float:
        """How long a frame will take at about, in milliseconds; 0 while that is unknown."""
        config = self._in_force()
        chosen = self._chosen(frame, config, mode)
        return self._adaptation.expected_ms(
            self._variant(chosen), config, chosen.sizes, lite=chosen.active.lite
        )

    def _chosen(self, frame: Frame, config: EngineConfig, mode: ProcessMode) -> Inferred:
        """What a frame is computed with, without the output."""
        precision = self._fallback.current(config, self._device)
        family = self._style_weights.family
        variant = Variant(config.kernels, precision, self._device, family.key)
        unavailable = self._style_weights.lite_unavailable_reason
        lite = self._adaptation.use_lite(variant, config, frame, mode, unavailable)
        active = self._style_weights.active(lite=lite)
        sizes = self._adaptation.sizes(variant, config, frame, mode, lite=lite)
        texture = config.texture_or(self._style_weights.texture(moving=mode.has_history))
        bands = ""
        if not config.compare:
            bands = self._networks.bands_reason(family, precision, self._device, sizes.detail)
        if bands and (runtime := family.variant(config.kernels).runtime):
            raise EngineError(f"{runtime.title} has no bands of rows; {bands}")
        return Inferred(
            frame, config, mode, precision, active, sizes, texture, (), (), {}, 0.0, bands
        )

    def _submit(self, batch: Sequence[Inferred], screen: Size | None = None) -> Submitted | None:
        """Start computing frames that stay on the GPU; None where none does."""
        inferred = batch[0]
        config, active = inferred.config, inferred.active
        if self._device.type != "cuda" or config.compare:
            return None
        if inferred.bands or any(each.deep for each in batch):
            return None
        network = self._network(inferred, config.kernels)
        finish = inferred.finish
        frames = [each.frame.pixels for each in batch]
        return self._display.submit(network, frames, inferred.sizes, finish, active.key, screen)

    def _network(self, inferred: Inferred, kernels: str) -> Network:
        """The network of one variant that a frame is computed with, with its weights."""
        by_layer = self._by_layer and not inferred.config.compare
        return self._networks.get(
            kernels, inferred.precision, self._device, inferred.active, by_layer=by_layer
        )

    def _collected(self, batch: Sequence[Inferred], submitted: Submitted) -> list[Inferred]:
        return [
            replace(inferred, renderings={inferred.config.kernels: rendering})
            for inferred, rendering in zip(batch, self._display.collect(submitted), strict=True)
        ]

    def _finish_batch(
        self, batch: Sequence[Inferred], outputs: Iterable[Inferred]
    ) -> list[StyledFrame]:
        """Make the results of a batch; from the first broken output on, frames are computed again
        one by one."""
        styled: list[StyledFrame] = []
        for inferred in outputs:
            if self._step_down(inferred):
                break
            styled.append(self._finish(inferred))
        return styled + [self.process(each.frame, each.mode) for each in batch[len(styled) :]]

    def _infer_batch(self, batch: Sequence[Inferred]) -> Iterator[Inferred]:
        """Run the network on frames that do not stay on the GPU."""
        config, sizes = batch[0].config, batch[0].sizes
        alone = batch[0].bands or any(each.deep for each in batch)
        if len(batch) == 1 or config.compare or alone or sizes.strokes != sizes.detail:
            yield from map(self._infer, batch)
            return
        network = self._network(batch[0], config.kernels)
        start = time.perf_counter()
        empty = np.empty((0, 0, 3), np.uint8)
        inputs = [(fit_to(each.frame.pixels, sizes.detail, empty),) for each in batch]
        given = [self._textured(*each) for each in zip(batch, inputs, strict=True)]
        resize_ms = (time.perf_counter() - start) * 1e3 / len(batch)
        rendered = network.render_batch([pixels for (pixels,) in given])
        for inferred, clean, painted, rendering in zip(batch, inputs, given, rendered, strict=True):
            renderings = {config.kernels: rendering}
            yield replace(
                inferred, inputs=clean, given=painted, renderings=renderings, resize_ms=resize_ms
            )

    def _textured(self, inferred: Inferred, inputs: tuple[Pixels, ...]) -> tuple[Pixels, ...]:
        """What the networks are given for a frame that was scaled to `inputs`."""
        return self._texture.apply(inputs, inferred.texture, continues=inferred.mode.has_history)

    def _infer(self, inferred: Inferred) -> Inferred:
        submitted = self._submit((inferred,))
        if submitted is not None:
            return self._collected((inferred,), submitted)[0]
        frame, config, sizes = inferred.frame, inferred.config, inferred.sizes
        start = time.perf_counter()
        self._resized = fit_to(frame.pixels, sizes.detail, self._resized)
        inputs = (self._resized,)
        if sizes.strokes != sizes.detail:
            small = fit_to(frame.pixels, sizes.strokes, self._resized_for_strokes)
            self._resized_for_strokes = small
            inputs += (small,)
        given = self._textured(inferred, inputs)
        resize_ms = (time.perf_counter() - start) * 1e3
        banded = self.on_progress if inferred.bands else None
        how: dict[str, Any] = {"deep": inferred.deep, "banded": banded}
        order = (config.kernels,)
        if config.compare:
            order = self._comparer.order(config.kernels, inferred.active.family)
        renderings = {
            kernels: self._network(inferred, kernels).render_all(given, **how) for kernels in order
        }
        return replace(
            inferred, inputs=inputs, given=given, renderings=renderings, resize_ms=resize_ms
        )

    def _finish(self, inferred: Inferred) -> StyledFrame:
        frame, config, rendering = inferred.frame, inferred.config, inferred.rendering
        if rendering.displayed is None:
            self._post.begin(inferred.active.key, smoothed=inferred.smoothed)
        else:  # what the CPU knows of the stream grows old
            self._post.reset_history()
        start = time.perf_counter()
        deep = None
        if rendering.deep is not None and frame.deep is not None:
            outputs = rendering.deep, rendering.pixels, inferred.inputs[0]
            deep = deep_picture(*outputs, frame.deep, config)
            pixels = eight_bits(deep)
        else:
            pixels = self._post_process(inferred, config.kernels)
        blend_ms = (time.perf_counter() - start) * 1e3
        comparison, comparison_ms = None, 0.0
        if config.compare:
            start = time.perf_counter()
            comparison = self._compare(inferred, pixels)
            comparison_ms = (time.perf_counter() - start) * 1e3
            others = (r for kernels, r in inferred.renderings.items() if kernels != config.kernels)
            comparison_ms += sum(other.timings.total for other in others)
        self._adaptation.record(
            self._variant(inferred),
            config,
            inferred.mode,
            inferred.sizes,
            network_ms=rendering.network_ms,
            around_ms=inferred.resize_ms
            + rendering.timings.resize
            + rendering.timings.blend
            + blend_ms,
            lite=inferred.active.lite,
        )
        spent = rendering.timings
        timings = replace(
            spent,
            read=frame.read_ms,
            resize=spent.resize + inferred.resize_ms,
            blend=spent.blend + blend_ms,
            comparison=comparison_ms,
        )
        screen = rendering.screen if pixels is rendering.pixels else None
        return StyledFrame(
            frame.with_pixels(pixels, screen, deep),
            frame,
            config,
            timings,
            inferred.sizes.detail,
            self._run_info(inferred),
            comparison,
            batch=rendering.batch,
            texture=inferred.texture,
            bands=inferred.bands,
        )

    def _variant(self, inferred: Inferred) -> Variant:
        family = inferred.active.family
        return Variant(inferred.config.kernels, inferred.precision, self._device, family.key)

    def _post_process(self, inferred: Inferred, kernels: str) -> Pixels:
        """The picture to display of one network's output."""
        rendering = inferred.renderings[kernels]
        if (made := rendering.displayed) is not None:
            # A slider that is being dragged acts at once; smoothing, which has a history, does not.
            wanted = inferred.finish
            wanted = replace(wanted, smoothing=made.smoothing)
            return rendering.pixels if wanted == made else self._display.finish(wanted)
        output, resized = rendering.pixels, inferred.inputs[0]
        return self._post.apply(kernels, output, resized, inferred.frame.pixels, inferred.config)

    def _compare(self, inferred: Inferred, pixels: Pixels) -> Comparison:
        """Compare the two networks; `pixels` is the displayed picture of the config's network."""
        frame, precision, active = inferred.frame, inferred.precision, inferred.active
        networks = {kernels: self._network(inferred, kernels) for kernels in inferred.renderings}
        displayed = {
            kernels: frame.with_pixels(
                pixels
                if kernels == inferred.config.kernels
                else self._post_process(inferred, kernels)
            )
            for kernels in inferred.renderings
        }
        return self._comparer.compare(
            inferred.renderings,
            networks,
            inferred.given,
            displayed,
            precision,
            (self._device, active.network),
            active.family,
        )

    def _run_info(self, inferred: Inferred) -> RunInfo:
        config, active = inferred.config, inferred.active
        reason = network_reason(
            config,
            lite=active.lite,
            too_slow=self._adaptation.too_slow(self._variant(inferred)),
            lite_unavailable=self._style_weights.lite_unavailable_reason,
            compiling=self._adaptation.compiling,
        )
        reasons = tuple(filter(None, (reason, inferred.bands)))
        return self._latest_run_info.get(config, self._device, inferred.precision, active, reasons)

    @contextmanager
    def _memory_errors(self, frame: Frame) -> Generator[None]:
        """Turn every out-of-memory exception into an EngineError, and free the networks."""
        try:
            yield
        except (RuntimeFault, StateError) as exc:
            raise EngineError(str(exc)) from exc
        except (RuntimeError, MemoryError, cv2.error) as exc:
            # On the CPU, PyTorch's allocator raises a plain RuntimeError, OpenCV its own error.
            out_of_memory = isinstance(exc, torch.OutOfMemoryError | MemoryError)
            if not out_of_memory and "alloc" not in str(exc):
                raise
            self._networks.clear()
            self._display.clear()
            torch.cuda.empty_cache()
            raise EngineError(
                f"{title(self._device)} ran out of memory on a frame of "
                f"{frame.width}x{frame.height}; choose a smaller size"
            ) from exc
