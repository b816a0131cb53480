"""The web page and the page that documents the routes: only our own files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import APIRouter, Response

FOLDER = Path(__file__).resolve().parents[1] / "page"
ICON = Path(__file__).resolve().parents[3] / "assets" / "icons" / "styleforge.svg"
_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
# Each file by its path; nothing else is read.
FILES = {
    "/": FOLDER / "index.html",
    "/docs": FOLDER / "docs.html",
    "/page.css": FOLDER / "page.css",
    "/page.js": FOLDER / "page.js",
    "/compare.js": FOLDER / "compare.js",
    "/controls.js": FOLDER / "controls.js",
    "/server.js": FOLDER / "server.js",
    "/docs.js": FOLDER / "docs.js",
    "/icon.svg": ICON,
}


def router() -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    for path, file in FILES.items():
        routes.add_api_route(path, _sender(file), methods=["GET", "HEAD"])
    return routes


def _sender(file: Path) -> Callable[[], Awaitable[Response]]:
    data, kind = file.read_bytes(), _KINDS[file.suffix]

    async def send() -> Response:
        return Response(data, media_type=kind)

    return send
