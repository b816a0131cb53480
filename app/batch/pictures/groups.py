"""Grouping of pictures into network batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.batch.jobs.job import Job
from app.batch.limits import Limits
from utils.images.opening import ImageError
from utils.images.reading import picture_size


@dataclass(frozen=True, slots=True)
class Group:
    """Pictures that are read and styled together: one, or a full batch of the same size.

    Attributes:
        held_bytes: Their memory while they are in flight.
    """

    jobs: tuple[Job, ...]
    held_bytes: int


def groups(jobs: Iterable[Job], limits: Limits) -> Iterator[Group]:
    """Group consecutive pictures of the same size into full batches; all others stay single.

    The jobs keep their order. Sizes come from the file headers, so they do not depend on the
    order of reading.
    """
    gathered: list[Job] = []
    size = 0, 0
    for job in jobs:
        found = _size(job)
        if found != size:
            yield from _singles(gathered, size, limits)
            gathered, size = [], found
        gathered.append(job)
        if len(gathered) == (limits.batch_of(*size) if size != (0, 0) else 1):
            yield Group(tuple(gathered), len(gathered) * limits.held(*size))
            gathered = []
    yield from _singles(gathered, size, limits)


def _singles(jobs: list[Job], size: tuple[int, int], limits: Limits) -> Iterator[Group]:
    return (Group((job,), limits.held(*size)) for job in jobs)


def _size(job: Job) -> tuple[int, int]:
    """Return a picture's size, (width, height).

    Return (0, 0) if its header is unreadable: reading the picture will report that.
    """
    try:
        return picture_size(job.source)
    except ImageError:
        return 0, 0
