"""Frames that stay on the GPU from their upload to the displayed picture."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import torch

from app.engine.config import EngineConfig
from app.engine.network_pool import Network, Rendering, Size
from app.engine.post.blending import Pixels
from app.engine.resolution import Sizes
from app.engine.result import Timings
from app.engine.stage_timer import Stopwatch
from kernels.frames.combing import Comb
from kernels.frames.launchers import frame_kernels
from kernels.frames.stream_state import StateError, StreamState
from models.inference.frame_styler import FrameStyler, Submission
from models.inference.painted_frames import Finish
from utils.translation.texts import tr

STYLERS_KEPT = 2  # each holds buffers of the frame's size
# Milliseconds of a painting, from which on a stream may move it, see app.live.fluid; to keep its
# result on the GPU takes time as well.
MOVED_MS = 40.0
# In a repeating stream, one batch in this many is timed; one graph launches each of the others.
TIMED_EVERY = 8


@dataclass(frozen=True, slots=True, eq=False)
class Submitted:
    """A batch of frames in flight on the GPU.

    Attributes:
        clock: Measures the batch's stages; None to use the timings of the newest timed batch.
    """

    styler: FrameStyler
    submission: Submission
    clock: Stopwatch | None
    finish: Finish


class DisplayPath:
    """The GPU path from the upload to the download of only the displayed picture.

    For the fused network on a GPU, it replaces app.engine.post. Up to DEPTH batches, most of them a
    single frame, may be in flight. Not thread-safe.
    """

    def __init__(self) -> None:
        self._stylers: dict[Hashable, FrameStyler] = {}
        self._newest: Submitted | None = None
        self._weights: Hashable = None  # key of the newest frame's weights
        self._restored: StreamState = {}  # the state that the next frame continues
        self._clocks: dict[torch.device, list[Stopwatch]] = {}  # clocks of collected batches
        self._spent: Timings | None = None  # of a frame of the newest timed batch
        self._timed: FrameStyler | None = None  # the styler of that batch
        self._untimed = 0  # batches submitted since the newest timed one

    def reset_history(self) -> None:
        """Do not smooth the next frame with earlier ones."""
        self._newest, self._restored = None, {}

    def state(self) -> StreamState:
        """Return the state of the frames submitted so far, for `restore`. Waits for them."""
        return self._restored if self._newest is None else self._newest.styler.state()

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`, with the same weights."""
        self._newest, self._restored = None, state

    def submit(
        self,
        network: Network,
        frames: Sequence[Pixels],
        sizes: Sizes,
        finish: Finish,
        weights: Hashable,
        screen: Size | None = None,
        *,
        moves: bool = False,
    ) -> Submitted | None:
        """Start styling frames of one size, which go through the network as one batch.

        Args:
            frames: Each [H, W, 3] uint8, RGB.
            weights: Key of the weights; another key discards the history used for smoothing.
            screen: (width, height) of a copy of each picture that a window paints.
            moves: Whether newer frames may show the last frame's painting, moved. If paintings
                take MOVED_MS, `Rendering.kept` is its result.

        Returns:
            A batch for `collect`; None if this path is not available.

        Raises:
            StateError: If the restored state does not fit.
        """
        with network.computing():
            styler = self._styler(network, frames, sizes)
            if styler is None:
                if self._restored:
                    raise StateError(tr("the saved state of the stream comes from other kernels"))
                self.reset_history()
                return None
            before = self._newest
            if before is None or styler is not before.styler or weights != self._weights:
                styler.forget()
                if self._restored:
                    styler.restore(self._restored)
            shown = None if screen is None else (screen[1], screen[0])
            keeps = moves and self._is_slow(styler)
            repeats = styler.repeats(finish, shown, keeps=keeps)
            timed = network.by_layer or self._is_timed(styler) or not repeats
            self._untimed = 0 if timed else self._untimed + 1
            clock = self._clock(network.device) if timed else None
            mark = clock and clock.mark
            submission = styler.submit(frames, finish, mark, shown, keeps=keeps)
        self._newest, self._weights = Submitted(styler, submission, clock, finish), weights
        self._restored = {}
        return self._newest

    def collect(self, submitted: Submitted) -> list[Rendering]:
        """Wait for a batch and return its displayed pictures, one per frame.

        The timings of each are its share of the batch's, or of the newest timed batch's.
        """
        painted, clock = submitted.submission.wait(), submitted.clock
        if clock is not None:
            self._spent = clock.read(wait=False).share(len(painted))
            self._timed = submitted.styler
            clock.reset()
            self._clocks.setdefault(clock.device, []).append(clock)
        share = self._spent
        assert share is not None
        renderings = [
            Rendering(
                picture.pixels,
                share,
                picture.broken,
                displayed=submitted.finish,
                screen=picture.screen,
                batch=len(painted),
                there=there,
            )
            for picture, there in zip(painted, submitted.submission.there(), strict=True)
        ]
        renderings[-1] = replace(renderings[-1], kept=submitted.submission.kept)
        return renderings

    def _is_timed(self, styler: FrameStyler) -> bool:
        return styler is not self._timed or self._untimed + 1 >= TIMED_EVERY

    def _is_slow(self, styler: FrameStyler) -> bool:
        """Return whether the newest timed batch of a styler took MOVED_MS."""
        spent = self._spent
        if spent is None or styler is not self._timed:
            return False
        return spent.resize + spent.network + spent.blend + spent.download >= MOVED_MS

    def finish(self, finish: Finish) -> Pixels:
        """Make the newest frame's picture again; smoothing and texture options stay."""
        newest = self._newest
        assert newest is not None
        (picture,) = newest.styler.finish_again(newest.submission, finish).wait()
        return picture.pixels

    def _styler(
        self, network: Network, frames: Sequence[Pixels], sizes: Sizes
    ) -> FrameStyler | None:
        """Return a styler with the network's plans for these sizes; None if there are none."""
        samples = len(frames)
        detail = network.plan(sizes.detail, samples)
        kernels = frame_kernels(network.device) if detail is not None else None
        if detail is None or kernels is None:
            return None
        strokes = network.plan(sizes.strokes, samples) if sizes.strokes != sizes.detail else None
        size = frames[0].shape[0], frames[0].shape[1]
        key = network, samples, size, sizes.detail, sizes.strokes
        styler = self._stylers.pop(key, None)
        if styler is None or (styler.detail, styler.strokes) != (detail, strokes):
            styler = FrameStyler(kernels, size, detail, strokes)
        self._stylers[key] = styler  # last in the dict: the first is the least recently used
        if len(self._stylers) > STYLERS_KEPT:
            self._stylers.pop(next(iter(self._stylers)))
        return styler

    def _clock(self, device: torch.device) -> Stopwatch:
        """Return the clock of a collected batch, whose events are reused, or else a new clock."""
        idle = self._clocks.get(device)
        return idle.pop() if idle else Stopwatch(device, running=False)

    def clear(self) -> None:
        self._stylers.clear()
        self._clocks.clear()
        self._timed = None
        self.reset_history()


def finish_of(
    config: EngineConfig, *, texture: float, continues: bool, comb: Comb | None = None
) -> Finish:
    """Return the steps from the network's output to the displayed picture, for a config.

    Args:
        continues: Whether the frame continues the one before it; only then it is smoothed.
    """
    return Finish(
        config.strength,
        config.keep_colors,
        config.upsampling == "guided",
        config.smoothing if continues else 0.0,
        texture,
        follows=continues and texture > 0,
        comb=comb,
    )
