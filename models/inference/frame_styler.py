"""Frame styling on a GPU, from the frame to the displayed picture: only these two are copied.

The kernels of kernels.frames scale the frame and add texture. They then smooth the network's result
over time, enlarge it with the frame's detail and mix it with the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from kernels.frames.launchers import FrameKernels
from kernels.frames.stream_state import StreamState, part_of, under
from kernels.network.graph_plan import GraphPlan, StageCallback
from models.inference.frame_matting import PictureThere
from models.inference.frame_pipeline import Pixels, is_broken
from models.inference.frame_texture import FrameTexture
from models.inference.host_memory import pinned_like, upload
from models.inference.painted_frames import Finish, FramePainter, KeptPainting, Painted
from models.inference.repeated_work import RepeatedWork
from models.inference.two_resolution import join, shrink
from utils.cuda_streams import current_stream, on_stream

DEPTH = 2  # batches in flight: one is copied while the other is computed


class FrameStyler:
    """The styling of batches of frames of (height, width), with plans for one or two input sizes.

    Usually a batch is one frame. The current stream computes a batch. Meanwhile a second stream can
    upload the next batch and prepare the networks' input from it, and a third stream downloads the
    previous batch. Not thread-safe; for inference mode.

    The plan `detail` has the network's input size, and its N frames are a batch; `strokes`, if any,
    has a smaller one and is the source of the low frequencies.
    """

    def __init__(
        self,
        kernels: FrameKernels,
        frame: tuple[int, int],
        detail: GraphPlan,
        strokes: GraphPlan | None = None,
    ) -> None:
        self.frame, self.detail, self.strokes = frame, detail, strokes
        self._kernels = kernels
        size = detail.shape[1:]
        with torch.inference_mode(False), torch.cuda.device(detail.device):
            ranges = [plan.ranges for plan in self._plans]
            shape = (detail.samples, *frame, 3)
            self._slots = [_Slot(kernels, shape, size, ranges) for _ in range(DEPTH)]
            self._painter = FramePainter(kernels, size, detail.device)
            self._history = kernels.new_history(*size, detail.device)
            self._up, self._down = torch.cuda.Stream(), torch.cuda.Stream()
        for stream in (self._up, self._down):  # the current stream zeroes the buffers first
            stream.wait_stream(self._compute)
        self._next = 0
        self._given = RepeatedWork()  # on the stream of uploads, in parallel with the rest
        self._repeated = RepeatedWork()
        self._texture: FrameTexture | None = None  # created with the first texture
        self._results = detail.pictures  # of the newest batch, before smoothing
        self._finished = self._results[-1]  # of its last frame, after smoothing

    @property
    def _compute(self) -> torch.cuda.Stream:
        return current_stream(self.detail.device.index)

    @property
    def _plans(self) -> list[GraphPlan]:
        return [self.detail] if self.strokes is None else [self.detail, self.strokes]

    def forget(self) -> None:
        """Do not smooth the next frame with earlier ones."""
        self._history.forget()
        if self._texture is not None:
            self._texture.forget()

    def state(self) -> StreamState:
        """Return the stream's state, for another styler of the same sizes; waits for its frames."""
        kept = under("smoothing", self._history.state())
        if self._texture is not None:
            with on_stream(self._up, self._compute):
                kept |= under("texture", self._texture.state())
        return kept

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        self._history.restore(part_of(state, "smoothing"))
        texture = part_of(state, "texture")
        if texture or self._texture is not None:
            with on_stream(self._up, self._compute):
                self._textured.restore(texture)

    def repeats(
        self, finish: Finish, screen: tuple[int, int] | None = None, *, keeps: bool = False
    ) -> bool:
        """Return whether graphs can launch a batch: the newest batches had the same options.

        Stages within a graph cannot be timed.
        """
        begins = finish.smoothing > 0 and self._history.begins
        if finish.texture and (self._texture is None or self._texture.begins):
            begins = True
        due = self._repeated.is_due((finish, screen, keeps))
        return due and not begins and self.strokes is None

    def submit(
        self,
        frames: Sequence[Pixels],
        finish: Finish,
        mark: StageCallback | None,
        screen: tuple[int, int] | None = None,
        *,
        keeps: bool = False,
    ) -> Submission:
        """Start styling a batch of frames.

        Args:
            frames: The plan's number of frames, each [H, W, 3] uint8, RGB. Frames in the memory of
                `new_pinned_pixels` are uploaded from there.
            mark: Called with "start", "upload", "resize", "queue", again "resize", the groups of
                layers, "blend" and "download" as each has been submitted, with its stream as the
                current one. With None, each stream launches one graph if the work `repeats`.
            screen: (height, width) of a copy of each picture for a window; None for none.
            keeps: Whether the last frame's result stays on the GPU as `Submission.kept`.

        Raises:
            RuntimeError: If DEPTH batches are in flight.
        """
        place = self._next
        slot, compute, key = self._slots[place], self._compute, (finish, screen, keeps)
        if slot.in_flight:
            raise RuntimeError(f"{DEPTH} frames are in progress; wait for one first")
        self._next = (self._next + 1) % DEPTH
        repeats = mark is None and self.repeats(finish, screen, keeps=keeps)
        marked, slot.keeps = mark or _unmarked, keeps
        with on_stream(self._up, compute):
            if slot.kept is not None:
                slot.kept.wait_for_reads(self._up)
            marked("start")
            for pixels, staging, frame in zip(frames, slot.staging, slot.frames, strict=True):
                upload(pixels, staging, frame)
            marked("upload")
            if not repeats:
                self._given.add(key)
                self._give(slot, finish)
            elif finish.texture or slot.clean is not slot.batch:
                self._given.submit(place, lambda: partial(self._give, slot, finish))
            marked("resize")
            slot.given.record(self._up)
        compute.wait_event(slot.given)
        if repeats:
            self._repeated.submit(place, lambda: self._prepared(slot, finish, screen))
        else:
            self._repeated.add(key)
            self._compute_batch(slot, finish, marked, screen)
        return self._download(slot, marked, screen)

    def _give(self, slot: _Slot, finish: Finish) -> None:
        """Submit the preparation of the networks' input to the stream of uploads.

        The slot stores the input: the networks may be busy with the batch before.
        """
        if slot.clean is not slot.batch:
            for frame, small in zip(slot.frames, slot.clean, strict=True):
                self._kernels.resize(frame, small)
        clean, small = slot.clean, None
        if self.strokes is not None:
            small = shrink(clean, *self.strokes.shape[1:])
        slot.detail, slot.small = slot.textured if finish.texture else clean, small
        if finish.texture:
            self._textured.add(
                *(clean, slot.detail, small, finish.texture),
                continues=finish.follows,
                comb=finish.comb,
            )
        elif self._texture is not None:
            self._texture.forget()

    @property
    def _textured(self) -> FrameTexture:
        """The adder of texture; first used, and so created, on the stream of uploads."""
        if self._texture is None:
            self._texture = FrameTexture(self._kernels, self.detail, self.strokes)
        return self._texture

    def _compute_batch(
        self, slot: _Slot, finish: Finish, mark: StageCallback, screen: tuple[int, int] | None
    ) -> None:
        mark("queue")
        self._take(slot)
        mark("resize")
        for plan in self._plans:
            plan.replay(mark)
        self._results = self.detail.pictures
        if self.strokes is not None:
            self._results = join(self.strokes.pictures, self.detail.pictures)
        self._finish(slot, finish, screen)
        mark("blend")

    def _prepared(
        self, slot: _Slot, finish: Finish, screen: tuple[int, int] | None
    ) -> Callable[[], None]:
        """Return a function that submits the same, but without strokes, for capture in a graph."""
        network = self.detail.submission()

        def submit() -> None:
            self._take(slot)
            network()
            self._finish(slot, finish, screen)

        return submit

    def _take(self, slot: _Slot) -> None:
        self.detail.frames.copy_(slot.detail)
        if self.strokes is not None:
            assert slot.small is not None
            self.strokes.frames.copy_(slot.small)

    def _finish(self, slot: _Slot, finish: Finish, screen: tuple[int, int] | None) -> None:
        for plan, ranges in zip(self._plans, slot.ranges, strict=True):
            ranges.copy_(plan.ranges)
        for place in range(self.detail.samples):  # smoothing needs them in order
            self._finished = self._smoothed(slot, place, finish)
            self._paint(slot, place, finish, screen)
        if slot.keeps:
            self._keep(slot).pixels.copy_(self._finished)

    def _keep(self, slot: _Slot) -> KeptPainting:
        if slot.kept is None:
            slot.kept = KeptPainting(self._kernels, self.frame, slot.clean[-1], slot.computed)
        return slot.kept

    def finish_again(self, submission: Submission, finish: Finish) -> Submission:
        """Paint a picture again with other options, except for smoothing and texture.

        `submission` is the newest one, of a single frame, after `wait`.
        """
        self._paint(submission.slot, 0, finish)
        return self._download(submission.slot, _unmarked)

    def result(self) -> Pixels:
        """Return the network's output for the newest frame, [h, w, 3] uint8, RGB. Waits for it."""
        return self._results[-1].cpu().numpy()

    def _smoothed(self, slot: _Slot, place: int, finish: Finish) -> Tensor:
        if not finish.smoothing:
            self._history.forget()
            return self._results[place]
        source, result = slot.clean[place], self._results[place]
        self._kernels.smooth(self._history, source, result, finish.smoothing)
        return self._history.smoothed

    def _paint(
        self, slot: _Slot, place: int, finish: Finish, screen: tuple[int, int] | None = None
    ) -> None:
        picture = slot.pictures[place]
        frames = slot.frames[place], slot.clean[place]
        self._painter.paint(*frames, self._finished, picture, finish)
        if screen is not None:
            self._kernels.screen(picture, slot.screens_of(screen)[place])

    def _download(
        self, slot: _Slot, mark: StageCallback, screen: tuple[int, int] | None = None
    ) -> Submission:
        compute = self._compute
        slot.computed.record(compute)
        with on_stream(self._down, compute):
            self._down.wait_event(slot.computed)
            # New buffers, owned by the caller. PyTorch's allocator recycles pinned memory, so
            # nothing is pinned anew after a few frames.
            pictures = [_downloaded(picture) for picture in slot.pictures]
            small = () if screen is None else slot.screens_of(screen)
            screens = [_downloaded(picture) for picture in small]
            for host, ranges in zip(slot.host_ranges, slot.ranges, strict=True):
                host.copy_(ranges, non_blocking=True)
            mark("download")
            slot.finished.record(self._down)
        slot.in_flight = True
        return Submission(slot, pictures, screens)


