"""Responses for errors: one sentence as application/problem+json (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from fastapi.responses import JSONResponse

from app.errors import MAX_MESSAGE_LENGTH
from utils.text import printable

MEDIA_TYPE = "application/problem+json"


def problem(
    status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    content = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": printable(sentence, MAX_MESSAGE_LENGTH),
    }
    told = dict(headers or {})
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        told["Connection"] = "close"  # the body may be unread, so no request can follow it
    return JSONResponse(content, status.value, told, MEDIA_TYPE)
