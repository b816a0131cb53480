"""A request that is refused: its status, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from app.errors import StyleForgeError


class Refused(StyleForgeError):
    """A request that is not answered with what it asked for.

    Args:
        status: Of the answer.
        sentence: Why, as the program's other errors.
        headers: Of the answer, such as Retry-After.
    """

    def __init__(
        self, status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, dict(headers or {})
