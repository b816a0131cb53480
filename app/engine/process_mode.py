"""The time that a frame may take, and whether it continues the frame before it."""

from __future__ import annotations

from enum import Enum


class ProcessMode(Enum):
    """How the engine processes a frame.

    Attributes:
        LIVE: A frame of a stream: within the latency budget.
        SINGLE: A picture: as soon as possible.
        REFINE: A picture: in the best quality that takes some seconds.
        SEQUENCE: As REFINE, for frames that continue one another.
    """

    LIVE = "live"
    SINGLE = "single"
    REFINE = "refine"
    SEQUENCE = "sequence"

    @property
    def refines(self) -> bool:
        """Whether the automatic size may take seconds."""
        return self in (ProcessMode.REFINE, ProcessMode.SEQUENCE)

    @property
    def has_history(self) -> bool:
        """Whether each frame continues the previous one; only then are frames smoothed."""
        return self in (ProcessMode.LIVE, ProcessMode.SEQUENCE)
