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
    """The parts of a server; `folder`, for waiting clients' pictures, is deleted with it."""

    painter: Painter
    line: Line
    jobs: Jobs
    limits: Limits
    folder: Path
