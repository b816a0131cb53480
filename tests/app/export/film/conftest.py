"""Jobs that copy films, to test everything around the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.export.film.codecs import CODECS, CONTAINERS
from app.export.film.job import FilmJob, FilmRequest
from app.export.film.plan import film_request
from app.export.film.reader import film_info
from app.frame import Frame
from kernels.frames.stream_state import StreamState
from models.precision import Precision

RUNNING = RunInfo("Plain", Precision.fp32, "CPU")


class Plain:
    """Returns frames unstyled, one batch late, as a GPU does."""

    has_history = False

    def __init__(self, batch: int = 2) -> None:
        self.batch = batch
        self.seen: list[int] = []
        self._late: list[Frame] = []

    def history(self) -> StreamState:
        return {}

    def restore(self, history: StreamState) -> None:
        assert not history

    def begin(self, frames: Sequence[Frame]) -> Iterator[StyledFrame]:
        late, self._late = self._late, list(frames)
        self.seen += [int(frame.pixels[-1, -1, 0]) for frame in frames]
        yield from map(self._styled, late)

    def complete_all(self) -> Iterator[StyledFrame]:
        late, self._late = self._late, []
        yield from map(self._styled, late)

    def discard_all(self) -> None:
        self._late = []

    def _styled(self, frame: Frame) -> StyledFrame:
        size = frame.width, frame.height
        return StyledFrame(frame, frame, EngineConfig(), Timings(network=1.0), size, RUNNING)


def request(source: Path, target: Path, codec: str = "h264", **how: Any) -> FilmRequest:
    """Return a request for `source`: CPU encoder, best quality, parts of four frames."""
    how = {"quality": "best", "where": "cpu", "part": 4, "identity": {}, **how}
    return film_request(film_info(source), target, codec, **how)


def copy(source: Path, target: Path, codec: str = "h264", **how: Any):
    return FilmJob(request(source, target, codec, **how), Plain()).run()


__all__ = ["CODECS", "CONTAINERS", "Plain", "copy", "request"]
