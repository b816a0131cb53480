"""Which pictures `stylize` reads, and the files for their results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.commands.stylize.inputs import identity, named_pictures, shown
from app.commands.stylize.naming import NamePattern
from app.errors import StyleForgeError
from utils.images.writing import SAVED


class StylizeError(StyleForgeError):
    """The command, or one of its pictures, cannot be carried out."""


@dataclass(frozen=True, slots=True)
class Job:
    """One picture to read, and the file for its result."""

    source: Path
    target: Path


def plan_jobs(
    inputs: list[str],
    output: Path,
    pattern: NamePattern | None = None,
    style: str = "",
    *,
    folder: bool = False,
) -> tuple[list[Job], list[str]]:
    """Find the pictures and the files for their results.

    Args:
        inputs: pictures, folders and patterns; "-" for a list on stdin.
        output: a folder, or for one picture a file.
        pattern: of the results' names; None for those of the pictures.
        style: what {style} stands for in the pattern.
        folder: whether `output` is a folder even for one picture; so it is with a pattern.

    Returns:
        The jobs, and one sentence for each input that cannot be used.

    Raises:
        StylizeError: results cannot be written to `output`, or would overwrite one another or an
            input.
    """
    problems: list[str] = []
    found = list(dict.fromkeys(named_pictures(inputs, output, problems)))
    single = len(found) == 1 and not Path(inputs[0]).is_dir() and not folder and pattern is None
    to_file = single and bool(output.suffix) and not output.is_dir()
    if to_file and output.suffix.lower() not in SAVED:
        raise StylizeError(
            f"the result cannot be '{shown(output)}': it must end in {', '.join(SAVED)}"
        )
    if not to_file and output.is_file():
        raise StylizeError(f"'{shown(output)}' is a file where a folder for the results should be")
    jobs: dict[Path, Job] = {}
    taken: dict[Path, Path] = {}
    sources = {identity(path) for path, _ in found}
    for number, (path, name) in enumerate(found, 1):
        named = pattern.name(name, style, number) if pattern else _target_name(name)
        job = Job(path, output if to_file else output / named)
        target = identity(job.target)
        if target in sources:
            raise StylizeError(f"'{shown(job.target)}' is an input and would be overwritten")
        if target in taken and taken[target] != job.source:
            raise StylizeError(
                f"'{shown(taken[target])}' and '{shown(job.source)}' would both become "
                f"'{shown(job.target)}'"
            )
        taken[target] = job.source
        jobs[target] = job
    return list(jobs.values()), problems


def _target_name(name: Path) -> Path:
    """Return the name of the result; a format that cannot be written becomes PNG ("x.tif.png")."""
    return name if name.suffix.lower() in SAVED else name.with_name(f"{name.name}.png")
