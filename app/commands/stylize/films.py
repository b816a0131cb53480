"""Stylizes the films of a command line, one after another."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from app.batch.manifest import Manifest, Record, plan_digest, planned
from app.batch.shard import Shard
from app.commands.stop_signal import stop_requested
from app.commands.stylize.devices.films import SharedFilms
from app.commands.stylize.inputs import shown
from app.commands.stylize.jobs import StylizeError
from app.commands.stylize.limits import Limits
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import StyleForgeError
from app.export.film.codecs import CODECS, CONTAINERS
from app.export.film.job import FilmCancelled, FilmJob
from app.export.film.parts.request import FilmCount
from app.export.film.parts.split import Split
from app.export.film.plan import film_request
from app.export.film.reader import FilmInfo, film_info
from app.export.film.report import FilmReport
from app.export.film.styling import FilmStyling
from app.styles.library import Library
from app.version import styleforge_version
from kernels.ops.registry import prepare
from utils.files.atomic import atomic_write
from utils.files.signatures import what_is
from utils.images.opening import kind_of
from utils.text import printable

# Endings of films whose first bytes do not tell what they are.
_ENDINGS = (".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".vob", ".wmv", ".asf", ".flv", ".264", ".265")
_HEAD = 512  # bytes that tell what a file is


def is_film(path: Path) -> bool:
    """Whether a file is a film, by its first bytes, or its ending where they do not tell."""
    if not path.is_file() or kind_of(path):
        return False
    with path.open("rb") as file:
        what = what_is(file.read(_HEAD))
    if what:
        return what.endswith("video") or what in ("an MP4 or QuickTime file", "an Ogg file")
    return path.suffix.lower() in _ENDINGS


def films_among(inputs: Sequence[str]) -> list[Path]:
    """The films among the inputs of a command line, which are then all that it may name.

    Raises:
        StylizeError: There are films and something else.
    """
    films: list[Path] = []
    for text in inputs:
        path = Path(text).expanduser()
        try:
            if is_film(path):
                films.append(path)
        except OSError as exc:
            raise StylizeError(f"'{shown(path)}' cannot be read: {exc.strerror}") from exc
    if films and len(films) < len(inputs):
        other = next(text for text in inputs if Path(text).expanduser() not in films)
        raise StylizeError(
            f"'{shown(films[0])}' is a film and '{shown(other)}' is not: films and pictures take a "
            "command each"
        )
    return films


def stylize_films(
    films: Sequence[Path],
    args: argparse.Namespace,
    library: Library,
    engine: Engine,
    notices: list[str],
    sharing: SharedFilms | None = None,
) -> int:
    """Stylize films.

    Args:
        films: At least one.
        args: What the flags were parsed to.
        library: Where the styles are.
        engine: Configured by them.
        notices: Where the engine's notices are put.
        sharing: The devices that share each film; None for the engine's alone.

    Returns:
        The exit status: 1 if one of the films failed or could not be read to its end, 0 otherwise.

    Raises:
        StylizeError: The flags do not fit.
        KeyboardInterrupt: The run was stopped.
    """
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False)
    targets = _targets(films, args.output, args.codec)
    existing = [path for path in targets.values() if os.path.lexists(path)]
    if existing and not (args.overwrite or args.skip_existing or args.resume):
        raise StylizeError(
            f"'{shown(existing[0])}' exists; pass --overwrite to replace or --skip-existing to "
            "keep what is there"
        )
    if args.depth is not None:
        raise StylizeError("--depth is for pictures; films have 8 bits, and those of ProRes 10")
    if args.name or args.shard or args.dry_run:
        raise StylizeError("--name, --shard and --dry-run are for pictures, not for films")
    failed, reports, record = False, [], _record(args, targets)
    for source, target in targets.items():
        skip = args.skip_existing or (args.resume and not args.overwrite)
        if (skip or (record and args.resume and record.made(target))) and os.path.lexists(target):
            console.print(f"Skipped '{shown(source)}', whose result exists")
            if record:
                record.kept(target)
            continue
        try:
            report = _stylize(source, target, args, library, engine, console, sharing)
        except FilmCancelled as exc:
            raise KeyboardInterrupt(str(exc)) from None
        except StyleForgeError as exc:
            console.print(f"styleforge: {exc}")
            failed = True
            if record:
                record.failed(target, str(exc))
        else:
            _say(console, source, target, report)
            failed = failed or bool(report.faults)
            if record:
                record.done(target)
            reports.append({"film": str(source), "result": str(target), **report.as_dict()})
        for notice in notices:
            console.print(notice)
        notices.clear()
    if record:
        record.finish()
    if args.report is not None:
        _write_report(args.report, reports)
    return 1 if failed else 0


def _record(args: argparse.Namespace, targets: Mapping[Path, Path]) -> Record | None:
    """Begin the manifest, if there is to be one, as a job of the queue has."""
    if args.manifest is None:
        return None
    digest = plan_digest(target.name for target in targets.values())
    entries = planned(targets.items())
    return Record(args.manifest, Manifest(Shard(1, 1), len(targets), digest, "", entries))


def _stylize(
    source: Path,
    target: Path,
    args: argparse.Namespace,
    library: Library,
    engine: Engine,
    console: Console,
    sharing: SharedFilms | None,
) -> FilmReport:
    given = engine.config
    assert given is not None
    info = film_info(source)
    how = _how(source, info, args, engine, sharing, console)
    sized, batch = how.config, how.batch
    identity = {
        "program": styleforge_version(),
        "config": repr(replace(sized, style="", mix=None, mix_more=())),
        "styles": "; ".join(f"{share} of {_digest(library, key)}" for key, share in sized.parts),
        "device": how.device,
        "batch": str(batch),
    }
    request = film_request(
        info,
        target,
        args.codec,
        quality=args.quality,
        where=args.encoder,
        identity=identity,
    )
    with stop_requested() as asked, _bar(console) as progress:
        task = progress.add_task(printable(source.name), total=info.count or None, rate="")

        def told(now: FilmCount) -> None:
            progress.update(task, completed=now.done, rate=f"{now.fps:.1f} frames/s")

        def told_alone(now: FilmCount) -> None:
            told(now)
            if asked.is_set():
                job.cancel()

        if sharing is not None and how.parts is not None:
            return sharing.make(request, how.parts, sized, batch, told, console.print, asked.is_set)
        engine.configure(sized)
        engine.reset_history()
        job = FilmJob(request, FilmStyling(engine, batch), told_alone)
        try:
            return job.run()
        finally:
            engine.configure(given)


@dataclass(frozen=True, slots=True)
class _How:
    """How a film is painted.

    Attributes:
        config: For every frame.
        batch: How many frames go through the network together.
        device: What paints it.
        parts: Those that several devices make; None for one that makes it alone.
    """

    config: EngineConfig
    batch: int
    device: str
    parts: Split | None = None


def _how(
    source: Path,
    info: FilmInfo,
    args: argparse.Namespace,
    engine: Engine,
    sharing: SharedFilms | None,
    console: Console,
) -> _How:
    """Decide how a film is painted; the engine is prepared if it paints it alone."""
    config = engine.config
    assert config is not None
    if sharing is not None:
        size, batch = sharing.sized(source.name, info)
        parts = sharing.split(info)
        if not parts.reason:
            return _How(replace(config, size=size), batch, ", ".join(sharing.kinds), parts)
        console.print(f"{printable(source.name)} is painted by one device: {parts.reason}")
        config = replace(config, device=sharing.devices[0])
        engine.configure(config)
    if config.kernels != "baseline":
        with console.status("Preparing the native kernels ..."):
            for operations in engine.family.operations:
                prepare(family=operations)
    limits = Limits.now(config, args.batch, engine, full=args.size == "full")
    size = limits.size(source.name, info.width, info.height)
    batch = limits.batch_of(info.width, info.height)
    return _How(replace(config, size=size), batch, str(limits.device))


def _targets(films: Sequence[Path], output: Path, codec: str | None) -> dict[Path, Path]:
    """The file of the result of each film."""
    to_file = len(films) == 1 and bool(output.suffix) and not output.is_dir()
    if not to_file and output.is_file():
        raise StylizeError(f"'{shown(output)}' is a file where a folder for the results should be")
    targets: dict[Path, Path] = {}
    for film in films:
        target = output if to_file else output / _name(film, codec)
        if target in targets.values():
            raise StylizeError(f"two films would both become '{shown(target)}'")
        if any(target.resolve() == each.resolve() for each in films):
            raise StylizeError(f"'{shown(target)}' is an input and would be overwritten")
        targets[film] = target
    return targets


def _name(film: Path, codec: str | None) -> str:
    """The name of a result in a folder; another format is added to it ("x.avi.mp4")."""
    endings = tuple(CONTAINERS) if codec is None else CODECS[codec].containers
    return film.name if film.suffix.lower() in endings else f"{film.name}{endings[0]}"


def _digest(library: Library, key: str) -> str:
    """What the weights of a style are, for a run that goes on later."""
    style = library.get(key)
    files = [path for path in (style.weights, style.lite) if path is not None]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _say(console: Console, source: Path, target: Path, report: FilmReport) -> None:
    name = printable(source.name)
    for clause in report.faults:
        console.print(f"styleforge: '{shown(source)}': {clause}")
    if report.remarks:
        console.print(f"{name}: {'; '.join(report.remarks)}")
    earlier = f", {report.resumed} of them by an earlier run" if report.resumed else ""
    console.print(
        f"{report.frames} frames in {shown(target)}{earlier}, {report.fps:.1f} a second "
        f"({report.running}; encoded by {report.encoder})"
    )
    console.print(f"{report.sentence}")


def _write_report(path: Path, reports: list[dict[str, Any]]) -> None:
    try:
        atomic_write(path, json.dumps(reports, indent=2).encode())
    except OSError as exc:
        raise StylizeError(f"'{shown(path)}' cannot be written: {exc.strerror}") from exc
