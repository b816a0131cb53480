"""The process for a device: it has an engine, and styles pictures or parts of films."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

import numpy as np
import torch

from app.commands.stylize.devices.crew import Crew
from app.commands.stylize.devices.member import Member, Stopped
from app.commands.stylize.devices.requests import (
    FilmRun,
    PictureRun,
    Setup,
    WholeEnd,
    WholeFilm,
    WholeProgress,
    WholeRun,
)
from app.commands.stylize.groups import Group, groups
from app.commands.stylize.jobs import StylizeError
from app.commands.stylize.limits import Limits
from app.commands.stylize.pipeline import MOST_THREADS, Outcome, Pipeline
from app.commands.stylize.styling import Styling
from app.engine.engine import Engine
from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, reason
from app.export.film.job import FilmCancelled, FilmJob, FilmProgress
from app.export.film.parts.work import make_parts
from app.export.film.styling import FilmStyling
from app.frame import Frame
from app.processes.language import adopt
from kernels.table.registry import prepare
from utils.devices import resolve
from utils.free_memory import free_bytes


def work(pipe: Connection, setup: Setup) -> None:
    """Work until the process must stop."""
    # Ctrl+C is meant for the process that gives out the work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The same as app/cli.py sets in the parent process.
    adopt()
    warnings.filterwarnings("ignore", "StyleForge's native kernels")
    warnings.filterwarnings("ignore", "Please use the new API settings to control TF32")
    torch.set_num_threads(max(1, torch.get_num_threads() // setup.sharing))
    device = resolve(setup.config.device)
    if device.type == "cuda":
        # otherwise code that names no device would use the first GPU as well
        torch.cuda.set_device(device)
    member = Member(pipe)
    try:
        bench = _Bench(member, setup)
        member.ready(bench.limits)
        for request in member.requests():
            if isinstance(request, FilmRun):
                bench.parts(request)
            elif isinstance(request, WholeRun):
                bench.films(request)
            else:
                assert isinstance(request, PictureRun)
                bench.pictures(request)
    except (Stopped, FilmCancelled):
        return
    except StyleForgeError as exc:
        member.failed(str(exc))


def started(
    devices: Sequence[str], setup: Setup, on_loss: Callable[[str], object]
) -> tuple[Crew, list[Limits]]:
    """Start a process for each device, and wait until all can begin; return them with limits.

    Args:
        on_loss: Called with a sentence if a process dies and the others continue.

    Raises:
        CrewError: If a device cannot be used.
    """
    count = len(devices)
    setups = [
        replace(setup, config=replace(setup.config, device=device), sharing=count)
        for device in devices
    ]
    crew = Crew(devices, work, setups, on_loss)
    try:
        return crew, crew.ready()
    except BaseException:
        crew.__exit__()
        raise


class _Bench:
    """The engine of a process, and its memory limits."""

    def __init__(self, member: Member, setup: Setup) -> None:
        self._member, self._config, self._sharing = member, setup.config, setup.sharing
        self._notices: list[str] = []
        self._engine = Engine(setup.library, on_notice=self._notices.append, free=free_bytes)
        self._engine.configure(setup.config)
        if setup.config.kernels != "baseline":
            for operations in self._engine.family.operations:
                prepare(family=operations)
        limits = Limits.now(setup.config, setup.batch, self._engine, full=setup.full)
        self.limits = replace(limits, picture_bytes=limits.picture_bytes / setup.sharing)

    def pictures(self, run: PictureRun) -> None:
        """Style pictures, and report every written one even if the process must stop."""
        styling = Styling(self._engine, self.limits, self._notices)
        threads = max(1, min(MOST_THREADS, (os.cpu_count() or 1) // self._sharing))
        pipeline = Pipeline(
            styling, self.limits.picture_bytes, self._config.size, threads, run.depth
        )
        try:
            with pipeline:
                for outcome in pipeline.run(self._groups()):
                    self._member.answer(outcome.job, light(outcome))
        finally:
            self._member.ended(pipeline.written)

    def parts(self, run: FilmRun) -> None:
        member = self._member
        self._engine.configure(replace(run.config, device=self._config.device))
        self._engine.reset_history()
        tasks = (part for items in member.tasks() for part in items)
        try:
            ended = make_parts(
                run.work, FilmStyling(self._engine, run.batch), tasks, member, self._notices
            )
        except FAULTS as exc:
            raise run.work.unmade(reason(exc)) from exc
        member.ended(ended)

    def films(self, run: WholeRun) -> None:
        """Make whole films; a failed film does not stop the others."""
        for places in self._member.tasks():
            for place in places:
                self._member.answer(place, self._made(place, run.films[place]))
        self._member.ended(None)

    def _made(self, place: int, film: WholeFilm) -> WholeEnd:
        def told(now: FilmProgress) -> None:
            self._member.news(WholeProgress(place, replace(now, styled=None)))

        self._engine.configure(replace(film.config, device=self._config.device))
        self._engine.reset_history()
        job = FilmJob(film.request, FilmStyling(self._engine, film.batch), told)
        self._member.on_stop = job.cancel
        report, error = None, ""
        try:
            report = job.run()
        except FilmCancelled:
            raise
        except StyleForgeError as exc:
            error = str(exc)
        notices = tuple(self._notices)
        self._notices.clear()
        return WholeEnd(report, error, notices)

    def _groups(self) -> Iterator[Group]:
        for jobs in self._member.tasks(ahead=1):
            yield from groups(jobs, self.limits)


def light(outcome: Outcome) -> Outcome:
    """Return the outcome of a picture without its pixels and with a picklable error."""
    error, styled = outcome.error, outcome.styled
    if error is not None and not isinstance(error, OSError):
        error = StylizeError(str(error))
    if styled is not None:
        empty = Frame(np.empty((0, 0, 3), np.uint8))
        styled = replace(styled, frame=empty, source=empty, captured=None, comparison=None)
    return replace(outcome, error=error, styled=styled)
