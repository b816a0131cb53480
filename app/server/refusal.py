"""A refused request: its status, and a sentence with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from app.errors import StyleForgeError


class Refused(StyleForgeError):
    """Raised for a request that the server refuses.

    `sentence` is worded like other errors; `headers` of the response are such as Retry-After.
    """

    def __init__(
        self, status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, dict(headers or {})
