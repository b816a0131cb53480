"""Learns the empty scene of a stream, for mattes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.engine.matting.files import keep_scene, scenes_folder
from app.engine.matting.scene import SceneLearner
from app.errors import Problem
from app.frame import Frame


class SceneLearning:
    """Learns a scene from the frames of a stream while it plays. Not thread-safe.

    Args:
        progressed: Called with the finished share, 0 to 1; None at the end.
        learned: Called with the file of the scene.
        failed: Called if it cannot be written.
    """

    def __init__(
        self,
        progressed: Callable[[float | None], object],
        learned: Callable[[Path], object],
        failed: Callable[[Problem], object],
    ) -> None:
        self._progressed, self._learned, self._failed = progressed, learned, failed
        self._learner: SceneLearner | None = None

    def begin(self) -> None:
        """Learn from the next frames on."""
        self._learner = SceneLearner()
        self._progressed(0.0)

    def stop(self) -> None:
        """Learn nothing, if a scene is being learned."""
        if self._learner is not None:
            self._learner = None
            self._progressed(None)

    def take(self, frame: Frame) -> None:
        """Take a frame of the stream, if a scene is being learned."""
        learner = self._learner
        if learner is None:
            return
        scene = learner.take(frame.pixels, frame.captured_at)
        if scene is None:
            self._progressed(learner.share)
            return
        self.stop()
        try:
            file = keep_scene(scene, scenes_folder())
        except OSError as exc:
            self._failed(Problem.of(exc, failure="Could not keep the empty scene"))
        else:
            self._learned(file)
