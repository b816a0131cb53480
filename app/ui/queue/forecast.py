"""How long the queue will take: from the pictures it has made and what is under way."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from app.ui.durations import FEW_S, format_duration
from utils.translation.texts import tr

LAST = 12  # pictures whose times count; the machine may have been busier before


@dataclass(frozen=True, slots=True)
class Work:
    """What is left to do.

    Attributes:
        pictures: That wait in entries of a known number.
        unknown: Entries of which nobody knows how long they take: films, and folders that have not
            been looked into.
        under_way_s: Seconds that the entry under way still takes; None where that is not known.
        running: Whether there is one.
    """

    pictures: int
    unknown: int
    under_way_s: float | None = None
    running: bool = False


class Forecast:
    """Knows how long the last pictures took."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=LAST)

    def note(self, seconds: float) -> None:
        """Take the time of a picture into account, in seconds."""
        self._seconds.append(seconds)

    @property
    def per_picture(self) -> float | None:
        """Seconds for a picture; None before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else None

    def words(self, work: Work) -> str:
        """Say how long it takes: "about 3 minutes left"; "" while nothing is known."""
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
