"""Paints only a person or only the background, by a matte."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.matting.files import is_of_source
from app.engine.matting.refining import Matte, MatteThere
from app.engine.matting.scene import Floats, Pixels
from app.engine.matting.source import MatteSource, matte_source
from app.options import EVERYTHING, GREEN, ONLY_PERSON
from kernels.frames.stream_state import StateError, StreamState
from models.inference.frame_matting import PictureThere, Place
from models.inference.painted_frames import Painted
from utils.opencv import cv2
from utils.translation.texts import tr

D = TypeVar("D", np.uint8, np.uint16)
ROWS = 256  # of a deep picture, mixed at once
DEEP = 257  # levels of 16 bits per level of 8
KEY_COLOR = (0, 255, 0)  # of 255; OBS removes it unless told otherwise


class Cutout:
    """The parts of a stream's frames that are painted. Not thread-safe."""

    def __init__(self) -> None:
        self._file = ""
        self._source: MatteSource | None = None
        self._left = False  # whether a scene or a mask would be of the picture before

    def choose(self, file: str) -> None:
        """Take mattes from a file, see app.engine.matting.files; "" for none.

        Between `leave_picture` and `take_picture`, a learned scene or a mask counts as none.

        Raises:
            MatteError: If the file cannot be used; the one in use stays.
        """
        if self._left and is_of_source(Path(file)):
            file = ""
        if file != self._file:
            self._source = matte_source(file) if file else None
            self._file = file

    def leave_picture(self) -> None:
        """Forget a learned scene or a mask, because another picture or source follows."""
        self._left = True
        if is_of_source(Path(self._file)):
            self._file, self._source = "", None

    def take_picture(self) -> None:
        """Take scenes and masks again: who chooses them knows the picture that follows."""
        self._left = False

    def reset(self) -> None:
        """Begin another stream."""
        if self._source is not None:
            self._source.forget()

    def state(self) -> StreamState:
        """Return the state of the frames before the next one, for `restore`."""
        return {} if self._source is None else self._source.state()

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`, with the same file.

        Raises:
            StateError: If it comes from another file.
        """
        if self._source is not None:
            self._source.restore(state)
        elif state:
            raise StateError(tr("the saved state of the stream comes from a matte"))

    def limitation(self, config: EngineConfig) -> str:
        """Return why a config's `paint` has not its full effect, as a clause; "" if it has."""
        if config.paint == EVERYTHING:
            return ""
        if self._source is None:
            return tr("everything is painted, since no empty scene was learned")
        return tr(self._source.trouble) if self._source.trouble else ""

    def parts(
        self,
        frame: Pixels,
        config: EngineConfig,
        *,
        continues: bool,
        place: Place | None = None,
    ) -> Parts | None:
        """Return which parts of a frame, [H, W, 3], are painted; None for all of it.

        `place` is the GPU that makes the matte; with None, the processor does, as for a green rest.

        Raises:
            MatteError: If the file has another shape than the frame, or its network fails.
        """
        if config.paint == EVERYTHING or self._source is None:
            return None
        green = config.rest == GREEN
        self._source.compute_on(None if green else place)
        swapped = (config.paint == ONLY_PERSON) == config.swap_matte
        return Parts(
            self._source.of(frame, config.feather, continues=continues),
            frame,
            swapped=swapped,
            green=green,
        )


class Parts:
    """The parts of one frame that are painted: the person, or the rest if `swapped`.

    Attributes:
        green: Whether all else is KEY_COLOR and not the frame.
    """

    def __init__(
        self, matte: Matte | MatteThere, frame: Pixels, *, swapped: bool, green: bool
    ) -> None:
        self._matte, self._frame, self._swapped = matte, frame, swapped
        self.green = green

    def mixed(self, painted: Pixels) -> Pixels:
        """Return the frame or green with these parts of a painting, [H, W, 3]."""
        if self.green:
            share, made = self._share(), np.full_like(painted, KEY_COLOR)
            cv2.blendLinear(painted, made, share, 1 - share, made)
            return made
        return self._matte.mixed(painted, self._frame, swapped=self._swapped)

    def mixed_there(self, there: PictureThere, screen: tuple[int, int] | None = None) -> Painted:
        """Return the frame with these parts of a painting on a GPU, see `PictureThere.mix`.

        Use `mixed` for a green rest.
        """
        slopes = self._matte.on(there.place)
        return there.mix(slopes, swapped=self._swapped, screen=screen)

    def mixed_deep(
        self, painted: NDArray[np.uint16], frame: NDArray[np.uint16]
    ) -> NDArray[np.uint16]:
        """Return `mixed` with 16 bits per channel."""
        share = self._share()
        green = np.array(KEY_COLOR, np.float32) * DEEP
        mixed = np.empty_like(painted)
        for top in range(0, len(frame), ROWS):
            rows = np.s_[top : top + ROWS]
            there = green if self.green else frame[rows].astype(np.float32)
            mixed[rows] = np.rint(there + share[rows, :, None] * (painted[rows] - there))
        return mixed

    def _share(self) -> Floats:
        """Return how much of each pixel is painted, [H, W] float32 from 0 to 1."""
        share = self._matte.at(self._frame)
        return 1 - share if self._swapped else share
