"""The moments to read frames at, while a GPU computes the frame before."""

from __future__ import annotations

import time

from app.engine.result import Timings

LEAD = 2  # multiples of the upload time, before the end of the frame ahead
LONGEST_S = 0.02  # that commands wait for a frame in flight
EARLY_S = 0.0002  # how late a sleeping thread may wake up


class Pacing:
    """The time at which a frame in flight ends, from the times of the frames before.

    Attributes:
        due: When to read the next frame, at the earliest.
        ends: When the frame in flight is expected to end.
        spent_s: The time of the newest frame from upload to download.
    """

    def __init__(self) -> None:
        self.due = self.ends = self.spent_s = 0.0

    def timeout(self) -> float:
        """Return how many seconds a read may wait for a frame, without idling the GPU."""
        left = self.ends - EARLY_S - time.perf_counter()
        return min(max(left, 0.0), LONGEST_S)

    def begun(self) -> None:
        """Note that a frame was begun."""
        self.ends = time.perf_counter() + self.spent_s

    def completed(self, spent: Timings) -> None:
        """Note the times of a frame; the next one, if it was begun, is now computed."""
        computed = spent.resize + spent.network + spent.blend
        self.spent_s = (computed + spent.download) / 1e3
        self.begun()
        # Half of the frame now being computed, or the time until the next one is read and scaled;
        # but a GPU that had to wait for its frame does not wait longer.
        lead = max(computed / 2, LEAD * (spent.upload + spent.resize))
        self.due = time.perf_counter() + max(0.0, min(computed - lead, spent.queue)) / 1e3
