"""Runs the engine on the pictures of a folder: in batches, and on a GPU one ahead of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.commands.stylize.files import FAULTS, Picture
from app.commands.stylize.jobs import Job
from app.commands.stylize.limits import Limits
from app.engine.engine import Engine
from app.engine.inferred import Pending
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from models.inference.frame_styler import DEPTH
from utils.text import printable


@dataclass(frozen=True, slots=True, eq=False)
class Styled:
    """A picture and what the engine made of it.

    Attributes:
        picture: The picture.
        result: The result.
        notices: What the engine said meanwhile, one sentence each.
    """

    picture: Picture
    result: StyledFrame
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """A picture of which there will be no result, and why; `notices` as of Styled."""

    job: Job
    error: Exception
    notices: tuple[str, ...] = ()


class Styling:
    """Styles groups of pictures in their order. For one thread.

    Args:
        engine: Its config is changed.
        limits: With the config of the command line.
        notices: Where the engine's notices are put; they are taken out again.
    """

    def __init__(self, engine: Engine, limits: Limits, notices: list[str]) -> None:
        self._engine, self._limits, self._notices = engine, limits, notices
        follows = limits.config.smoothing > 0  # the pictures are consecutive frames of a video
        self._mode = ProcessMode.SEQUENCE if follows else ProcessMode.REFINE
        self._under_way: deque[tuple[Sequence[Picture], Pending]] = deque()  # on the GPU

    @property
    def under_way(self) -> bool:
        """Whether there is something to `complete`."""
        return bool(self._under_way)

    def begin(self, group: Sequence[Picture | Failed]) -> Iterator[Styled | Failed]:
        """Style the pictures of a group, as one batch if all could be read and have one size.

        Args:
            group: As they were read.

        Yields:
            What is finished: pictures of earlier groups first, and of this one those that are not
            under way on a GPU.
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
        """Wait for the batch that was begun first on the GPU."""
        batch, pending = self._under_way.popleft()
        try:
            results = self._engine.complete_batch(pending)
        except FAULTS as exc:
            return self._one_by_one(batch, exc)
        return self._finished(batch, results)

    def complete_all(self) -> Iterator[Styled | Failed]:
        """Wait for everything that is under way."""
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
        if config != self._engine.config:  # what is under way is completed with its own config
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
        """Style a batch and wait for it."""
        try:
            results = self._engine.process_batch([each.frame for each in batch], self._mode)
        except FAULTS as exc:
            return self._one_by_one(batch, exc)
        return self._finished(batch, results)

    def _one_by_one(self, batch: Sequence[Picture], error: Exception) -> list[Styled | Failed]:
        """Style the pictures of a batch that failed one after another; one alone has failed."""
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
        return [  # notices go with the first
            Styled(picture, result, self._taken_notices())
            for picture, result in zip(batch, results, strict=True)
        ]

    def _taken_notices(self) -> tuple[str, ...]:
        taken = tuple(self._notices)
        self._notices.clear()
        return taken
