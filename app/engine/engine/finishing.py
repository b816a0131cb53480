"""The last step of the engine, which turns network outputs into results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from app.engine.adaptation import Adaptation
from app.engine.comparison import Comparer
from app.engine.config import EngineConfig
from app.engine.display_path import DisplayPath
from app.engine.engine.inference import Inference
from app.engine.engine.movers import HostPainting
from app.engine.engine.moving import Moving
from app.engine.inferred import Inferred
from app.engine.matting.cutout import Cutout, Parts
from app.engine.network_pool import Size
from app.engine.post.blending import Pixels, PostProcessor, deep_picture, eight_bits
from app.engine.result import Comparison, RunInfo, StyledFrame, Timings
from app.engine.run_info import LatestRunInfo, network_reason
from app.engine.style_weights import StyleWeights
from app.frame import Frame
from kernels.network.webgpu.library import WebGpuError
from models.inference.frame_matting import PictureThere


@dataclass(frozen=True, slots=True, eq=False)
class _Picture:
    """A displayed picture.

    Attributes:
        screen: The copy that a window paints, if a GPU made one.
        output: The network's output, smoothed; None if it has 16 bits or stays on a GPU.
        parts: The parts that are painted; None for all of it.
        deep: The picture with 16 bits per channel, if the output has them.
        blend_ms: The time it took.
    """

    pixels: Pixels
    screen: Pixels | None
    output: Pixels | None
    parts: Parts | None
    deep: NDArray[np.uint16] | None
    blend_ms: float


class Finishing:
    """The last step of a frame, which blends, smooths, compares and reports. Not thread-safe.

    Args:
        on_failure: Called if a GPU that WebGPU reaches fails to move a painting.
    """

    def __init__(
        self,
        inference: Inference,
        display: DisplayPath,
        comparer: Comparer,
        post: PostProcessor,
        cutout: Cutout,
        style_weights: StyleWeights,
        adaptation: Adaptation,
        on_failure: Callable[[torch.device, WebGpuError], object],
    ) -> None:
        self._inference, self._display, self._comparer = inference, display, comparer
        self._post, self._cutout = post, cutout
        self._style_weights, self._adaptation = style_weights, adaptation
        self._latest_run_info = LatestRunInfo()
        self._moving = Moving(post, on_failure)
        self._kept: tuple[Inferred, Pixels | None] | None = None  # with the smoothed output

    def finish(self, inferred: Inferred, *, keeps: bool = False) -> StyledFrame:
        """Make the result of a frame that ran through the network, and record its times.

        With `keeps`, keep the output for `finish_again`.
        """
        config, rendering = inferred.config, inferred.rendering
        if rendering.displayed is None:
            self._post.begin(inferred.active.key, smoothed=inferred.smoothed)
        else:  # the CPU's state of the stream is now outdated
            self._post.reset_history()
        made = self._picture(inferred)
        comparison, comparison_ms = None, 0.0
        if config.compare:
            start = time.perf_counter()
            comparison = self._compare(inferred, made.pixels, made.parts)
            comparison_ms = (time.perf_counter() - start) * 1e3
            others = (r for kernels, r in inferred.renderings.items() if kernels != config.kernels)
            comparison_ms += sum(other.timings.total for other in others)
        self._record(inferred, made.blend_ms)
        spent = rendering.timings
        timings = replace(
            spent,
            read=inferred.frame.read_ms,
            resize=spent.resize + inferred.resize_ms,
            blend=spent.blend + made.blend_ms,
            comparison=comparison_ms,
        )
        styled = self._styled(inferred, made, timings, comparison)
        if inferred.moves:
            painting = rendering.kept
            if made.output is not None:
                painting = HostPainting(made.output, inferred.inputs[0])
            if painting is not None:
                self._moving.painted(inferred, painting, styled)
        else:
            self._moving.forget()
        kept = keeps and not config.compare
        self._kept = (_lasting(inferred), made.output) if kept else None
        return styled

    def finish_again(self, frame: Frame, config: EngineConfig) -> StyledFrame | None:
        """Make the result of the kept output again, with other steps after the network.

        Args:
            frame: The frame of that output, perhaps with another time.

        Returns:
            None if the output was not kept, or if its history would change.
        """
        if self._kept is None:
            return None
        inferred, output = self._kept
        active = self._style_weights.as_chosen(inferred.active)
        smoothed = inferred.mode.has_history and config.smoothing != inferred.config.smoothing
        if active is None or smoothed or inferred.frame.pixels is not frame.pixels:
            return None
        inferred = replace(inferred, frame=frame, config=config, active=active)
        made = self._picture(inferred, output)
        timings = Timings(read=frame.read_ms, blend=made.blend_ms)
        self._kept = inferred, output
        return self._styled(inferred, made, timings)

    def begin_output(self) -> None:
        """Forget an output whose memory the next run of a network may use again."""
        if self._kept is not None and self._kept[0].device.type != "cpu":
            self._kept = None

    def forget_output(self) -> None:
        """Let `finish_again` wait for the next run of the network."""
        self._kept = None

    def move(
        self, frame: Frame, config: EngineConfig, screen: Size | None = None
    ) -> StyledFrame | None:
        """Move the last painting to a newer frame, see `Moving.move`."""
        styled = self._moving.move(frame, config, screen)
        if styled is None:
            return None
        start = time.perf_counter()
        there = self._moving.there
        place = there and there.place
        parts = self._cutout.parts(frame.pixels, config, continues=True, place=place)
        if parts is None:
            return styled
        shown = screen and (screen[1], screen[0])
        pixels, copy = _mixed(parts, styled.frame.pixels, there, shown)
        timings = styled.timings
        blend_ms = timings.blend + (time.perf_counter() - start) * 1e3
        return replace(
            styled, frame=frame.with_pixels(pixels, copy), timings=replace(timings, blend=blend_ms)
        )

    def reset_history(self) -> None:
        """Move no earlier painting, after a change of source or a seek."""
        self._moving.forget()
        self._kept = None

    def _picture(self, inferred: Inferred, output: Pixels | None = None) -> _Picture:
        """Make the displayed picture; `output` is the smoothed one, if it is known."""
        start = time.perf_counter()
        frame, config, rendering = inferred.frame, inferred.config, inferred.rendering
        deep = None
        if rendering.deep is not None and frame.deep is not None:
            outputs = rendering.deep, rendering.pixels, inferred.inputs[0]
            deep = deep_picture(*outputs, frame.deep, config)
            pixels = eight_bits(deep)
        else:
            output, pixels = self._post_process(inferred, config.kernels, output)
        screen, there = rendering.screen if pixels is rendering.pixels else None, rendering.there
        parts = self._cutout.parts(
            *(frame.pixels, config),
            continues=inferred.mode.has_history,
            place=there and there.place,
        )
        if parts is not None:
            shown = rendering.screen
            size = None if shown is None else (shown.shape[0], shown.shape[1])
            pixels, screen = _mixed(parts, pixels, there, size)
            if deep is not None and frame.deep is not None:
                deep = parts.mixed_deep(deep, frame.deep)
        blend_ms = (time.perf_counter() - start) * 1e3
        return _Picture(pixels, screen, output, parts, deep, blend_ms)

    def _record(self, inferred: Inferred, blend_ms: float) -> None:
        rendering = inferred.rendering
        spent = rendering.timings
        self._adaptation.record(
            inferred.variant,
            inferred.config,
            inferred.mode,
            inferred.sizes,
            network_ms=rendering.network_ms,
            around_ms=inferred.resize_ms + spent.resize + spent.blend + blend_ms,
            lite=inferred.active.lite,
        )

    def _styled(
        self,
        inferred: Inferred,
        made: _Picture,
        timings: Timings,
        comparison: Comparison | None = None,
    ) -> StyledFrame:
        frame, rendering = inferred.frame, inferred.rendering
        return StyledFrame(
            frame.with_pixels(made.pixels, made.screen, made.deep),
            frame,
            inferred.config,
            timings,
            inferred.sizes.detail,
            self._run_info(inferred),
            comparison,
            batch=rendering.batch,
            texture=inferred.texture,
            comb=inferred.comb,
            bands=inferred.bands,
        )

    def _post_process(
        self, inferred: Inferred, kernels: str, output: Pixels | None = None
    ) -> tuple[Pixels | None, Pixels]:
        """Return the network's output, smoothed, and the displayed picture.

        The output is None if it stays on a GPU. If it is given, it is not smoothed again.
        """
        rendering = inferred.renderings[kernels]
        if (made := rendering.displayed) is not None:
            # A slider that is being dragged acts at once; smoothing, which has a history, does not.
            wanted = inferred.finish
            wanted = replace(wanted, smoothing=made.smoothing)
            return None, rendering.pixels if wanted == made else self._display.finish(wanted)
        config, resized = inferred.config, inferred.inputs[0]
        if output is None:
            output = self._post.smooth(kernels, rendering.pixels, resized, config)
        return output, self._post.enlarge(output, resized, inferred.frame.pixels, config)

    def _compare(self, inferred: Inferred, pixels: Pixels, parts: Parts | None) -> Comparison:
        """Compare the two networks.

        Args:
            pixels: The displayed picture of the config's network.
            parts: The parts that are painted; None for all of it.
        """
        frame, precision, active = inferred.frame, inferred.precision, inferred.active
        networks = {
            kernels: self._inference.network(inferred, kernels) for kernels in inferred.renderings
        }

        def displayed_of(kernels: str) -> Frame:
            if kernels == inferred.config.kernels:
                return frame.with_pixels(pixels)
            made = self._post_process(inferred, kernels)[1]
            return frame.with_pixels(made if parts is None else parts.mixed(made))

        displayed = {kernels: displayed_of(kernels) for kernels in inferred.renderings}
        return self._comparer.compare(
            inferred.renderings,
            networks,
            inferred.given,
            displayed,
            precision,
            (inferred.device, active.network),
            active.family,
        )

    def _run_info(self, inferred: Inferred) -> RunInfo:
        config, active = inferred.config, inferred.active
        reason = network_reason(
            config,
            lite=active.lite,
            too_slow=self._adaptation.too_slow(inferred.variant),
            lite_unavailable=self._style_weights.lite_unavailable_reason,
            compiling=self._adaptation.compiling,
        )
        limits = reason, inferred.elsewhere, inferred.bands, self._cutout.limitation(config)
        reasons = tuple(filter(None, limits))
        return self._latest_run_info.get(
            config, inferred.device, inferred.precision, active, reasons
        )


def _lasting(inferred: Inferred) -> Inferred:
    """Return an output without what only a comparison needs."""
    rendering = replace(inferred.rendering, raws=())
    return replace(inferred, given=(), renderings={inferred.config.kernels: rendering})


def _mixed(
    parts: Parts, pixels: Pixels, there: PictureThere | None, screen: Size | None
) -> tuple[Pixels, Pixels | None]:
    """Mix a painting with its frame, on the GPU if it is there and the rest is not green.

    Args:
        pixels: The painting, [H, W, 3].
        screen: (height, width) of a copy for a window, which only a GPU makes; None for none.

    Returns:
        The picture and the copy.
    """
    if there is None or parts.green:
        return parts.mixed(pixels), None
    painted = parts.mixed_there(there, screen)
    return painted.pixels, painted.screen
