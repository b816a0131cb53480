"""What the server can do: its styles, its limits, what runs where and why nothing faster."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app.server.refusal import Refused
from app.server.studio import Studio
from app.styles.pack import Style, StyleError
from app.version import styleforge_version
from utils.files.regular import read_regular
from utils.files.signatures import what_is

MAX_THUMBNAIL_BYTES = 4 << 20
# A thumbnail is a file of the user's, which is sent as nothing but a picture.
_KINDS = {
    "a PNG picture": "image/png",
    "a JPEG picture": "image/jpeg",
    "a WebP picture": "image/webp",
}


class Health(BaseModel):
    """That the server answers."""

    state: str = "ready"


class Finding(BaseModel):
    """A line of `styleforge doctor`: its state is "ok", "note" or "fault"."""

    state: str
    says: str


class LimitsShown(BaseModel):
    """The limits of requests."""

    bytes: int
    pixels: int
    requests_per_minute: int
    waiting: int


class Status(BaseModel):
    """What the server is, and what runs where."""

    version: str
    waiting: int
    limits: LimitsShown
    findings: dict[str, list[Finding]]


class StyleShown(BaseModel):
    """A style, and those that it can be mixed with."""

    key: str
    title: str
    credit: str
    thumbnail: str | None
    mixable: list[str]


def router(studio: Studio) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api", tags=["about"])
    library = studio.painter.library

    @routes.get("/health", summary="Say that the server answers; needs no token")
    async def health() -> Health:
        return Health()

    @routes.get("/status", summary="Say what runs where, and what the limits are")
    async def status() -> Status:
        limits = studio.limits
        return Status(
            version=styleforge_version(),
            waiting=studio.line.taken,
            limits=LimitsShown(
                bytes=limits.bytes,
                pixels=limits.pixels,
                requests_per_minute=limits.per_minute,
                waiting=limits.waiting,
            ),
            findings={
                topic: [Finding(state=state, says=says) for state, says in found]
                for topic, found in studio.painter.findings.items()
            },
        )

    @routes.get("/styles", summary="List the styles")
    async def styles() -> list[StyleShown]:
        await asyncio.to_thread(library.reload)
        return [
            StyleShown(
                key=style.key,
                title=style.title,
                credit=style.credit,
                thumbnail=f"/api/styles/{style.key}/thumbnail" if style.thumbnail else None,
                mixable=[other.key for other in library.mixable_with(style.key)],
            )
            for style in library.styles
        ]

    @routes.get("/styles/{key}/thumbnail", summary="A small picture in a style")
    async def thumbnail(key: str) -> Response:
        try:
            style = library.get(key)
        except StyleError as exc:
            raise Refused(HTTPStatus.NOT_FOUND, str(exc)) from exc
        return await asyncio.to_thread(_thumbnail, style)

    return routes


def _thumbnail(style: Style) -> Response:
    fault = Refused(HTTPStatus.NOT_FOUND, f"the style '{style.title}' has no thumbnail")
    path: Path | None = style.thumbnail
    if path is None:
        raise fault
    try:
        data = read_regular(path, MAX_THUMBNAIL_BYTES)
    except OSError as exc:
        raise fault from exc
    kind = _KINDS.get(what_is(data[:512]))
    if kind is None:
        raise fault
    return Response(data, media_type=kind)
