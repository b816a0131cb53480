"""What the routes share: the painter, the line before it, jobs, limits, a folder for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.server.jobs import Jobs
from app.server.limits import Limits
from app.server.line import Line
from app.server.painting import Painter


@dataclass(frozen=True, slots=True)
class Studio:
    """The parts of a server.

    Attributes:
        painter: Styles pictures.
        line: In which they wait for it.
        jobs: Those that are not waited for.
        limits: What a request may cost.
        folder: Of the pictures that are waited for; deleted with the server.
    """

    painter: Painter
    line: Line
    jobs: Jobs
    limits: Limits
    folder: Path
