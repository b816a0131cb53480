"""Refines rough mattes: closed holes, edges where the picture has them, softened edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from app.engine.matting.reference import ReferenceMatting, matte_at, mixed
from app.engine.matting.scene import Floats, Pixels, Scene
from kernels.frames.native_matting import NativeMatting, native_mixed
from kernels.frames.native_smoothing import is_ready
from kernels.frames.stream_state import StateError, StreamState, taken
from models.inference.frame_matting import FrameMatting, Place
from utils.opencv import cv2
from utils.translation.texts import tr

COARSE = 4  # pixels per pixel of the copy in which holes are closed
LARGEST_HOLE = 0.01  # share of the picture; larger ones show the background, as under an arm
LEAST_PERSON = 0.002  # share of the picture; smaller spots are noise
FEATHER = 0.04  # of the long side: deviation of the widest soft edge


@dataclass(frozen=True, slots=True, eq=False)
class Matte:
    """A matte as a linear function of the luma, so that it has the edges of the full frame.

    Attributes:
        slope: [h, w] float32, per level of luma (0-255).
        base: [h, w] float32.
    """

    slope: Floats
    base: Floats

    def at(self, frame: Pixels) -> Floats:
        """Return the matte for a frame, [H, W] float32 from 0 to 1."""
        return matte_at(frame, self.slope, self.base)

    def mixed(self, painted: Pixels, frame: Pixels, *, swapped: bool) -> Pixels:
        """Mix a painting with its frame, both [H, W, 3].

        Args:
            swapped: Whether the painting is where the matte is 0, and not where it is 1.
        """
        mix = native_mixed if is_ready() else mixed
        return mix(painted, frame, self.slope, self.base, swapped=swapped)

    def on(self, place: Place) -> Tensor:
        """Return slope and base on a GPU, [h, w, 2]."""
        both = np.stack([self.slope, self.base], axis=-1)
        return torch.as_tensor(both, device=place.device)


class MatteThere:
    """A matte whose slope and base are on a GPU, like Matte; valid until the stream's next one.

    Attributes:
        slopes: [h, w, 2] float32.
    """

    def __init__(self, slopes: Tensor, matting: FrameMatting) -> None:
        self.slopes, self._matting = slopes, matting

    @cached_property
    def here(self) -> Matte:
        slopes = self._matting.downloaded(self.slopes)
        return Matte(*(np.ascontiguousarray(each) for each in np.moveaxis(slopes, -1, 0)))

    def at(self, frame: Pixels) -> Floats:
        """Return the matte for a frame, [H, W] float32 from 0 to 1."""
        return self.here.at(frame)

    def mixed(self, painted: Pixels, frame: Pixels, *, swapped: bool) -> Pixels:
        """Mix a painting with its frame, see `Matte.mixed`."""
        return self.here.mixed(painted, frame, swapped=swapped)

    def on(self, place: Place) -> Tensor:  # noqa: ARG002
        """Return slope and base on a GPU, [h, w, 2]."""
        return self.slopes


class MatteStream:
    """The mattes of a stream of frames of one size, each steadied by the one before.

    Not thread-safe.
    """

    def __init__(self, height: int, width: int, place: Place | None = None) -> None:
        self.size = height, width
        self._place, self._matting = place, _matting_of(place, height, width)
        self._scene: Scene | None = None
        self._last: tuple[Pixels, Floats] | None = None  # the newest frame, and its rough matte

    def compute_on(self, place: Place | None) -> None:
        """Continue on a GPU, or on the processor with None."""
        if place == self._place:
            return
        self._place, self._matting = place, _matting_of(place, *self.size)
        if self._scene is not None:
            self.take_scene(self._scene)
        if self._last is not None:
            frame, rough = self._last
            self._matting.rough(frame, None, rough, first=True)

    @property
    def begins(self) -> bool:
        """Whether the next frame is the first of a stream."""
        return self._last is None

    def take_scene(self, scene: Scene) -> None:
        """Compare the next frames with a scene of their size."""
        self._scene = scene
        self._matting.take_scene(scene.colors, scene.noise)

    def forget(self) -> None:
        """Begin another stream."""
        self._last = None

    def differing(self, small: Pixels, light: Floats, feather: float) -> Matte | MatteThere:
        """Return the matte of the next frame by its difference to the scene.

        Args:
            small: The frame, [h, w, 3].
            light: Of its channels, as multiples of the scene's.
            feather: 0 for edges as sharp as the picture's, 1 for the softest.
        """
        return self._refined(small, light, None, feather)

    def given(self, small: Pixels, rough: Floats, feather: float) -> Matte | MatteThere:
        """Return the matte of the next frame by a rough one, [h, w] from 0 to 1."""
        return self._refined(small, None, rough, feather)

    def state(self) -> StreamState:
        """Return the state of the frames so far, for `restore`; empty at the begin of a stream."""
        return {} if self._last is None else {"frame": self._last[0], "rough": self._last[1]}

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If it has another frame size.
        """
        self.forget()
        if state:
            frame, rough = taken(state, "frame"), taken(state, "rough")
            if rough.shape != self.size:
                raise StateError(tr("the saved state of the stream has another frame size"))
            self._last = frame, self._matting.rough(frame, None, rough, first=True)

    def _refined(
        self, small: Pixels, light: Floats | None, given: Floats | None, feather: float
    ) -> Matte | MatteThere:
        matting = self._matting
        rough = matting.rough(small, light, given, first=self.begins)
        self._last = small, rough
        if isinstance(matting, FrameMatting):
            matte = MatteThere(matting.guided(closed(rough)), matting)
        else:
            matte = Matte(*matting.guided(closed(rough)))
        return softened(matte.at(small), feather) if feather > 0 else matte


