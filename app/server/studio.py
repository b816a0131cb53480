"""The parts that the routes share: the painter, its line, jobs, limits, a folder for pictures."""

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
        line: The line in which pictures wait for the painter.
        jobs: The jobs, whose clients do not wait.
        folder: For pictures whose clients wait; deleted with the server.
    """

    painter: Painter
    line: Line
    jobs: Jobs
    limits: Limits
    folder: Path