class Submission:
    """A batch that was submitted to a FrameStyler, with the host buffers of its results."""

    __slots__ = ("_pictures", "_screens", "slot")

    def __init__(self, slot: _Slot, pictures: list[Tensor], screens: list[Tensor]) -> None:
        self.slot, self._pictures, self._screens = slot, pictures, screens

    @property
    def kept(self) -> KeptPainting | None:
        """The result of the last frame on the GPU, if it was to be kept."""
        return self.slot.kept if self.slot.keeps else None

    def there(self) -> list[PictureThere]:
        """Return the pictures on the GPU, one per frame, in order."""
        kernels, slot = self.slot.kernels, self.slot
        pairs = zip(slot.frames, slot.pictures, strict=True)
        return [PictureThere(kernels, frame, picture) for frame, picture in pairs]

    def ready(self) -> bool:
        """Return whether `wait` would return at once."""
        return self.slot.finished.query()

    def wait(self) -> list[Painted]:
        """Wait for the pictures, once; return one per frame, in order."""
        self.slot.finished.synchronize()
        self.slot.in_flight = False
        screens = self._screens or [None] * len(self._pictures)
        return [
            Painted(
                picture.numpy(),
                any(map(is_broken, self.slot.told[place])),
                None if screen is None else screen.numpy(),
            )
            for place, (picture, screen) in enumerate(zip(self._pictures, screens, strict=True))
        ]


