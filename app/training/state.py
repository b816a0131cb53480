"""The state of training, as values that a window can show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from app.errors import Problem
from app.training.run_store import RunDirectory
from models.training.presets import Preset


class Phase(Enum):
    """The phases of the controller.

    AWAITING_CONFIRMATION waits for the user's decision about a long run; PAUSED is a run that was
    stopped in this or an earlier session.
    """

    IDLE = auto()
    PREPARING = auto()
    MEASURING = auto()
    AWAITING_CONFIRMATION = auto()
    TRAINING = auto()
    STOPPING = auto()
    PAUSED = auto()
    FINISHING = auto()

    @property
    def busy(self) -> bool:
        return self not in (Phase.IDLE, Phase.PAUSED)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The training time on this machine in `seconds`, measured with real steps.

    Attributes:
        cheaper: a faster preset, if there is one.
        cheaper_seconds: training time of that preset.
    """

    seconds: float
    seconds_per_step: float
    device: str
    on_gpu: bool
    cheaper: Preset | None = None
    cheaper_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The progress of a run.

    Attributes:
        per_second: Iterations per second.
        skipped: The number of photographs that could not be used.
    """

    iteration: int
    iterations: int
    seconds_left: float
    per_second: float
    skipped: int


@dataclass(frozen=True, slots=True)
class State:
    """Everything a window shows about training, except pictures and losses.

    Attributes:
        fraction: finished share of that work, 0 to 1; None if unknown.
    """

    phase: Phase = Phase.IDLE
    run: RunDirectory | None = None
    doing: str = ""
    fraction: float | None = None
    forecast: Forecast | None = None
    progress: TrainingProgress | None = None
    problem: Problem | None = None
