"""The delivery of results to the window, at the rate of its screen."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.engine.config import same_choice
from app.live.latest_value import LatestValue
from app.live.session.choice import Choice

# Least time between two deliveries, as a share of a screen's frame, since streams are not regular.
SHARE = 0.9
# Seconds within which the next result is worth waiting for when the screen is ready: it is younger
# when it is painted by the time it was awaited.
NEXT_S = 0.003


class Delivery(QObject):
    """A filter that delivers the newest result when the screen is ready.

    Results must match `choice`.

    Attributes:
        refresh_rate: The screen's, in Hz.
        held: Whether every result is delivered.
    """

    styled = Signal(object)  # StyledFrame; the newest, of the choice in force (see same_choice)

    def __init__(self, latest: LatestValue, choice: Choice, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._latest, self._choice = latest, choice
        self.refresh_rate = 60.0
        self.held = False
        self._deliver_at = 0.0
        self._later = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._later.timeout.connect(self._on_time)
        self._awaiting = False  # whether the next result is awaited although one is waiting

    @Slot()
    def _on_time(self) -> None:
        """Deliver a result to the ready screen; in a fast stream, wait for the next result."""
        self._awaiting = not self._awaiting and self._latest.await_next(NEXT_S)
        if self._awaiting:
            self._later.start(math.ceil(NEXT_S * 1e3))  # in case the stream ends
        else:
            self.deliver()

    @Slot()
    def deliver(self) -> None:
        """Deliver the newest result to the window as soon as its screen can show it."""
        early = self._deliver_at - time.perf_counter()
        if early > 0 and not self.held:  # the newest result waits for the screen
            self._later.start(math.ceil(early * 1e3))
            return
        self._awaiting = False
        self._later.stop()
        self._deliver_at = time.perf_counter() + SHARE / self.refresh_rate
        result = self._latest.take()
        if result is not None and same_choice(result.config, self._choice.shown):
            self.styled.emit(result)
