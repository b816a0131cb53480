"""Routes for jobs: POST a picture, query its progress, fetch its result, cancel it."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import ExitStack
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel

from app.batch.queue.job import JobState, QueuedJob, QueueError
from app.server.jobs import UPLOAD
from app.server.look import FORMATS
from app.server.refusal import Refused
from app.server.routes.pictures import PICTURE, asks, look_of
from app.server.studio import Studio
from app.server.upload import receive


class Job(BaseModel):
    """A job: its number, how far it is, and why it failed."""

    number: int
    state: JobState
    error: str | None = None
    added_at: float
    result: str | None = None


def router(studio: Studio) -> APIRouter:
    routes = APIRouter(prefix="/api/jobs", tags=["jobs"])

    @routes.post(
        "",
        summary="Add a job that styles a picture",
        status_code=202,
        openapi_extra=asks(studio),
    )
    async def add(request: Request, response: Response) -> Job:
        look = look_of(request, studio)
        with studio.line.place() as place, ExitStack() as undone:
            folder = await asyncio.to_thread(studio.jobs.new_folder)
            undone.callback(shutil.rmtree, folder, ignore_errors=True)
            await receive(request, folder / UPLOAD, studio.limits, look)
            job = await asyncio.to_thread(studio.jobs.add, folder, look, place)
            undone.pop_all()
        response.headers["Location"] = f"/api/jobs/{job.number}"
        return _shown(job)

    @routes.get("", summary="List the jobs")
    async def listed() -> list[Job]:
        return [_shown(job) for job in await asyncio.to_thread(studio.jobs.all)]

    @routes.get("/{number}", summary="Show the progress of a job")
    async def state(number: int) -> Job:
        return _shown(await _job(studio, number))

    @routes.get(
        "/{number}/result",
        summary="Fetch the result of a job",
        response_class=FileResponse,
        responses={200: PICTURE},
    )
    async def result(number: int) -> Response:
        job = await _job(studio, number)
        if job.state is not JobState.DONE:
            why = f": {job.error}" if job.error else ""
            raise Refused(HTTPStatus.CONFLICT, f"job {number} is {job.state}{why}")
        path = studio.jobs.result(job)
        if not path.is_file():
            raise Refused(HTTPStatus.GONE, f"the result of job {number} was deleted")
        return FileResponse(path, media_type=FORMATS[path.suffix.lstrip(".")])

    @routes.delete(
        "/{number}",
        summary="Cancel a job, or remove it with its result",
        status_code=204,
        responses={202: {"description": "The job is running; the server removes it when it ends"}},
    )
    async def cancel(number: int) -> Response:
        await _job(studio, number)
        is_gone = await asyncio.to_thread(studio.jobs.cancel, number)
        return Response(status_code=HTTPStatus.NO_CONTENT if is_gone else HTTPStatus.ACCEPTED)

    return routes


async def _job(studio: Studio, number: int) -> QueuedJob:
    try:
        return await asyncio.to_thread(studio.jobs.get, number)
    except QueueError as exc:
        raise Refused(HTTPStatus.NOT_FOUND, str(exc)) from exc


def _shown(job: QueuedJob) -> Job:
    return Job(
        number=job.number,
        state=job.state,
        error=job.error or None,
        added_at=job.added_at,
        result=f"/api/jobs/{job.number}/result" if job.state is JobState.DONE else None,
    )
