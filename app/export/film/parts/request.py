"""What film is to be made, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.film.info import FilmInfo
from app.export.film.parts.output import Output
from app.export.film.segment import Encoding

PART = 240  # frames of a part, about what encoders put between two key frames
SHORT = 0.98  # of the frames or seconds that a file says to have; with fewer it is not whole


class FilmCancelled(StyleForgeError):
    """Raised when a film was cancelled; the message says whether finished parts are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class FilmProgress:
    """How far a film is.

    Attributes:
        done: Frames that are styled, those of an earlier run among them.
        count: Frames in all, or nearly so; 0 where it is not known.
        fps: Frames a second of this run, pauses aside.
        styled: The newest frame; None where other processes have it.
    """

    done: int
    count: int
    fps: float
    styled: StyledFrame | None = None

    @property
    def seconds_left(self) -> float | None:
        """Until the end, at this rate; None where it is not known."""
        if not self.count or not self.fps:
            return None
        return max(0, self.count - self.done) / self.fps


@dataclass(frozen=True, slots=True)
class FilmRequest:
    """A film to make.

    Attributes:
        info: The film.
        target: The file of the result.
        encoding: How it is encoded.
        output: Makes it.
        identity: Everything else on which the result depends, for a run that goes on later.
        part: How many frames a part has, at least as many as a batch.
        refused: Why faster encoders cannot be used, one clause each.
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
        """Everything on which the result depends. Raises OSError if the film is gone."""
        about = self.info.path.stat()
        return {
            "source": f"{self.info.path.resolve()}, {about.st_size} bytes of {about.st_mtime_ns}",
            "encoder": repr(self.encoding),
            "part": str(self.part),
            **self.identity,
        }
