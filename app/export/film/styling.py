"""Runs the engine on the frames of a film: in batches, and on a GPU one ahead of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame
from kernels.frames.stream_state import StreamState
from models.inference.frame_styler import DEPTH


class FilmStyling:
    """Styles the frames of a film in their order. For one thread.

    Args:
        engine: Configured for the film, with its history reset.
        batch: How many frames go through the network together. All batches have as many, since
            another number ends the history that smoothing keeps.
    """

    def __init__(self, engine: Engine, batch: int = 1) -> None:
        self._engine, self.batch = engine, batch
        self._under_way: deque[tuple[int, Pending]] = deque()

    @property
    def has_history(self) -> bool:
        """Whether a result depends on the frames before it."""
        config = self._engine.config
        assert config is not None
        return config.smoothing > 0 or config.texture != 0

    def history(self) -> StreamState:
        """What the next frame continues, once the results of `begin` were taken."""
        return self._engine.history()

    def restore(self, history: StreamState) -> None:
        """Continue what another one has begun. Raises EngineError if that cannot be continued."""
        self._engine.restore_history(history)

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        """Style frames.

        Args:
            frames: `batch` frames; fewer at the end of the film.

        Yields:
            What is finished: earlier frames first, and these unless they are under way on a GPU.

        Raises:
            EngineError: There is not enough memory.
        """
        count = len(frames)
        batch = [*frames, *[frames[-1]] * (self.batch - count)]
        if len(self._under_way) == DEPTH:
            yield from self._complete()
        pending = self._engine.begin_batch(batch, ProcessMode.SEQUENCE)
        if pending is not None:
            self._under_way.append((count, pending))
            return
        yield from self.complete_all()
        yield from self._engine.process_batch(batch, ProcessMode.SEQUENCE)[:count]

    def complete_all(self) -> Iterator[StyledFrame]:
        """Wait for everything that is under way."""
        while self._under_way:
            yield from self._complete()

    def discard_all(self) -> None:
        """Wait for everything that is under way, without results."""
        while self._under_way:
            self._engine.discard(self._under_way.popleft()[1])

    def _complete(self) -> list[StyledFrame]:
        count, pending = self._under_way.popleft()
        return self._engine.complete_batch(pending)[:count]
