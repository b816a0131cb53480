"""Parts that all measurements of `styleforge quality` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.quality.measure import ProgressCallback
from utils.text import printable

if TYPE_CHECKING:
    from benchmarks.quality.films import FilmPlan


@contextmanager
def progress(text: str) -> Iterator[ProgressCallback]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(text, total=None)
        yield lambda description: shown.update(task, description=printable(description))


def film_plan_of(args: argparse.Namespace) -> FilmPlan | None:
    """Return the plan for films, after checking that they are readable; None without films."""
    return films_of(args) if args.films else None


def films_of(args: argparse.Namespace) -> FilmPlan:
    """Return the plan for films, of which there may be none, after checking that they are readable.

    Raises:
        QualityError: If a film cannot be played.
    """
    from benchmarks.quality.films import FilmPlan, check_films  # OpenCV, if there are films

    plan = FilmPlan(
        tuple(args.films),
        args.film_frames,
        args.film_size,
        args.smoothing,
        args.kernels,
        args.device,
    )
    check_films(plan)
    return plan
