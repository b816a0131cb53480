"""Estimates the queue's remaining time from finished pictures and the current entry."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from app.ui.durations import FEW_S, format_duration
from utils.translation.texts import tr

LAST = 12  # the last pictures only, since the machine may have been busier before


@dataclass(frozen=True, slots=True)
class Work:
    """The remaining work.

    Attributes:
        unknown: Entries of unknown duration: films, and folders not yet read.
        under_way_s: Seconds left for the current entry; None if unknown.
    """

    pictures: int
    unknown: int
    under_way_s: float | None = None
    running: bool = False


class Forecast:
    """Estimates from the times of the last pictures."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=LAST)

    def note(self, seconds: float) -> None:
        self._seconds.append(seconds)

    @property
    def per_picture(self) -> float | None:
        """Mean seconds per picture; None before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else None

    def words(self, work: Work) -> str:
        """Return the remaining time, as in "about 3 minutes left"; "" while unknown."""
        each = self.per_picture
        unknown = work.unknown > 0
        seconds = 0.0
        if work.pictures and each is None:
            unknown = True
        elif each is not None:
            seconds += each * work.pictures
        if work.running and work.under_way_s is None:
            unknown = True
        seconds += work.under_way_s or 0.0
        if not seconds:
            return ""
        left = format_duration(seconds)
        if unknown:
            return tr("more than {duration} left", duration=left)
        if seconds < FEW_S:
            return tr("a few seconds left")
        return tr("about {duration} left", duration=left)