class _Slot:
    """Buffers and events of a batch in flight; `shape` is N, H, W and 3, `size` (h, w).

    Attributes:
        clean: [N, h, w, 3], the network's input without texture; `batch` if the sizes are equal.
        detail: The input of the network.
        small: The input of the strokes' network; None with one size.
        given: The event after which both inputs are ready.
        told: For each frame, the [1, 3] tensors of `host_ranges` that describe it.
    """

    def __init__(
        self,
        kernels: FrameKernels,
        shape: tuple[int, ...],
        size: tuple[int, ...],
        ranges: list[Tensor],
    ) -> None:
        self.kernels = kernels
        self.batch = torch.zeros(shape, dtype=torch.uint8, device=ranges[0].device)
        self.frames, self.pictures = list(self.batch), list(torch.zeros_like(self.batch))
        self.clean = self.batch
        if size != shape[1:3]:
            self.clean = self.batch.new_zeros(shape[0], *size, 3)
        self.detail = self.clean
        self.small: Tensor | None = None
        self.ranges = [torch.zeros_like(each) for each in ranges]
        self.staging = [pinned_like(frame) for frame in self.frames]
        self.host_ranges = [pinned_like(each) for each in ranges]
        self.told = [
            [each[place : place + 1] for each in self.host_ranges] for place in range(shape[0])
        ]
        self.given, self.computed = torch.cuda.Event(), torch.cuda.Event()
        self.finished = torch.cuda.Event()
        self.in_flight = False
        self.keeps = False
        self.kept: KeptPainting | None = None  # created with the first frame that is kept
        self._screens: list[Tensor] = []
        self._textured: Tensor | None = None

    @property
    def textured(self) -> Tensor:
        """A buffer for `clean` with texture, allocated on first access."""
        if self._textured is None:
            with torch.inference_mode(False):
                self._textured = torch.zeros_like(self.clean)
        return self._textured

    def screens_of(self, size: tuple[int, int]) -> list[Tensor]:
        """Return buffers for the copies for a window of (height, width), each [h, w, 4] uint8."""
        if not self._screens or self._screens[0].shape[:2] != size:
            with torch.inference_mode(False):
                self._screens = list(self.batch.new_zeros(len(self.frames), *size, 4))
        return self._screens


def _downloaded(picture: Tensor) -> Tensor:
    copied = pinned_like(picture)
    copied.copy_(picture, non_blocking=True)
    return copied


def _unmarked(_stage: str) -> None:
    """Ignore the stage."""
