"""The values that a frame loop passes to its users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.engine.config import EngineConfig
from app.errors import Problem
from app.frame import Frame, SourceInfo


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """The state between two steps of a loop.

    Attributes:
        moving: Whether a stream plays, so that further frames follow.
        idle: Whether the last step found nothing to do.
    """

    frame: Frame
    config: EngineConfig
    moving: bool
    idle: bool


def _nothing(*_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class LoopEvents:
    """Callbacks of a loop; all run on the thread that steps it.

    Attributes:
        info_changed: The properties of a new source, and every change of them.
        ended: The source delivers no more frames.
        config_rejected: The config that stays in force, or None.
        progress: The finished share of a picture computed in bands of rows; 1 at its end.
        refining: The finished share of a picture being computed in better quality: 0 at the start,
            None at the end.
        learning: The finished share of an empty scene being learned; None at the end.
        learned: The file of the learned scene, see EngineConfig.matte.
    """

    ready: Callable[[], object] = _nothing
    problem: Callable[[Problem], object] = _nothing
    info_changed: Callable[[SourceInfo], object] = _nothing
    ended: Callable[[], object] = _nothing
    status: Callable[[str], object] = _nothing
    position_changed: Callable[[float], object] = _nothing
    silence_changed: Callable[[str | None], object] = _nothing
    config_rejected: Callable[[EngineConfig | None], object] = _nothing
    progress: Callable[[float], object] = _nothing
    refining: Callable[[float | None], object] = _nothing
    learning: Callable[[float | None], object] = _nothing
    learned: Callable[[Path], object] = _nothing


NO_EVENTS = LoopEvents()
