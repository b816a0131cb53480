"""Styling of a folder's pictures in batches, with one batch ahead on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.pictures.files import FAULTS, Picture
from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from models.inference.frame_styler import DEPTH
from utils.text import printable


@dataclass(frozen=True, slots=True, eq=False)
class Styled:
    """A picture and its result, with the engine's notices meanwhile, one sentence each."""

    picture: Picture
    result: StyledFrame
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """A picture without a result, and the reason; `notices` as in Styled."""

    job: Job
    error: Exception
    notices: tuple[str, ...] = ()


class Styling:
    """A styler of picture groups, in order. Use each instance from one thread only.

    Args:
        notices: The list to which the engine adds its notices. This class empties it.
    """

    def __init__(self, engine: Engine, limits: Limits, notices: list[str]) -> None:
        self._engine, self._limits, self._notices = engine, limits, notices
        follows = limits.config.smoothing > 0  # the pictures are consecutive frames of a video
        self._mode = ProcessMode.SEQUENCE if follows else ProcessMode.REFINE
        self._under_way: deque[tuple[Sequence[Picture], Pending]] = deque()  # in flight on the GPU

    @property
    def under_way(self) -> bool:
        """Whether `complete` has a batch to wait for."""
        return bool(self._under_way)

    def begin(self, group: Sequence[Picture | Failed]) -> Iterator[Styled | Failed]:
        """Begin a group, as one batch if all its pictures were read and have the same size.

        Yield the outcomes that are complete by now, in order; `complete` returns later ones.
        """
        pictures = [each for each in group if isinstance(each, Picture)]
        if len(pictures) == len(group) and len({each.frame.pixels.shape for each in pictures}) == 1:
            yield from self._begin(pictures)
            return
        for each in group:
            if isinstance(each, Picture):
                yield from self._begin([each])
            else:
                yield from self.complete_all()
                yield each

    def complete(self) -> list[Styled | Failed]:
        """Wait for the oldest batch in flight on the GPU."""
        batch, pending = self._under_way.popleft()
        try:
            results = self._engine.complete_batch(pending)
        except FAULTS as exc:
            return self._one_by_one(batch, exc)
        return self._finished(batch, results)

    def complete_all(self) -> Iterator[Styled | Failed]:
        """Wait for all batches in flight."""
        while self._under_way:
            yield from self.complete()

    def _begin(self, batch: Sequence[Picture]) -> Iterator[Styled | Failed]:
        first = batch[0]
        try:
            frame = first.frame
            size = self._limits.size(first.job.source.name, frame.width, frame.height)
        except FAULTS as exc:
            yield from self.complete_all()
            for picture in batch:
                yield self._failed(picture, exc)
            return
        config = replace(self._limits.config, size=size)
        if config != self._engine.config:  # batches in flight are completed with their own config
            yield from self.complete_all()
            self._engine.configure(config)
        if len(self._under_way) == DEPTH:
            yield from self.complete()
        frames = [picture.frame for picture in batch]
        try:
            pending = self._engine.begin_batch(frames, self._mode)
        except FAULTS as exc:
            yield from self.complete_all()
            yield from self._one_by_one(batch, exc)
            return
        if pending is not None:
            self._under_way.append((batch, pending))
            return
        yield from self.complete_all()
        yield from self._processed(batch)

    def _processed(self, batch: Sequence[Picture]) -> list[Styled | Failed]:
        try:
            results = self._engine.process_batch([each.frame for each in batch], self._mode)
        except FAULTS as exc:
            return self._one_by_one(batch, exc)
        return self._finished(batch, results)

    def _one_by_one(self, batch: Sequence[Picture], error: Exception) -> list[Styled | Failed]:
        """Style the pictures of a failed batch one after another; a batch of one has failed."""
        if len(batch) == 1:
            return [self._failed(batch[0], error)]
        first = batch[0]
        self._notices.append(
            f"{printable(first.job.source.name)} and the {len(batch) - 1} after it are stylized "
            f"one after another: {error}"
        )
        return [each for picture in batch for each in self._processed([picture])]

    def _failed(self, picture: Picture, error: Exception) -> Failed:
        return Failed(picture.job, error, self._taken_notices())

    def _finished(
        self, batch: Sequence[Picture], results: list[StyledFrame]
    ) -> list[Styled | Failed]:
        return [  # the first picture carries the notices
            Styled(picture, result, self._taken_notices())
            for picture, result in zip(batch, results, strict=True)
        ]

    def _taken_notices(self) -> tuple[str, ...]:
        taken = tuple(self._notices)
        self._notices.clear()
        return taken
