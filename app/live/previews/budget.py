"""A limit on work that runs alongside a stream, as a share of its time."""

from __future__ import annotations

SHARE = 0.02  # of a stream's time
FIRST_REST_S = 2.0  # before the first work alongside a stream


class StreamBudget:
    """A budget that lets work begin only when the stream has had its share of the time.

    A rest 1 / SHARE - 1 times as long follows every piece, so that at most SHARE of the time is
    spent.
    """

    def __init__(self) -> None:
        self._due: float | None = None  # when the next piece may begin, in seconds

    def allows(self, now: float) -> bool:
        """Return whether a piece may begin at `now`, in seconds of any monotonic clock."""
        if self._due is None:
            self._due = now + FIRST_REST_S
        return now >= self._due

    def spend(self, ended: float, seconds: float) -> None:
        """Record a piece that took `seconds` and ended at `ended`, by the clock of `allows`."""
        self._due = ended + seconds * (1 / SHARE - 1)
