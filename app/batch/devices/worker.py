"""The process for a device: it has an engine, and styles pictures or makes films."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

import torch

from app.batch.batch_engine import BatchEngine
from app.batch.devices.member import Member, Stopped
from app.batch.pictures.groups import Group, groups
from app.batch.pictures.pipeline import MOST_THREADS
from app.batch.team.requests import (
    FilmRun,
    FilmTask,
    PictureRun,
    Setup,
    WholeEnd,
    WholeProgress,
    WholeRun,
)
from app.engine.painting_devices import painting_device
from app.errors import StyleForgeError
from app.export.film.fault import FAULTS, reason
from app.export.film.job import FilmCancelled, FilmProgress
from app.processes.language import adopt


def work(pipe: Connection, setup: Setup) -> None:
    """Work until the process must stop."""
    # Ctrl+C is meant for the process that gives out the work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The same as app/cli.py sets in the parent process.
    adopt()
    warnings.filterwarnings("ignore", "StyleForge's native kernels")
    warnings.filterwarnings("ignore", "Please use the new API settings to control TF32")
    torch.set_num_threads(max(1, torch.get_num_threads() // setup.sharing))
    device = painting_device(setup.config.device)
    if device.type == "cuda":
        # otherwise code that names no device would use the first GPU as well
        torch.cuda.set_device(device)
    member = Member(pipe)
    try:
        worker = _Worker(member, setup)
        member.ready(worker.limits)
        for request in member.requests():
            if isinstance(request, FilmRun):
                worker.parts(request)
            elif isinstance(request, WholeRun):
                worker.films(request)
            else:
                assert isinstance(request, PictureRun)
                worker.pictures(request)
    except (Stopped, FilmCancelled):
        return
    except StyleForgeError as exc:
        member.failed(str(exc))


class _Worker:
    """The engine of a process, and its memory limits."""

    def __init__(self, member: Member, setup: Setup) -> None:
        self._member, self._sharing = member, setup.sharing
        self._engine = BatchEngine(setup)
        self._engine.prepare_kernels()
        limits = self._engine.limits()
        self.limits = replace(limits, picture_bytes=limits.picture_bytes / setup.sharing)

    def pictures(self, run: PictureRun) -> None:
        """Style pictures, and report every written one even if the process must stop."""
        threads = max(1, min(MOST_THREADS, (os.cpu_count() or 1) // self._sharing))
        pipeline = self._engine.pipeline(self.limits, run.depth, threads)
        try:
            with pipeline:
                for outcome in pipeline.run(self._groups()):
                    self._member.answer(outcome.job, outcome)
        finally:
            self._member.ended(pipeline.written)

    def parts(self, run: FilmRun) -> None:
        tasks = (part for items in self._member.tasks() for part in items)
        try:
            ended = self._engine.parts(run, tasks, self._member)
        except FAULTS as exc:
            raise run.work.unmade(reason(exc)) from exc
        self._member.ended(ended)

    def films(self, run: WholeRun) -> None:
        """Make whole films; a failed film does not stop the others."""
        for places in self._member.tasks():
            for place in places:
                self._member.answer(place, self._made(place, run.films[place]))
        self._member.ended(None)

    def _made(self, place: int, film: FilmTask) -> WholeEnd:
        def told(now: FilmProgress) -> None:
            self._member.news(WholeProgress(place, replace(now, styled=None)))

        job = self._engine.film(film, told)
        self._member.on_stop = job.cancel
        report, error = None, ""
        try:
            report = job.run()
        except FilmCancelled:
            raise
        except StyleForgeError as exc:
            error = str(exc)
        return WholeEnd(report, error, self._engine.taken_notices())

    def _groups(self) -> Iterator[Group]:
        for jobs in self._member.tasks(ahead=1):
            yield from groups(jobs, self.limits)
