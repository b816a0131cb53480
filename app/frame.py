"""The frame and the interface of frame sources."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.sound.device import Listener
from utils.images.origin import Origin


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An RGB image, read-only so that threads may share it.

    Use `with_pixels`, not dataclasses.replace, to change the pixels: `replace` would keep the
    `preview` and the `screen` of the old ones.

    Attributes:
        pixels: [H, W, 3] uint8 RGB.
        index: counts the frames the source produced, so a gap means dropped frames.
        captured_at: `time.perf_counter()` at capture, in seconds.
        read_ms: time to grab or decode the frame, in milliseconds.
        preview: the same picture with fewer pixels, for display, where app.live.display_copy made
            one.
        screen: [h, w, 4] uint8 of B, G, R and 255, the same picture as a window paints it, in the
            size in which it is shown, where a GPU made one.
        alpha: [H, W] uint8 transparency of a picture that has any; its pixels are then composited
            over white. Results of the frame have the same alpha.
        deep: [H, W, 3] uint16, the same picture with 16 bits per channel, where a file has them.
        origin: What a picture file says beside the pixels; results of the frame have the same.
        plays_at: When the sound of this moment is heard, as `time.perf_counter()`; None where a
            source has no time of its own. Results of the frame have the same.
    """

    pixels: NDArray[np.uint8]
    index: int = 0
    captured_at: float = field(default_factory=time.perf_counter)
    read_ms: float = 0.0
    preview: Frame | None = None
    alpha: NDArray[np.uint8] | None = None
    screen: NDArray[np.uint8] | None = None
    deep: NDArray[np.uint16] | None = None
    origin: Origin | None = None
    plays_at: float | None = None

    def __post_init__(self) -> None:
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or self.pixels.dtype != np.uint8:
            raise ValueError(
                f"expected (H, W, 3) uint8, got {self.pixels.shape} {self.pixels.dtype}"
            )
        self.pixels.setflags(write=False)
        if self.alpha is not None:
            if self.alpha.shape != self.pixels.shape[:2] or self.alpha.dtype != np.uint8:
                raise ValueError(
                    f"expected (H, W) uint8 alpha, got {self.alpha.shape} {self.alpha.dtype}"
                )
            self.alpha.setflags(write=False)
        if self.deep is not None:
            if self.deep.shape != self.pixels.shape or self.deep.dtype != np.uint16:
                raise ValueError(
                    f"expected {self.pixels.shape} uint16, got {self.deep.shape} {self.deep.dtype}"
                )
            self.deep.setflags(write=False)

    def with_pixels(
        self,
        pixels: NDArray[np.uint8],
        screen: NDArray[np.uint8] | None = None,
        deep: NDArray[np.uint16] | None = None,
    ) -> Frame:
        """Return a frame of the same moment with other pixels, [H, W, 3] uint8 RGB.

        It has no preview, and no screen and no 16 bits but those that are given. The alpha channel
        is kept only if the size stays the same.
        """
        alpha = self.alpha if pixels.shape == self.pixels.shape else None
        moment = self.index, self.captured_at, self.read_ms
        return Frame(
            pixels,
            *moment,
            alpha=alpha,
            screen=screen,
            deep=deep,
            origin=self.origin,
            plays_at=self.plays_at,
        )

    @property
    def moment(self) -> float:
        """What the frame is in step with, as `time.perf_counter()`: the sound that is heard then
        or, where the source has no time of its own, was heard when the frame was captured."""
        return self.captured_at if self.plays_at is None else self.plays_at

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.pixels.shape[1]

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.pixels.shape[0]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Actual properties of an open source, which can differ from the requested ones.

    Attributes:
        title: name for the user.
        width: in pixels.
        height: in pixels.
        fps: frames per second; 0 for a picture.
        duration: in seconds; 0 for a live source.
        count: number of pictures in a strip; 1 for other sources.
        note: how the source differs from the request ("requested 1280x720, got 640x480 YUYV at 10
            fps").
        exposure: why the exposure of a camera cannot be set, as a sentence; "" where it can be,
            None where the source has none.
    """

    title: str
    width: int
    height: int
    fps: float = 0.0
    duration: float = 0.0
    count: int = 1
    note: str = ""
    exposure: str | None = None


class FrameSource(ABC):
    """Anything that yields frames.

    A source is opened by a background job, then used by the engine's thread alone. Controls that do
    not apply to a source (seeking a camera) do nothing.
    """

    info: SourceInfo
    kind: str = ""  # name of the bottleneck if the source limits the stream: "camera", "video"
    live: bool = True  # False for pictures: each is delivered once, then read() returns None

    @abstractmethod
    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the newest frame not yet delivered, or None if there is none within `timeout`
        seconds.

        It never waits longer than `timeout`.

        Raises:
            StyleForgeError: there will never be another frame (a corrupt file).
        """

    @abstractmethod
    def close(self) -> None:
        """Release the device or file. May be called twice, and from any thread."""

    @property
    def status(self) -> str:
        """One sentence about a temporary fault ("The camera 'X' was unplugged; waiting for it to
        come back."), or an empty string."""
        return ""

    @property
    def dropped(self) -> int:
        """Number of frames that were replaced by newer ones before they were read."""
        return 0

    @property
    def position(self) -> float:
        """Seconds into a video, or the index of the current picture of a strip."""
        return 0.0

    def seek(self, position: float) -> None:
        """Go to `position`, in the unit of the property; out-of-range values are clamped."""

    def pause(self, paused: bool) -> None:
        """Pause or resume. While paused, read() returns a frame only after a seek or step."""

    def step(self, count: int) -> None:
        """Go `count` pictures (a strip, wrapping around) or frames (a paused video) forward."""

    def set_mode(self, width: int, height: int, fps: float) -> None:
        """Have a camera deliver another size, in pixels, and rate, in frames a second."""

    def set_exposure(self, stops: float | None) -> None:
        """Expose a camera's pictures longer or shorter: each stop doubles or halves the time; 0 is
        that of the automatic when it is left; None for automatic."""

    @property
    def silence(self) -> str | None:
        """Why the sound of the source is not heard, as a sentence; "" where it is, None where the
        source has none."""
        return None

    def set_volume(self, volume: float) -> None:
        """Set how loud the source's sound is heard, 0 to 1."""

    def set_delay(self, seconds: float) -> None:
        """Tell how long it takes from reading a frame until it is painted, so that sound and
        picture are in step."""

    def set_loop(self, part: tuple[float, float] | None) -> None:
        """Play a part of a video again and again, between the times of its first and last frame,
        in seconds; None for all of it."""

    def listen(self, listener: Listener | None) -> None:
        """Give the source's sound, as it is played, to a listener; None for no more."""