def _matting_of(
    place: Place | None, height: int, width: int
) -> NativeMatting | ReferenceMatting | FrameMatting:
    if place is not None:
        return FrameMatting(place, height, width)
    return (NativeMatting if is_ready() else ReferenceMatting)(height, width)


def closed(rough: Floats) -> Floats:
    """Fill small holes in a person and remove spots that are too small to be one."""
    height, width = rough.shape
    few = max(1, width // COARSE), max(1, height // COARSE)
    coarse = cv2.resize(rough, few, interpolation=cv2.INTER_AREA)
    person = (coarse > 0.5).astype(np.uint8)
    square = np.ones((3, 3), np.uint8)
    person = np.asarray(cv2.morphologyEx(person, cv2.MORPH_CLOSE, square), np.uint8)
    holes, spots = _small_parts(1 - person, LARGEST_HOLE), _small_parts(person, LEAST_PERSON)

    def enlarged(parts: Pixels) -> Floats:
        grown = cv2.dilate(parts, square).astype(np.float32)
        return np.asarray(cv2.resize(grown, (width, height)), np.float32)

    if holes is not None:
        rough = np.maximum(rough, enlarged(holes))
    return rough if spots is None else rough * (1 - enlarged(spots))


def softened(matte: Floats, feather: float) -> Matte:
    """Return a matte, [h, w], with edges softened by 0 to 1, which follow no picture."""
    if feather > 0:
        deviation = max(0.3, feather * FEATHER * max(matte.shape))
        matte = np.asarray(cv2.GaussianBlur(matte, (0, 0), deviation), np.float32)
    return Matte(np.zeros_like(matte), matte)


def _small_parts(mask: Pixels, share: float) -> Pixels | None:
    """Return the parts of a mask, [h, w] of 0 and 1, that are smaller than a share of it.

    None if there are none.
    """
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    small = np.asarray(stats[:, cv2.CC_STAT_AREA] < share * mask.size, np.uint8)
    small[0] = 0  # the rest
    return small[np.asarray(labels, np.int32)] if small.any() else None
