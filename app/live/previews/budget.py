"""Limits work beside a stream to a share of its time."""

from __future__ import annotations

SHARE = 0.02  # of a stream's time
FIRST_REST_S = 2.0  # before the first work beside a stream


class StreamBudget:
    """Lets a piece of work begin only when the stream has had the time that it is owed.

    Every piece is followed by a rest that is 1 / SHARE - 1 times as long, so that at the end of
    each rest at most SHARE of the time since the beginning was spent.
    """

    def __init__(self) -> None:
        self._due: float | None = None  # when the next piece may begin, in seconds

    def allows(self, now: float) -> bool:
        """Whether a piece may begin.

        Args:
            now: The time in seconds, of any clock that never goes back.
        """
        if self._due is None:
            self._due = now + FIRST_REST_S
        return now >= self._due

    def spend(self, ended: float, seconds: float) -> None:
        """Record a piece that was done.

        Args:
            ended: When it ended, by the clock of `allows`.
            seconds: How long it took.
        """
        self._due = ended + seconds * (1 / SHARE - 1)
