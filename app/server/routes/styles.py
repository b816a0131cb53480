"""Routes for styles: list them, make one from a picture, and remove one."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from app.server.jobs import UPLOAD
from app.server.refusal import Refused
from app.server.routes.pictures import BODY, waited
from app.server.studio import Studio
from app.server.upload import receive
from app.styles.catalog import Catalog
from app.styles.pack import Style, StyleError
from models.families.keys import ANY_STYLE
from utils.files.regular import read_regular
from utils.files.signatures import what_is
from utils.text import printable

UNTITLED = "Picture"  # the default title of a style from a picture
MAX_THUMBNAIL_BYTES = 4 << 20
# A thumbnail is a file of the user's, so it is sent only if it is a picture.
_KINDS = {
    "a PNG picture": "image/png",
    "a JPEG picture": "image/jpeg",
    "a WebP picture": "image/webp",
}
_TITLE = {
    "name": "title",
    "in": "query",
    "description": "the title of the style; a number is appended if it is taken",
    "schema": {"title": "Title", "type": "string", "default": UNTITLED},
}
ASKS: dict[str, Any] = {"parameters": [_TITLE], "requestBody": BODY}


class StyleShown(BaseModel):
    """A style, and the styles that it can be mixed with. Only a style that was made from one of the
    user's pictures can be removed.
    """

    key: str
    title: str
    credit: str
    thumbnail: str | None
    mixable: list[str]
    of_picture: bool


def router(studio: Studio) -> APIRouter:
    routes = APIRouter(prefix="/api/styles", tags=["styles"])
    painter, catalog = studio.painter, studio.painter.catalog

    @routes.get("", summary="List the styles")
    async def styles() -> list[StyleShown]:
        await asyncio.to_thread(catalog.reload)
        return [_shown(catalog, style) for style in catalog.styles]

    @routes.post("", summary="Make a style from a picture", status_code=201, openapi_extra=ASKS)
    async def add(request: Request, response: Response) -> StyleShown:
        title = _title_of(request)
        if reason := catalog.networks.unavailable_reason:
            raise Refused(HTTPStatus.NOT_IMPLEMENTED, reason)
        _check_room(studio)
        with studio.line.place() as place, tempfile.TemporaryDirectory(dir=studio.folder) as folder:
            picture = Path(folder) / UPLOAD
            await receive(request, picture, studio.limits)
            left = threading.Event()

            def make() -> Style:
                _check_room(studio)  # others may have been added before it
                return painter.add_style(
                    picture, title, lambda: studio.line.is_closing or left.is_set()
                )

            style = await waited(request, place.put(make), left)
        response.headers["Location"] = f"/api/styles/{style.key}"
        return _shown(catalog, style)

    @routes.get("/{key}", summary="Describe a style")
    async def one(key: str) -> StyleShown:
        return _shown(catalog, _found(catalog, key))

    @routes.delete("/{key}", summary="Remove a style made from a picture", status_code=204)
    async def remove(request: Request, key: str) -> Response:
        style = _found(catalog, key)
        if not _is_of_picture(style):
            raise Refused(
                HTTPStatus.CONFLICT, f"'{style.title}' is not a style made from a picture"
            )
        with studio.line.place() as place:
            turn = place.put(lambda: painter.remove_style(key))
            await waited(request, turn, threading.Event())
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @routes.get("/{key}/thumbnail", summary="A preview of a style")
    async def thumbnail(key: str) -> Response:
        return await asyncio.to_thread(_thumbnail, _found(catalog, key))

    return routes


def _shown(catalog: Catalog, style: Style) -> StyleShown:
    return StyleShown(
        key=style.key,
        title=style.title,
        credit=style.credit,
        thumbnail=f"/api/styles/{style.key}/thumbnail" if style.thumbnail else None,
        mixable=[other.key for other in catalog.mixable_with(style.key)],
        of_picture=_is_of_picture(style),
    )


def _is_of_picture(style: Style) -> bool:
    return style.family == ANY_STYLE and not style.builtin


def _found(catalog: Catalog, key: str) -> Style:
    try:
        return catalog.get(key)
    except StyleError as exc:
        raise Refused(HTTPStatus.NOT_FOUND, str(exc)) from exc


def _check_room(studio: Studio) -> None:
    studio.limits.check_styles(sum(map(_is_of_picture, studio.painter.catalog.styles)))


def _title_of(request: Request) -> str:
    for name in request.query_params:
        if name != "title":
            raise Refused(
                HTTPStatus.BAD_REQUEST, f"there is no option '{printable(name)}', only title"
            )
    return request.query_params.get("title", "").strip() or UNTITLED


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
