"""The makers of mattes, chosen by the kind of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from app.engine.matting.difference import SceneWatch
from app.engine.matting.files import MatteError, is_network, read_scene
from app.engine.matting.model import ModelMatte
from app.engine.matting.refining import Matte, new_matting, refined
from app.engine.matting.scene import Pixels, Scene, small_copy
from utils.translation.texts import tr

STRETCHED = 1.02  # by which a scene may be wider or taller than a frame


class MatteSource(Protocol):
    """A maker of mattes for the frames of a stream, or for pictures. Not thread-safe.

    Attributes:
        trouble: Why the newest matte is of no use, as an English clause; "" if it is.
    """

    @property
    def trouble(self) -> str: ...

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte:
        """Return the matte of a frame, [H, W, 3].

        Args:
            feather: 0 for edges as sharp as the picture's, 1 for the softest.
            continues: Whether the frame continues the one before.

        Raises:
            MatteError: If the source can make none for this frame.
        """
        ...


class SceneMatte:
    """Mattes by the difference to an empty scene, which is scaled to the frames."""

    def __init__(self, scene: Scene, name: str = "") -> None:
        self._scene, self._name = scene, name
        self._begin(scene)

    @property
    def trouble(self) -> str:
        found = self._watch.trouble
        return found.value if found else ""

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte:
        small = small_copy(frame)
        height, width = small.shape[:2]
        first = not continues or self._first
        if self._matting.size != (height, width):
            self._check_shape(frame)
            self._begin(self._scene.resized(height, width))
            first = True
        if first:
            self._watch.forget()
        self._watch.see(small)
        rough = self._matting.rough(small, self._watch.light, None, first=first)
        self._first = False
        return refined(self._matting, rough, small, feather)

    def _begin(self, scene: Scene) -> None:
        self._watch, self._matting, self._first = SceneWatch(scene), new_matting(*scene.size), True
        self._matting.take_scene(scene.colors, scene.noise)

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


def matte_source(file: str) -> MatteSource:
    """Return the maker of mattes that a file is for, by its ending.

    Raises:
        MatteError: If the file cannot be used. The message is one sentence.
    """
    path = Path(file)
    return ModelMatte(path) if is_network(path) else SceneMatte(read_scene(path), path.name)
