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

    Change pixels with `with_pixels`: dataclasses.replace would keep the old `preview` and `screen`.

    Attributes:
        pixels: [H, W, 3] uint8 RGB.
        index: counts the frames the source produced, so a gap means dropped frames.
        captured_at: `time.perf_counter()` at capture, in seconds.
        read_ms: time to grab or decode the frame, in milliseconds.
        preview: a smaller copy for display, if app.live.display_copy made one.
        screen: [h, w, 4] uint8 of B, G, R and 255, the picture as a window paints it, in the size
            in which it is shown; set if a GPU made one.
        alpha: [H, W] uint8, if the picture is transparent; `pixels` are then over white. Results
            have the same alpha.
        deep: [H, W, 3] uint16, the same picture with 16 bits per channel, if the file has them.
        origin: What a file records besides the pixels; results have the same.
        plays_at: `time.perf_counter()` when the sound of this moment is heard, also for results;
            None if the source has no time of its own.
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

        It has no preview, and only the `screen` and `deep` that the caller passes. It keeps the
        alpha channel only if the size stays the same.
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
        """When the frame's sound is heard, by `time.perf_counter()`; without sound, when it was
        captured.
        """
        return self.captured_at if self.plays_at is None else self.plays_at

    @property
    def width(self) -> int:
        return self.pixels.shape[1]

    @property
    def height(self) -> int:
        return self.pixels.shape[0]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Actual properties of an open source, which can differ from the requested ones.

    Attributes:
        fps: frames per second; 0 for a picture.
        duration: in seconds; 0 for a live source.
        count: number of pictures in a strip; 1 for other sources.
        note: the difference from the request: "requested 1280x720, got 640x480 YUYV at 10 fps".
        exposure: why the exposure of a camera cannot be set, as a sentence; "" if it can be set,
            None if the source has no exposure.
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
    """A source of frames, which a background job opens and only the engine's thread uses.

    Controls that do not apply to a source (seeking a camera) do nothing.
    """

    info: SourceInfo
    kind: str = ""  # name of the bottleneck if the source limits the stream: "camera", "video"
    live: bool = True  # False for pictures: each is delivered once, then read() returns None

    @abstractmethod
    def read(self, timeout: float = 0.02) -> Frame | None:
        """Return the newest frame not yet delivered, or None after `timeout` seconds.

        Raises:
            StyleForgeError: There will never be another frame (a corrupt file).
        """

    @abstractmethod
    def close(self) -> None:
        """Release the device or file. May be called twice, and from any thread."""

    @property
    def status(self) -> str:
        """One sentence about a temporary fault, such as an unplugged camera; else ""."""
        return ""

    @property
    def dropped(self) -> int:
        """Number of frames that newer ones replaced before they were read."""
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
        """Go forward by `count` pictures (a strip, wrapping around) or frames (a paused video)."""

    def set_mode(self, width: int, height: int, fps: float) -> None:
        """Switch a camera to another size, in pixels, and rate, in frames per second."""

    def set_exposure(self, stops: float | None) -> None:
        """Set a camera's exposure time in stops, each of which doubles or halves the time.

        0 is the automatic exposure time at the moment it is left; None returns to automatic.
        """

    @property
    def silence(self) -> str | None:
        """Why the source's sound is not heard, as a sentence; "" if it is, None without sound."""
        return None

    def set_volume(self, volume: float) -> None:
        """Set the volume of the source's sound, 0 to 1."""

    def set_delay(self, seconds: float) -> None:
        """Set the seconds from reading to painting a frame, to keep sound and picture in step."""

    def set_loop(self, part: tuple[float, float] | None) -> None:
        """Loop between the times of two frames of a video, in seconds; None plays all."""

    def listen(self, listener: Listener | None) -> None:
        """Send the source's sound, as it is played, to a listener; None stops sending."""
