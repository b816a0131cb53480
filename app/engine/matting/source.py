"""The makers of mattes, chosen by the kind of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from app.engine.matting.difference import SceneWatch
from app.engine.matting.files import MatteError, is_mask, is_network, read_scene
from app.engine.matting.masks import mask_at
from app.engine.matting.model import ModelMatte
from app.engine.matting.refining import Matte, MatteStream, MatteThere, softened
from app.engine.matting.scene import Floats, Pixels, Scene, matte_size, small_copy
from kernels.frames.stream_state import StateError, StreamState, taken
from models.inference.frame_matting import Place
from utils.translation.texts import tr

STRETCHED = 1.02  # by which a scene may be wider or taller than a frame


class MatteSource(Protocol):
    """A maker of mattes for the frames of a stream, or for pictures. Not thread-safe.

    Attributes:
        trouble: Why the newest matte is of no use, as an English clause; "" if it is.
    """

    @property
    def trouble(self) -> str: ...

    def compute_on(self, place: Place | None) -> None:
        """Make the next mattes on a GPU, or on the processor with None."""
        ...

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte | MatteThere:
        """Return the matte of a frame, [H, W, 3].

        Args:
            feather: 0 for edges as sharp as the picture's, 1 for the softest.
            continues: Whether the frame continues the one before.

        Raises:
            MatteError: If the source can make none for this frame.
        """
        ...

    def forget(self) -> None:
        """Begin another stream."""
        ...

    def state(self) -> StreamState:
        """Return the state of the frames so far, for `restore`."""
        ...

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If it comes from another source.
        """
        ...


class SceneMatte:
    """Mattes by the difference to an empty scene, which is scaled to the frames."""

    def __init__(self, scene: Scene, name: str = "") -> None:
        self._scene, self._name = scene, name
        self._place: Place | None = None
        self._begin(scene)

    @property
    def trouble(self) -> str:
        found = self._watch.trouble
        return found.value if found else ""

    def compute_on(self, place: Place | None) -> None:
        self._place = place
        self._stream.compute_on(place)

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte | MatteThere:
        small = small_copy(frame)
        self._fit(frame)
        if not continues:
            self.forget()
        self._watch.see(small)
        return self._stream.differing(small, self._watch.light, feather)

    def forget(self) -> None:
        self._watch.forget()
        self._stream.forget()

    def state(self) -> StreamState:
        kept = self._stream.state()
        return {**kept, "light": self._watch.light.copy()} if kept else {}

    def restore(self, state: StreamState) -> None:
        self.forget()
        if state:
            height, width, _ = taken(state, "frame").shape
            if self._stream.size != (height, width):
                self._begin(self._scene.resized(height, width))
            self._stream.restore(state)
            self._watch.resume(taken(state, "light"))

    def _begin(self, scene: Scene) -> None:
        self._watch, self._stream = SceneWatch(scene), MatteStream(*scene.size, self._place)
        self._stream.take_scene(scene)

    def _fit(self, frame: Pixels) -> None:
        """Scale the scene to a frame."""
        height, width = matte_size(*frame.shape[:2])
        if self._stream.size != (height, width):
            self._check_shape(frame)
            self._begin(self._scene.resized(height, width))

    def _check_shape(self, frame: Pixels) -> None:
        (height, width), (tall, wide) = frame.shape[:2], self._scene.size
        stretched = (width * tall) / (height * wide)
        if not 1 / STRETCHED <= stretched <= STRETCHED:
            raise MatteError(
                tr(
                    "the empty scene {name} has another shape than the picture, {width}x{height}",
                    name=self._name,
                    width=width,
                    height=height,
                )
            )


class MaskMatte:
    """Mattes by a mask painted by hand, which is stretched to every frame.

    The edges are the brush's, and follow no picture.

    Args:
        mask: [h, w] float32 from 0 to 1.
    """

    trouble = ""

    def __init__(self, mask: Floats) -> None:
        self._mask = mask
        self._softened: tuple[float, Matte] | None = None

    def compute_on(self, place: Place | None) -> None:
        """Do nothing: a mask is only mixed in."""

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte:  # noqa: ARG002
        if self._softened is None or self._softened[0] != feather:
            self._softened = feather, softened(self._mask, feather)
        return self._softened[1]

    def forget(self) -> None:
        """Do nothing: a mask depends on no frame."""

    def state(self) -> StreamState:
        return {}

    def restore(self, state: StreamState) -> None:
        if state:
            raise StateError(tr("the saved state of the stream comes from a matte"))


def check_matte(file: str, frame: Pixels | None) -> None:
    """Check that a file makes mattes, and that they fit a frame, [H, W, 3], if there is one.

    Raises:
        MatteError: If the file cannot be used. The message is one sentence.
    """
    source = matte_source(file)
    if frame is not None:
        source.of(frame, 0.0, continues=False)


def matte_source(file: str) -> MatteSource:
    """Return the maker of mattes that a file is for, by its ending.

    Raises:
        MatteError: If the file cannot be used. The message is one sentence.
    """
    path = Path(file)
    if is_mask(path):
        return MaskMatte(np.asarray(mask_at(path) / 255, np.float32))
    return ModelMatte(path) if is_network(path) else SceneMatte(read_scene(path), path.name)
