"""Styling of a film's frames in batches, with one batch ahead on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame
from app.options import EVERYTHING
from kernels.frames.stream_state import StreamState
from models.inference.frame_styler import DEPTH


class FilmStyling:
    """A pipeline that styles the frames of a film in order. For one thread.

    Args:
        engine: Configured for the film, with its history reset.
        batch: Number of frames per network run. All batches have this size, because a change of
            size ends the history that smoothing needs.
    """

    def __init__(self, engine: Engine, batch: int = 1) -> None:
        self._engine, self.batch = engine, batch
        self._under_way: deque[tuple[int, Pending]] = deque()

    @property
    def has_history(self) -> bool:
        config = self._engine.config
        assert config is not None
        return config.smoothing > 0 or config.texture != 0 or config.paint != EVERYTHING

    def history(self) -> StreamState:
        return self._engine.history()

    def restore(self, history: StreamState) -> None:
        """Continue from another run's history.

        Raises:
            EngineError: If the engine cannot continue that history.
        """
        self._engine.restore_history(history)

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        """Style `batch` frames, or fewer at the film's end; yield results, earlier frames' first.

        Raises:
            EngineError: If memory is insufficient.
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
        while self._under_way:
            yield from self._complete()

    def discard_all(self) -> None:
        while self._under_way:
            self._engine.discard(self._under_way.popleft()[1])

    def _complete(self) -> list[StyledFrame]:
        count, pending = self._under_way.popleft()
        return self._engine.complete_batch(pending)[:count]
