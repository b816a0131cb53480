"""Requests for films, and their progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.info import FilmInfo
from app.export.film.parts.output import Output
from app.export.film.segment import Encoding

PART = 240  # frames per part, about the key frame interval of encoders
SHORT = 0.98  # of the frames or seconds that a file claims; with fewer it is incomplete


class FilmCancelled(StyleForgeError):
    """Raised if a film was cancelled; the message says whether finished parts stay."""


@dataclass(frozen=True, slots=True, eq=False)
class FilmProgress:
    """The progress of a film; `done` includes an earlier run's frames.

    Attributes:
        count: Total number of frames, possibly an estimate; 0 if unknown.
        fps: Frames per second of this run, without pauses.
        styled: The newest frame; None if other processes have it.
    """

    done: int
    count: int
    fps: float
    styled: StyledFrame | None = None

    @property
    def seconds_left(self) -> float | None:
        """The remaining seconds at this rate; None if unknown."""
        if not self.count or not self.fps:
            return None
        return max(0, self.count - self.done) / self.fps


@dataclass(frozen=True, slots=True)
class FilmRequest:
    """A film to make.

    Attributes:
        identity: Everything else that the result depends on, so that a later run can resume.
        part: Number of frames per part, at least one batch.
        refused: Why faster encoders are unusable, one clause each.
    """

    info: FilmInfo
    target: Path
    encoding: Encoding
    output: Output
    identity: Mapping[str, str]
    part: int = PART
    refused: tuple[str, ...] = ()

    @property
    def whole_identity(self) -> dict[str, str]:
        """Return everything that the result depends on.

        Raises:
            OSError: If the source is gone.
        """
        about = self.info.path.stat()
        chosen = {"chosen": self.info.choice} if self.info.choice else {}
        return {
            **chosen,
            "source": f"{self.info.path.resolve()}, {about.st_size} bytes of {about.st_mtime_ns}",
            "encoder": repr(self.encoding),
            "part": str(self.part),
            **self.identity,
        }
