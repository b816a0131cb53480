"""Runs over many pictures and films."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from app.batch.batch_engine import BatchEngine
from app.batch.devices.choice import devices_of
from app.batch.execution import Execution
from app.batch.plan import check_places, plan_of, without
from app.batch.reporter import Reporter
from app.batch.request import Request
from app.batch.shard import local_index
from app.batch.tally import Tally
from app.batch.team.requests import Setup
from app.parameters import AUTO
from app.styles.catalog import Catalog


def run(request: Request, reporter: Reporter) -> bool:
    """Carry out a request; return whether every input has its complete result.

    Raises:
        StyleForgeError: If the request cannot be carried out.
        OSError: If the manifest cannot be written.
        KeyboardInterrupt: If the run was stopped; finished results are complete.
    """
    request.styles.check()
    with tempfile.TemporaryDirectory(prefix="styleforge-") as folder:
        catalog = Catalog.default()
        parts = request.styles.parts(catalog, Path(folder))
        request = replace(request, config=request.config.mixed(parts))
        return _run(request, catalog, reporter)


def _run(request: Request, catalog: Catalog, reporter: Reporter) -> bool:
    check_places(request)
    devices = devices_of(_devices(request))
    shared = len(devices) > 1 or request.cluster is not None
    # In a shared run, other processes have the devices.
    config = replace(request.config, device="cpu" if shared else devices[0])
    setup = Setup(catalog, config, request.batch, request.full)
    engine = BatchEngine(setup, reporter.bands)  # reports an invalid style or device first
    if request.cluster is None and not request.stored_precision:
        with reporter.waiting("Checking the precision ..."):
            engine.check_precision(devices)
    plan = plan_of(request, reporter, shared=shared)
    if plan is None:
        return False
    if request.dry_run:
        skipped = [] if request.overwrite else plan.existing
        coming = without(plan.jobs, skipped)
        reporter.planned(coming, skipped, len(plan.existing) - len(skipped))
        return not plan.problems
    record, done = plan.record, plan.existing
    if request.overwrite:  # except for the results of the continued run
        done = [job for job in done if request.resume and record and record.made(job.target)]
    jobs = without(plan.jobs, done)
    tally = Tally(request.output, len(jobs), len(done))
    reporter.begin(jobs, done, "" if request.shard is None else str(request.shard))
    if record:
        for job in done:
            record.kept(job.target)
    if jobs:
        try:
            with reporter:
                execution = Execution(request, devices, setup, engine, reporter, tally, record)
                execution.carry_out(jobs)
        finally:
            if record:
                record.save()
    if record:
        record.finish()
    reporter.end(tally)
    return not (tally.failed or tally.incomplete or plan.problems)


def _devices(request: Request) -> str:
    """Return the devices; of several GPUs, a shard picks its own by a launcher's local index."""
    automatic = request.shard is not None and request.devices == AUTO
    local = local_index() if automatic else None
    if local is None or torch.cuda.device_count() < 2:
        return request.devices
    return f"cuda:{local % torch.cuda.device_count()}"
