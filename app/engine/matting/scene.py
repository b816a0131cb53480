"""The empty scene behind a person, learned from the frames of a camera that stands still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3] RGB
Floats = NDArray[np.float32]

LONG_SIDE = 640  # of mattes and scenes in pixels, at most
FRAMES = 15  # from which a scene is learned
LEARNED_S = 2.0
NOISE = 2.5  # of 255: the deviation of the steadiest pixel
UNKNOWN_NOISE = 5.0  # of a picture, whose noise cannot be measured
OF_MEDIAN = 1.4826  # the deviation of normal noise per median absolute deviation
SHARP = 0.15  # pixels that an edge may move without being a difference
MOST_SHARP = 6.0  # of 255, by which that may change a pixel


def matte_size(height: int, width: int) -> tuple[int, int]:
    """Return the height and width of the matte of a frame, at most LONG_SIDE pixels."""
    scale = min(1.0, LONG_SIDE / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def small_copy(pixels: Pixels) -> Pixels:
    """Return a frame in the size of its matte, or the frame itself if it is as small."""
    height, width = matte_size(*pixels.shape[:2])
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A scene without the person.

    Attributes:
        colors: [h, w, 3] float32, 0-255, of a size of `matte_size`.
        noise: [h, w] float32, the usual deviation of a frame from `colors`, of 255.
    """

    colors: Floats
    noise: Floats

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.noise.shape
        return height, width

    def resized(self, height: int, width: int) -> Scene:
        """Return the scene for frames of another size."""

        def scaled(values: Floats) -> Floats:
            made = cv2.resize(values, (width, height), interpolation=cv2.INTER_AREA)
            return np.asarray(made, np.float32)

        return Scene(scaled(self.colors), scaled(self.noise))

    @classmethod
    def of_picture(cls, picture: Pixels) -> Scene:
        """Return the scene that a picture, [H, W, 3] uint8, shows."""
        colors = small_copy(picture).astype(np.float32)
        noise = np.full(colors.shape[:2], UNKNOWN_NOISE, np.float32)
        return cls(colors, _with_edges(noise, colors))

    @classmethod
    def of_frames(cls, frames: list[Pixels]) -> Scene:
        """Return the scene that FRAMES frames of one size, [h, w, 3] uint8, have in common.

        A pixel's color is the median of the frames, so that something that only passes is not part
        of the scene.
        """
        colors = median_of(frames)
        deviations = [cv2.absdiff(frame, colors) for frame in frames]
        spread = median_of([np.asarray(each, np.uint8) for each in deviations]).max(axis=2)
        # The median of small whole numbers is coarse, so that a window's mean takes its place.
        noise = np.asarray(cv2.blur(spread * np.float32(OF_MEDIAN), (9, 9)), np.float32)
        kept = colors.astype(np.float32)
        return cls(kept, _with_edges(np.maximum(noise, np.float32(NOISE)), kept))


class SceneLearner:
    """Collects the frames of a stream for a scene. Not thread-safe."""

    def __init__(self) -> None:
        self._frames: list[Pixels] = []
        self._begun = self._next = 0.0

    @property
    def share(self) -> float:
        """The share of the frames that are there, 0 to 1."""
        return len(self._frames) / FRAMES

    def take(self, pixels: Pixels, moment: float) -> Scene | None:
        """Take a frame of a moment in seconds; return the scene once there are enough.

        Frames of another size begin again.
        """
        small = small_copy(pixels)
        if self._frames and self._frames[0].shape != small.shape:
            self._frames.clear()
        if not self._frames:
            self._begun = self._next = moment
        if moment < self._next:
            return None
        self._frames.append(small.copy() if small is pixels else small)
        self._next = self._begun + len(self._frames) * LEARNED_S / (FRAMES - 1)
        return Scene.of_frames(self._frames) if len(self._frames) == FRAMES else None


def median_of(pictures: list[Pixels]) -> Pixels:
    """Return the median of an odd number of pictures of one shape, pixel by pixel.

    Odd-even transposition (Knuth, The Art of Computer Programming 3, 5.3.4) sorts whole pictures,
    many times faster than np.median.
    """
    ordered = [picture.copy() for picture in pictures]
    buffer = np.empty_like(ordered[0])
    for turn in range(len(ordered)):
        for n in range(turn % 2, len(ordered) - 1, 2):
            low, high = ordered[n], ordered[n + 1]
            np.minimum(low, high, out=buffer)
            np.maximum(low, high, out=high)
            ordered[n], buffer = buffer, low
    return ordered[len(ordered) // 2]


def _with_edges(noise: Floats, colors: Floats) -> Floats:
    """Add the change of pixels next to edges that move by SHARP pixels."""
    gray = cv2.cvtColor(colors, cv2.COLOR_RGB2GRAY)
    right, down = cv2.Sobel(gray, -1, 1, 0, scale=1 / 8), cv2.Sobel(gray, -1, 0, 1, scale=1 / 8)
    moved = np.minimum(SHARP * cv2.magnitude(right, down), MOST_SHARP)
    return np.asarray(cv2.magnitude(noise, moved), np.float32)
