"""The application: its routes, and the responses for errors."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from app.batch.queue.job import QueueError
from app.errors import StyleForgeError
from app.server.problem import MEDIA_TYPE, problem
from app.server.refusal import Refused
from app.server.routes import about, jobs, page, pictures, styles
from app.server.studio import Studio
from app.version import styleforge_version
from utils.images.opening import ImageError

# Status of each error for the client: the first matching row counts.
STATUSES: dict[type[Exception], HTTPStatus] = {
    QueueError: HTTPStatus.CONFLICT,
    ImageError: HTTPStatus.UNPROCESSABLE_ENTITY,
    StyleForgeError: HTTPStatus.UNPROCESSABLE_ENTITY,
    OSError: HTTPStatus.INSUFFICIENT_STORAGE,
}
DESCRIPTION = (
    "Styles pictures on this machine, as `styleforge stylize` does. Every request below "
    "`/api/`, except `/api/health`, needs the token that `styleforge serve` prints, in the "
    "header `Authorization: Bearer TOKEN`."
)


class Problem(BaseModel):
    """An error (RFC 9457): `detail` is one sentence."""

    type: str
    title: str
    status: int
    detail: str


_PROBLEM: dict[str, Any] = {
    "model": Problem,
    "description": "The request was refused or failed; `detail` says why",
    "content": {MEDIA_TYPE: {}},
}


def application(studio: Studio) -> FastAPI:
    made = FastAPI(
        title="StyleForge",
        version=styleforge_version(),
        description=DESCRIPTION,
        docs_url=None,  # Swagger's page comes from another host; ours is /docs
        redoc_url=None,
        responses={"4XX": _PROBLEM, "5XX": _PROBLEM},
    )
    token = [Security(HTTPBearer(auto_error=False))]  # documented here, enforced by the gate
    for part in (pictures, jobs, styles, about):
        made.include_router(part.router(studio), dependencies=token)
    made.include_router(page.router())
    made.add_exception_handler(Refused, _refused)
    made.add_exception_handler(HTTPException, _unknown)
    made.add_exception_handler(RequestValidationError, _invalid)
    for kind in STATUSES:
        made.add_exception_handler(kind, _failed)
    made.add_exception_handler(Exception, _unforeseen)
    return made


async def _refused(_: Request, exc: Exception) -> Response:
    assert isinstance(exc, Refused)
    return problem(exc.status, str(exc), exc.headers)


async def _failed(_: Request, exc: Exception) -> Response:
    status = next(status for kind, status in STATUSES.items() if isinstance(exc, kind))
    says = exc.strerror or str(exc) if isinstance(exc, OSError) else str(exc)
    return problem(status, says)


async def _unknown(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    status, path = HTTPStatus(exc.status_code), request.url.path
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        return problem(status, f"'{path}' does not support {request.method}", exc.headers)
    return problem(status, f"there is no '{path}'; see /docs", exc.headers)


async def _invalid(request: Request, _: Exception) -> Response:
    return problem(HTTPStatus.NOT_FOUND, f"there is no '{request.url.path}'; see /docs")


async def _unforeseen(_: Request, exc: Exception) -> Response:
    """Answer for a fault of ours, whose traceback goes to the server's log."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"StyleForge failed: {type(exc).__name__}")
