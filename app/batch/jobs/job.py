"""One picture or film of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Job:
    """One picture or film to read, and the file for its result.

    Attributes:
        before_after: Arrangement of a picture and its result, see
            app.export.before_after.composing.ARRANGEMENTS; "" for the result alone.
        long_side: Most pixels of a picture's long side, to which reading reduces it; None for all.
    """

    source: Path
    target: Path
    film: bool = False
    before_after: str = ""
    long_side: int | None = None
