"""Follows the light of a stream, and finds out whether its camera still shows the scene."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from app.engine.matting.scene import Floats, Pixels, Scene
from kernels.frames.matting import BRIGHT
from utils.opencv import cv2
from utils.translation.texts import mark

FITTING = 4.0  # deviations within which a pixel measures the light
MEASURED = 6  # every so many rows and columns measure it
FOLLOWED = 0.5  # share of a measured change of light per frame
FIRST_ROUNDS = 3  # of the measurement in the first frame
LEAST_FITTING = 0.12  # share of the pixels: below it, the frame shows another scene
DARK = 12.0  # of 255: darker colors do not measure the light

CHECKED = 6  # frames between two checks whether the camera stands still
COARSE = 2  # pixels per pixel of the copy that is checked
SHIFT = 1.5  # pixels of the matte's size that it may have moved
SURE = 0.15  # peak of the phase correlation, of 1
CHECKS = 3  # in a row that must fail


class Trouble(Enum):
    """Why the difference to the scene tells nothing; the value is a clause."""

    MOVED = mark("the camera has moved")
    OTHER_LIGHT = mark("the light has changed too much")


class SceneWatch:
    """The light of a stream, and whether it fits a scene. Not thread-safe.

    Attributes:
        light: Of the newest frame's channels, as multiples of the scene's.
        trouble: Why the newest frame does not fit the scene; None if it does.
    """

    def __init__(self, scene: Scene) -> None:
        every = np.s_[::MEASURED, ::MEASURED]
        known = scene.colors[every].reshape(-1, 3)
        useful = ((known > DARK) & (known < BRIGHT)).all(1)
        pixels = np.arange(scene.noise.size).reshape(scene.size)
        self._measured = pixels[every].ravel()[useful]  # [n]
        self._known = np.ascontiguousarray(known[useful].T)  # [3, n]
        self._fitting = FITTING * scene.noise[every].ravel()[useful]
        self._edges = _edges(scene.colors)
        height, width = self._edges.shape
        self._window = cv2.createHanningWindow((width, height), cv2.CV_32F)
        self._scale = scene.size[1] / width, scene.size[0] / height
        self.forget()

    def forget(self) -> None:
        """Begin another stream of the same scene."""
        self.light = np.ones(3, np.float32)
        self.trouble: Trouble | None = None
        self._begins, self._frames, self._failed = True, 0, 0

    def resume(self, light: Floats) -> None:
        """Continue a stream in its light."""
        self.light, self._begins = light.astype(np.float32), False

    def see(self, small: Pixels) -> None:
        """Follow the light to the next frame, in the scene's size, and check every few frames."""
        fits = self._follow_light(small)
        self._frames += 1
        if self._frames % CHECKED == 0:
            self._check(small, fits)

    def _follow_light(self, small: Pixels) -> float:
        """Measure the light of a frame; return the share of pixels that fit the scene."""
        now = np.ascontiguousarray(small.reshape(-1, 3)[self._measured].T, np.float32)
        shown = now.max(0, initial=0) < BRIGHT
        count, known = np.count_nonzero(shown), self._known
        if count == 0:
            return 1.0
        rounds, followed = (FIRST_ROUNDS, 1.0) if self._begins else (1, FOLLOWED)
        if self._begins:  # a first guess that a person in half of the frame does not spoil
            guess = np.median(now[:, shown] / known[:, shown], axis=1)
            self.light = guess.astype(np.float32)
            self._begins = False
        fits = 0.0
        for _ in range(rounds):
            apart = np.abs(now - known * self.light[:, None]).max(0)
            fitting = ((apart < self._fitting) & shown).astype(np.float32)
            fits = float(fitting.sum()) / count
            if fits < LEAST_FITTING:
                break
            measured = (now @ fitting) / (known @ fitting)
            self.light = (self.light + followed * (measured - self.light)).astype(np.float32)
        return fits

    def _check(self, small: Pixels, fits: float) -> None:
        shift, peak = cv2.phaseCorrelate(self._edges, _edges(small), self._window)
        moved = max(abs(along) * scale for along, scale in zip(shift, self._scale, strict=True))
        found = None
        if peak > SURE and moved > SHIFT:
            found = Trouble.MOVED
        elif fits < LEAST_FITTING:
            found = Trouble.OTHER_LIGHT
        self._failed = self._failed + 1 if found else 0
        if self._failed == 0:
            self.trouble = None
        elif self._failed >= CHECKS:
            self.trouble = found


def _edges(picture: NDArray[np.uint8] | Floats) -> Floats:
    """Return the edges of a picture, [h, w, 3], in a copy of [h / COARSE, w / COARSE]."""
    height, width = (max(2, side // COARSE) for side in picture.shape[:2])
    coarse = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    gray = np.asarray(cv2.cvtColor(coarse, cv2.COLOR_RGB2GRAY), np.float32)
    right, down = cv2.Sobel(gray, -1, 1, 0), cv2.Sobel(gray, -1, 0, 1)
    return np.asarray(np.minimum(cv2.magnitude(right, down), 60), np.float32)
