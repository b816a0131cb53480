"""Frames, and what every source of frames promises."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An RGB image (H, W, 3, uint8), read-only so that threads may share it.

    `index` counts what the source produced, so a gap is a dropped frame; `captured_at` is
    `time.perf_counter()` at capture; `read_ms` is what decoding or grabbing it cost; `small` is
    the same picture with fewer pixels, for windows, where app.live.display_copy made one; `alpha`
    (H, W, uint8) is the transparency of a picture that has any, whose pixels are laid over white:
    what is made of the frame has the same.

    Use `with_pixels`, not dataclasses.replace, to give a frame other pixels: `replace` would keep
    the small copy of the old ones.
    """

    pixels: NDArray[np.uint8]
    index: int = 0
    captured_at: float = field(default_factory=time.perf_counter)
    read_ms: float = 0.0
    small: Frame | None = None
    alpha: NDArray[np.uint8] | None = None

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

    def with_pixels(self, pixels: NDArray[np.uint8]) -> Frame:
        """Another picture (H, W, 3, uint8) of the same moment; it has no small copy yet. The
        transparency stays where the size does."""
        alpha = self.alpha if pixels.shape == self.pixels.shape else None
        return Frame(pixels, self.index, self.captured_at, self.read_ms, alpha=alpha)

    @property
    def width(self) -> int:
        return self.pixels.shape[1]

    @property
    def height(self) -> int:
        return self.pixels.shape[0]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a source really is, after opening it; never what was asked for.

    `fps` is 0 where there is no rate (a picture); `duration` is in seconds, 0 where endless;
    `count` is the number of pictures in a strip, 1 otherwise; `note` says in words what
    differs from what was asked ("asked for 1280x720, got 640x480 YUYV at 10 fps").
    """

    title: str
    width: int
    height: int
    fps: float = 0.0
    duration: float = 0.0
    count: int = 1
    note: str = ""


class FrameSource(ABC):
    """Anything that yields frames.

    Opened on a background job, then used by the engine's thread alone. The controls that
    make no sense for a source (seeking a camera) do nothing.
    """

    info: SourceInfo
    kind: str = ""  # what the meter calls it when it limits the stream: "camera", "video"
    live: bool = True  # False: a picture; each picture is delivered once, then read() idles

    @abstractmethod
    def read(self, timeout: float = 0.02) -> Frame | None:
        """The newest frame not yet delivered; None if there is none within `timeout` seconds.

        Never waits longer than `timeout`, so that the caller stays responsive. Raises
        StyleForgeError when there will never be another frame (a corrupt file).
        """

    @abstractmethod
    def close(self) -> None:
        """Release the device or file. May be called twice, and from any thread."""

    @property
    def status(self) -> str:
        """One sentence while something is wrong but may mend itself ("The camera 'X' was
        unplugged; waiting for it to come back."); empty while all is well."""
        return ""

    @property
    def dropped(self) -> int:
        """Frames the source produced that were replaced by newer ones before they were read."""
        return 0

    @property
    def position(self) -> float:
        """Seconds into a video, or the index of the current picture of a strip."""
        return 0.0

    def seek(self, position: float) -> None:
        """Go to `position` (see there); out-of-range values are clamped."""

    def pause(self, paused: bool) -> None:
        """While paused, read() delivers nothing new; a seek or step still delivers its frame."""

    def step(self, count: int) -> None:
        """Go `count` pictures (a strip, wrapping) or frames (a paused video) onward."""
