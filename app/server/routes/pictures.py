"""The route that accepts a picture by POST and returns it styled."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from concurrent.futures import Future
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from app.errors import StyleForgeError
from app.server.jobs import RESULT, UPLOAD
from app.server.line import STOPPING
from app.server.look import FORMATS, Look, parse_look, query
from app.server.painting import Painted, Stopped
from app.server.refusal import Refused
from app.server.studio import Studio
from app.server.upload import receive

T = TypeVar("T")
LOOK_S = 0.5  # seconds between checks whether the client still waits
BODY = {
    "description": "A picture file in any format that `stylize` reads",
    "required": True,
    "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
}
PICTURE = {
    "description": "The styled picture",
    "content": {
        media_type: {"schema": {"type": "string", "format": "binary"}}
        for media_type in FORMATS.values()
    },
    "headers": {
        "StyleForge-Ran": {
            "description": "the network and engine that ran",
            "schema": {"type": "string"},
        },
        "StyleForge-Seconds": {
            "description": "seconds that styling took",
            "schema": {"type": "number"},
        },
        "StyleForge-Remark": {
            "description": "what the result does not keep of the picture",
            "schema": {"type": "string"},
        },
    },
}


def asks(studio: Studio) -> dict[str, Any]:
    """Return the description of a request for OpenAPI."""
    return {"parameters": query(matted=studio.painter.matted), "requestBody": BODY}


def router(studio: Studio) -> APIRouter:
    routes = APIRouter(tags=["pictures"])

    @routes.post(
        "/api/pictures",
        summary="Style a picture and wait for it",
        openapi_extra=asks(studio),
        response_class=FileResponse,
        responses={200: PICTURE},
    )
    async def style(request: Request) -> Response:
        look = look_of(request, studio)
        with studio.line.place() as place, ExitStack() as undone:
            folder = Path(tempfile.mkdtemp(dir=studio.folder))
            undone.callback(_discard, folder)
            source, target = folder / UPLOAD, folder / f"{RESULT}.{look.format}"
            await receive(request, source, studio.limits, look)
            left = threading.Event()

            def stop() -> bool:
                return studio.line.is_closing or left.is_set()

            turn = place.put(lambda: studio.painter.paint(source, target, look, stop))
            painted = await waited(request, turn, left)
            undone.pop_all()
        return FileResponse(
            target,
            media_type=FORMATS[look.format],
            headers=_headers(painted),
            background=BackgroundTask(_discard, folder),
        )

    return routes


def look_of(request: Request, studio: Studio) -> Look:
    """Read the options of a request; raise Refused if an option is invalid."""
    try:
        look = parse_look(request.query_params.multi_items())
        studio.painter.check(look)
    except StyleForgeError as exc:
        raise Refused(HTTPStatus.BAD_REQUEST, str(exc)) from exc
    return look


async def waited(request: Request, turn: Future[T], left: threading.Event) -> T:
    """Wait for work in the line; if the client has left, give it up and set `left`."""
    waiting = asyncio.wrap_future(turn)
    while not (await asyncio.wait({waiting}, timeout=LOOK_S))[0]:
        if await request.is_disconnected():
            left.set()
            turn.cancel()
    if waiting.cancelled() or isinstance(waiting.exception(), Stopped):
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, STOPPING)
    return waiting.result()


def _headers(painted: Painted) -> dict[str, str]:
    told = {
        "StyleForge-Ran": painted.ran,
        "StyleForge-Seconds": f"{painted.seconds:.2f}",
        "StyleForge-Remark": painted.remark,
    }
    return {
        name: text.encode("ascii", "backslashreplace").decode()
        for name, text in told.items()
        if text
    }


def _discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
