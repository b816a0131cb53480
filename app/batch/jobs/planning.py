"""Planning of the jobs of a run from its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.batch.error import StylizeError, shown
from app.batch.folders import identity
from app.batch.jobs.inputs import named_files
from app.batch.jobs.job import Job
from app.batch.jobs.naming import NamePattern, film_endings, result_name
from app.export.film.plan import check_name
from utils.images.writing import SAVED


def plan_jobs(
    inputs: Sequence[str],
    output: Path,
    pattern: NamePattern | None = None,
    style: str = "",
    *,
    codec: str | None = None,
    folder: bool = False,
    left_out: Sequence[Path] = (),
) -> tuple[list[Job], list[str]]:
    """Find the pictures and films, and the files for their results.

    Args:
        inputs: Pictures, films, folders and patterns; "-" for a list on stdin.
        output: A folder, or a file for a single picture or film.
        pattern: Pattern of the results' names; None for the names of the inputs.
        style: Replaces {style} in the pattern.
        codec: Codec of films; None for the default of each file.
        folder: Whether `output` is a folder even for one input; with a pattern, it always is.
        left_out: Folders that are not searched for inputs, in addition to `output`.

    Returns:
        The jobs, and one sentence for each unusable input.

    Raises:
        StylizeError: If results cannot be written to `output`, or would overwrite one another or an
            input.
        FilmError: If the name of a result is not a film's.
    """
    problems: list[str] = []
    found = list(dict.fromkeys(named_files(inputs, (output, *left_out), problems)))
    single = len(found) == 1 and not Path(inputs[0]).is_dir() and not folder and pattern is None
    to_file = single and bool(output.suffix) and not output.is_dir()
    if not to_file and output.is_file():
        raise StylizeError(f"'{shown(output)}' is a file; the results need a folder")
    jobs: dict[Path, Job] = {}
    taken: dict[Path, Path] = {}
    sources = {identity(path) for path, _, _ in found}
    for number, (path, name, film) in enumerate(found, 1):
        endings = film_endings(codec, name) if film else SAVED
        named = (
            pattern.name(name, style, number, endings) if pattern else result_name(name, endings)
        )
        job = Job(path, output if to_file else output / named, film)
        _check_name(job)
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


def _check_name(job: Job) -> None:
    """Refuse a result name that names another format."""
    if job.film:
        check_name(job.target)
    elif job.target.suffix.lower() not in SAVED:
        raise StylizeError(
            f"the result cannot be '{shown(job.target)}': it must end in {', '.join(SAVED)}"
        )
