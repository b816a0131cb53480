"""Which pictures go through the network together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.commands.stylize.jobs import Job
from app.commands.stylize.limits import Limits
from utils.images.opening import ImageError
from utils.images.reading import picture_size


@dataclass(frozen=True, slots=True)
class Group:
    """Pictures that are read, and as far as possible styled, together.

    Attributes:
        jobs: One, or a full batch of pictures of one size.
        held_bytes: The memory they take while they are in flight.
    """

    jobs: tuple[Job, ...]
    held_bytes: int


def groups(jobs: Iterable[Job], limits: Limits) -> Iterator[Group]:
    """Make full batches of successive pictures of one size, and groups of one of all others, in
    the order of the jobs. The sizes are those in the files' heads, so they do not depend on what
    is read when.

    Args:
        jobs: The pictures.
        limits: How many pictures of a size are a batch.
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
    """(0, 0) of a file whose head cannot be read: reading it will say why."""
    try:
        return picture_size(job.source)
    except ImageError:
        return 0, 0
