"""How much time a frame may take, and whether it continues the one before it."""

from __future__ import annotations

from enum import Enum


class ProcessMode(Enum):
    """What a frame is to the engine.

    LIVE: a frame of a stream, due soon. SINGLE: a picture, shown as soon as possible. REFINE: a
    picture, as well as the machine can within seconds. SEQUENCE: as REFINE, for frames that
    follow one another.
    """

    LIVE = "live"
    SINGLE = "single"
    REFINE = "refine"
    SEQUENCE = "sequence"

    @property
    def at_leisure(self) -> bool:
        """Whether the automatic size may spend seconds."""
        return self in (ProcessMode.REFINE, ProcessMode.SEQUENCE)

    @property
    def has_history(self) -> bool:
        """Whether the frame before it is its past; only then is anything smoothed."""
        return self in (ProcessMode.LIVE, ProcessMode.SEQUENCE)
