"""The outcome of a picture, without pixels, for other processes too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.batch.error import shown
from app.batch.jobs.job import Job
from app.engine.result import RunInfo, StyledFrame, Timings
from utils.text import printable


@dataclass(frozen=True, slots=True)
class Result:
    """Facts about a written result, see app.engine.result.StyledFrame."""

    timings: Timings
    running: RunInfo
    batch: int = 1

    @classmethod
    def of(cls, styled: StyledFrame) -> Result:
        return cls(styled.timings, styled.running, styled.batch)


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a picture failed.

    Attributes:
        of_system: Whether the operating system reported it.
        file: The file that the operating system names, if any.
    """

    text: str
    of_system: bool = False
    file: str | None = None

    @classmethod
    def of(cls, exc: Exception) -> Fault:
        if not isinstance(exc, OSError):
            return cls(str(exc))
        file = None if exc.filename is None else str(exc.filename)
        return cls(exc.strerror or str(exc), True, file)

    def told(self, path: Path) -> str:
        """Describe it with the whole path, because several folders may contain the same name."""
        if self.of_system:
            return f"'{shown(self.file or path)}': {self.text}"
        name = printable(path.name)
        if f"'{name}'" in self.text:
            return self.text.replace(f"'{name}'", f"'{shown(path)}'", 1)
        return self.text if shown(path) in self.text else f"'{shown(path)}': {self.text}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a picture.

    Attributes:
        result: The written result; None if the picture failed.
        fault: Why it failed.
        remark: For the user; may be empty.
        notices: The engine's notices meanwhile, one sentence each.
    """

    job: Job
    result: Result | None = None
    fault: Fault | None = None
    remark: str = ""
    notices: tuple[str, ...] = ()
