"""The jobs that paint all open pictures into a new folder, one job per style."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.error import StylizeError
from app.batch.jobs.naming import name_pattern
from app.batch.jobs.planning import plan_jobs
from app.batch.queue.description import Kind, described
from app.batch.queue.job import QueuedJob
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
        folder: The folder for the results; another number follows its name if it is in use.
        long_side: Most pixels of the results' long side; None for the size of the pictures.
    """

    paths: tuple[Path, ...]
    looks: tuple[EngineConfig, ...]
    folder: Path
    long_side: int | None = None

    def jobs(self, known: Sequence[QueuedJob]) -> list[list[str]]:
        """Return the arguments of the jobs; reads files, so call it on a background thread.

        Args:
            known: The jobs of the queue, whose folders stay theirs.

        Raises:
            StylizeError: If the results cannot have names of their own.
        """
        folder = free_folder(self.folder, [described(job.arguments).output for job in known])
        inputs = [str(path.absolute()) for path in self.paths]
        made = []
        for look in self.looks:
            style = "+".join(look.styles)
            flags = [f"--output={folder}", "--overwrite", f"--name={_names(inputs, folder, style)}"]
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


def folder_in(chosen: Path) -> Path:
    """Return the folder for results in a chosen one: the chosen folder itself if it is empty."""
    return chosen / tr("Painted") if _in_use(chosen) else chosen


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


def _names(inputs: Sequence[str], folder: Path, style: str) -> str:
    try:
        plan_jobs(inputs, folder, name_pattern(NAME), style)
    except StylizeError:
        plan_jobs(inputs, folder, name_pattern(NUMBERED), style)
        return NUMBERED
    return NAME
