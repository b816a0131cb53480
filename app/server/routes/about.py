"""The server's capabilities: its limits, what runs where, and why nothing faster does."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from app.server.studio import Studio
from app.version import styleforge_version


class Health(BaseModel):
    """The sign that the server answers."""

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
    styles: int


class Status(BaseModel):
    """The server's version and runtime report, and why no style can be made from a picture; "" if
    one can.
    """

    version: str
    waiting: int
    style_pictures: str
    limits: LimitsShown
    findings: dict[str, list[Finding]]


def router(studio: Studio) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["about"])
    catalog = studio.painter.catalog

    @routes.get("/health", summary="Check that the server responds; needs no token")
    async def health() -> Health:
        return Health()

    @routes.get("/status", summary="Show the device, the engine in use and the limits")
    async def status() -> Status:
        limits = studio.limits
        return Status(
            version=styleforge_version(),
            waiting=studio.line.taken,
            style_pictures=catalog.networks.unavailable_reason,
            limits=LimitsShown(
                bytes=limits.bytes,
                pixels=limits.pixels,
                requests_per_minute=limits.per_minute,
                waiting=limits.waiting,
                styles=limits.styles,
            ),
            findings={
                topic: [Finding(state=state, says=says) for state, says in found]
                for topic, found in studio.painter.findings.items()
            },
        )

    return routes
