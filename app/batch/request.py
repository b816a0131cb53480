"""The request for a run, as plain values: inputs, results, look and devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.jobs.naming import NamePattern
from app.batch.shard import Shard
from app.batch.style_choice import StyleChoice
from app.engine.config import EngineConfig
from app.parameters import AUTO


@dataclass(frozen=True, slots=True)
class FilmOptions:
    """The encoding of a run's films, see app.export.film.plan.film_request.

    Attributes:
        report: A JSON file for the reports on the films; None for none.
    """

    codec: str | None = None
    quality: str = "good"
    encoder: str = AUTO
    report: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The request for a run.

    Attributes:
        inputs: Pictures, films, folders, patterns or addresses; "-" for a list on stdin.
        output: The folder of the results, or a file for a single picture or film.
        config: The look and the network; its styles and its device are those below.
        devices: One device, several or all, see app.batch.devices.choice.devices_of.
        full: Whether the network processes every pixel of the pictures.
        batch: Maximum pictures per batch; None for automatic.
        depth: Bits per channel of pictures, 8 or 16; None for their own.
        before_after: See app.batch.jobs.job.Job.
        long_side: See app.batch.jobs.job.Job.
        left_out: Folders that are not searched for inputs.
        name: Pattern of the results' names; None for the names of the inputs.
        shard: The part of the inputs that this process styles; None for all of them.
        cluster: Address of the Ray cluster that shares the run, see app.batch.cluster.pool.Pool;
            None for this machine's devices.
        manifest: The file of the manifest; None for a shard's own file, or else none.
        resume: Whether an interrupted run wrote the manifest; its results stay.
        overwrite: Whether to replace existing results.
        skip_existing: Whether to skip inputs whose result exists; if neither, the run is refused.
        stored_precision: Whether stored settings chose the precision, as for a job of the queue. A
            device that does not offer it computes in FP32 then; otherwise the run is refused.
        dry_run: Whether to list the plan and write nothing.
    """

    inputs: Sequence[str]
    output: Path
    styles: StyleChoice
    config: EngineConfig
    devices: str = AUTO
    full: bool = False
    batch: int | None = None
    depth: int | None = None
    before_after: str = ""
    long_side: int | None = None
    left_out: Sequence[Path] = ()
    name: NamePattern | None = None
    films: FilmOptions = FilmOptions()
    shard: Shard | None = None
    cluster: str | None = None
    manifest: Path | None = None
    resume: bool = False
    overwrite: bool = False
    skip_existing: bool = False
    stored_precision: bool = False
    dry_run: bool = False
