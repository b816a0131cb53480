"""What the studio is doing and how far it is, as values that a window can show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from app.errors import Problem
from app.training.run_store import RunDirectory
from models.training.presets import Preset


class Phase(Enum):
    """What the studio is doing. In ASKING it waits for the user's word on a long run; PAUSED
    is a run put down, in this sitting or an earlier one."""

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
        """Whether something is going on that the user may want to end."""
        return self not in (Phase.IDLE, Phase.PAUSED)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will take on this machine, from real steps; `cheaper` is a quicker preset, if
    there is one, with the seconds it would take."""

    seconds: float
    pace: float  # seconds for one step
    device: str  # "CPU", or a GPU's name
    on_gpu: bool
    cheaper: Preset | None = None
    cheaper_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StepLosses:
    """How far the run is; `skipped` counts photographs that could not be used."""

    iteration: int
    iterations: int
    seconds_left: float
    per_second: float
    skipped: int


@dataclass(frozen=True, slots=True)
class State:
    """Everything a window shows of the studio but pictures and curves. `doing` is a sentence on
    the work under way, `share` how much of it is done, 0-1, where that is known; `problem` is
    why the last run ended."""

    phase: Phase = Phase.IDLE
    run: RunDirectory | None = None
    doing: str = ""
    share: float | None = None
    forecast: Forecast | None = None
    reading: StepLosses | None = None
    problem: Problem | None = None
