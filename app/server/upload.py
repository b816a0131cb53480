"""The upload of a picture: its bytes go to a file as they arrive, and are counted on the way."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.server.connections import BODY_S
from app.server.limits import Limits
from app.server.look import FULL, Look
from app.server.refusal import Refused
from utils.images.reading import picture_size

# For all bytes of a picture: the answer comes before its connection is closed.
PATIENCE_S = BODY_S - 5.0


async def receive(request: Request, path: Path, limits: Limits, look: Look | None = None) -> None:
    """Write the body of a request to a file, and check that it begins like a picture.

    `look` limits the size too; None for a picture that is not styled.

    Raises:
        Refused: If the picture is too large or too slow, or there is none.
        ImageError: If the body is not a picture.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal():
        limits.check_bytes(int(declared))
    try:
        async with asyncio.timeout(PATIENCE_S):
            count = await _write(request, path, limits)
    except TimeoutError:
        raise Refused(
            HTTPStatus.REQUEST_TIMEOUT, f"the picture did not arrive within {PATIENCE_S:g} s"
        ) from None
    except ClientDisconnect:
        raise Refused(HTTPStatus.BAD_REQUEST, "the picture did not arrive completely") from None
    if not count:
        raise Refused(HTTPStatus.BAD_REQUEST, "the request has no picture in its body")
    width, height = await asyncio.to_thread(picture_size, path)
    limits.check_pixels(width, height)
    if look is not None and look.size is not None and look.size != FULL:
        scale = int(look.size) / max(width, height)
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
        limits.check_pixels(width, height, f"at size {look.size} the network's input")


async def _write(request: Request, path: Path, limits: Limits) -> int:
    count = 0
    with path.open("wb") as file:
        async for piece in request.stream():
            count += len(piece)
            limits.check_bytes(count)
            file.write(piece)
    return count
