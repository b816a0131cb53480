"""Answers of another process about a picture or a part of a film, without pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.batch.error import StylizeError
from app.batch.jobs.job import Job
from app.batch.pictures.pipeline import Outcome
from app.engine.config import EngineConfig
from app.engine.result import RunInfo, StyledFrame, Timings
from app.export.film.parts.split import Part
from app.export.film.parts.work import MadePart
from app.frame import Frame


@dataclass(frozen=True, slots=True)
class Result:
    """Facts about a written result, see app.engine.result.StyledFrame."""

    timings: Timings
    size: tuple[int, int]
    running: RunInfo
    batch: int = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a picture failed.

    Attributes:
        number: The operating system's error number; None for any other fault.
        file: The file that the operating system names, if any.
    """

    text: str
    number: int | None = None
    file: str | None = None

    @classmethod
    def of(cls, exc: Exception) -> Fault:
        if not isinstance(exc, OSError):
            return cls(str(exc))
        file = None if exc.filename is None else str(exc.filename)
        return cls(exc.strerror or str(exc), exc.errno or 0, file)

    @property
    def error(self) -> Exception:
        if self.number is None:
            return StylizeError(self.text)
        return OSError(self.number, self.text, self.file)


@dataclass(frozen=True, slots=True)
class PictureAnswer:
    """The result or the fault of a picture, see app.batch.pictures.pipeline.Outcome."""

    item: Job
    result: Result | None
    fault: Fault | None = None
    remark: str = ""
    notices: tuple[str, ...] = ()

    @classmethod
    def of(cls, outcome: Outcome) -> PictureAnswer:
        styled, error = outcome.styled, outcome.error
        result = styled and Result(styled.timings, styled.size, styled.running, styled.batch)
        fault = error and Fault.of(error)
        return cls(outcome.job, result, fault, outcome.remark, outcome.notices)

    def outcome(self, config: EngineConfig) -> Outcome:
        """Return the outcome, with empty pictures. `config` is the run's."""
        styled, made = None, self.result
        if made is not None:
            empty = Frame(np.empty((0, 0, 3), np.uint8))
            styled = StyledFrame(
                empty, empty, config, made.timings, made.size, made.running, batch=made.batch
            )
        error = self.fault and self.fault.error
        return Outcome(self.item, styled, error, self.remark, self.notices)


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The file of a part of a film; `made` is None if no frame of the part was readable."""

    item: Part
    made: MadePart | None
