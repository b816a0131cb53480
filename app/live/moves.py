"""Shows a slow stream's last painting, moved with the scene, while the next one is painted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.frame import Frame
from app.live.fluid import Fluid

BETWEEN_S = 0.002  # between two questions whether a GPU that moves paintings is done


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A frame that the engine's thread took; times are `time.perf_counter()`.

    Attributes:
        shown: The frame to style: `frame`, or its copy in the size of the display.
        copied: When that copy was ready.
    """

    frame: Frame
    shown: Frame
    begun: float
    copied: float


class Moves:
    """The moves of a stream's last painting. Not thread-safe.

    Attributes:
        under_way: Whether the painting under way is not shown itself, but moved to each frame.
        spent_s: The time of moves while it is painted, in seconds.
    """

    def __init__(
        self,
        read: Callable[[float], Taken | None],
        move: Callable[[Taken], StyledFrame | None],
        deliver: Callable[[StyledFrame, Taken], object],
    ) -> None:
        """Set the loop's steps: reading within a time limit in seconds, moving and delivering."""
        self.under_way, self.spent_s = False, 0.0
        self._read, self._move, self._deliver = read, move, deliver
        self._fluid = Fluid()
        self._shown = False  # whether the newest frame was shown by a moved painting

    def forget(self) -> None:
        """Begin again, with another source."""
        self.under_way = self._shown = False
        self._fluid.forget()

    def begin(self, taken: Taken) -> None:
        """Move the painting to a frame that is to be painted, if paintings are slow."""
        self.spent_s, self._shown = 0.0, False
        self.under_way = self._fluid.active and self._show(taken) is not None

    def resume(self) -> None:
        """Go on moving the last painting, while a frame begun earlier is painted on a GPU."""
        self.under_way = self._fluid.active and self._shown

    def wait(self, until: float) -> None:
        """Wait until a time of `time.perf_counter()`; meanwhile show newer frames as `resume`."""
        self.resume()
        if not self.under_way and (left := until - time.perf_counter()) > 0:
            time.sleep(left)
        while self.under_way and (left := until - time.perf_counter()) > 0:
            self.show_newer(min(left, BETWEEN_S))
        self.under_way = False

    def painted(self, seconds: float) -> None:
        """Record the time of a painting in seconds, without the moves."""
        self._fluid.painted(seconds)

    def show_newer(self, timeout: float = 0.0) -> None:
        """Show the source's next frame, if it is there within `timeout` seconds."""
        if not self._fluid.has_time(time.perf_counter()):
            time.sleep(timeout)
            return
        try:
            taken = self._read(timeout)
        except StyleForgeError:  # the next step reads again, and reports it
            self.under_way = False
            return
        if taken is not None:
            styled = self._show(taken)
            ended = time.perf_counter()
            self.spent_s += ended - taken.begun
            # The network goes on while a move waits for the GPU.
            queued_s = 0.0 if styled is None else styled.timings.queue / 1e3
            self._fluid.moved(taken.begun + queued_s, ended)

    def _show(self, taken: Taken) -> StyledFrame | None:
        """Deliver the last painting, moved to a frame, and return it; None if there is none."""
        styled = self._move(taken)
        self._shown = styled is not None
        if styled is not None:
            self._deliver(styled, taken)
        return styled
