"""The jobs that paint all open pictures into a new folder, one job per style."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.error import StylizeError
from app.batch.jobs.naming import name_pattern
from app.batch.jobs.planning import plan_jobs
from app.batch.queue.description import Kind, described
from app.batch.queue.job import JobState, QueuedJob
from app.engine.config import EngineConfig
from app.ui.controllers.exporter import pictures_folder
from app.ui.queue.look import look_words
from utils.translation.texts import tr

NAME = "{stem}-{style}{suffix}"
NUMBERED = "{number:04}-{stem}-{style}{suffix}"  # for pictures of one name from several folders


@dataclass(frozen=True, slots=True)
class PaintAllOrder:
    """The user's choices in the dialog.

    Attributes:
        looks: Configs with one style or mix each; every picture is painted in each.
        folder: The folder for the results; if it cannot take all of them, they go to a new one.
        chosen: Whether the user chose the folder, see `chosen_place`.
        long_side: Most pixels of the results' long side; None for the size of the pictures.
    """

    paths: tuple[Path, ...]
    looks: tuple[EngineConfig, ...]
    folder: Path
    long_side: int | None = None
    chosen: bool = False

    def jobs(self, known: Sequence[QueuedJob]) -> list[list[str]]:
        """Return the arguments of the jobs; reads files, so call it on a background thread.

        Args:
            known: The jobs of the queue, whose folders stay theirs.

        Raises:
            StylizeError: If the results cannot have names of their own.
        """
        if self.chosen:
            place = chosen_place(self.folder, self.paths, self.looks, known)
        else:
            place = usual_place(self.folder, known)
        folder = place.of(range(len(self.looks)))
        inputs = [str(path.absolute()) for path in self.paths]
        made = []
        for look in self.looks:
            style = "+".join(look.styles)
            name, _ = _plan(inputs, folder, style)
            flags = [f"--output={folder}", "--overwrite", f"--name={name}"]
            if self.long_side is not None:
                flags.append(f"--long-side={self.long_side}")
            made.append([*flags, *look_words(look, Kind.SEVERAL), "--", *inputs])
        return made


def usual_folder(paths: Sequence[Path]) -> Path:
    """Return a folder beside the pictures; in the user's pictures if nothing can be written there.

    It may exist already, see `free_folder`.
    """
    beside = paths[0].absolute().parent
    return (beside if os.access(beside, os.W_OK) else pictures_folder()) / tr("Painted")


@dataclass(frozen=True, slots=True)
class PaintPlace:
    """The folders for the paintings.

    Attributes:
        folder: The wanted folder.
        other: A new folder, for paintings that `folder` cannot take.
        meeting: Numbers of the looks with a painting whose name is taken in `folder`.
        chosen: Whether the user chose `folder`.
    """

    folder: Path
    other: Path
    meeting: frozenset[int] = frozenset()
    chosen: bool = False

    def of(self, looks: Iterable[int]) -> Path:
        """Return the folder for paintings in these looks, which stay together."""
        return self.folder if self.meeting.isdisjoint(looks) else self.other


def usual_place(wanted: Path, known: Iterable[QueuedJob]) -> PaintPlace:
    """Return `wanted` if it is new, otherwise a new folder beside it."""
    free = free_folder(wanted, [described(job.arguments).output for job in known])
    return PaintPlace(free, free)


def chosen_place(
    folder: Path, paths: Sequence[Path], looks: Sequence[EngineConfig], known: Sequence[QueuedJob]
) -> PaintPlace:
    """Return the place for paintings in a folder of the user's, and a new folder inside it.

    It reads the folder, so call it on a background thread.

    Args:
        known: The jobs of the queue, whose coming results keep their names.

    Raises:
        StylizeError: If the results cannot have names of their own.
    """
    folder = folder.absolute()
    coming = [described(job.arguments) for job in known if job.state is not JobState.DONE]
    outputs = {job.output for job in coming}
    painted = {(job.output, tuple(key for key, _ in job.styles)) for job in coming}
    # The names differ in the style alone, so that one plan serves all looks.
    _, planned = _plan([str(path.absolute()) for path in paths], folder, "")
    meeting = set()
    for at, look in enumerate(looks):
        style = "+".join(look.styles)
        targets = [path.with_name(f"{path.stem}{style}{path.suffix}") for path in planned]
        taken = any(str(path) in outputs or os.path.lexists(path) for path in targets)
        if taken or (str(folder), tuple(look.styles)) in painted:
            meeting.add(at)
    other = free_folder(folder / tr("Painted"), outputs)
    return PaintPlace(folder, other, frozenset(meeting), chosen=True)


def free_folder(wanted: Path, taken: Collection[str] = ()) -> Path:
    """Return `wanted`, with a number after its name if it has files or belongs to other jobs."""
    number = 1
    while True:
        more = "" if number == 1 else f" {number}"
        folder = wanted.with_name(f"{wanted.name}{more}").absolute()
        if str(folder) not in taken and not _in_use(folder):
            return folder
        number += 1


def _in_use(folder: Path) -> bool:
    if not folder.is_dir():
        return os.path.lexists(folder)
    return next(folder.iterdir(), None) is not None


def _plan(inputs: Sequence[str], folder: Path, style: str) -> tuple[str, list[Path]]:
    """Return the pattern of names that keeps the results apart, and the paths of the results."""
    try:
        name, (jobs, _) = NAME, plan_jobs(inputs, folder, name_pattern(NAME), style)
    except StylizeError:
        name, (jobs, _) = NUMBERED, plan_jobs(inputs, folder, name_pattern(NUMBERED), style)
    return name, [job.target for job in jobs]
