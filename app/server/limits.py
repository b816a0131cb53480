"""The limits of a request: bytes, pixels, requests per minute, places in the line, styles."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from app.server.refusal import Refused

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server.

    Attributes:
        bytes: Size of a picture's file.
        pixels: Pixels of a picture, and of the network's input for it.
        per_minute: Requests in any minute.
        waiting: Pictures being uploaded, waiting or being styled.
        styles: The user's styles made from pictures.
    """

    bytes: int = 64 << 20
    pixels: int = 50_000_000
    per_minute: int = 600
    waiting: int = 16
    styles: int = 256

    def check_bytes(self, count: int) -> None:
        if count > self.bytes:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the picture's file is larger than {_number(self.bytes / (1 << 20))} MB",
            )

    def check_pixels(self, width: int, height: int, what: str = "the picture") -> None:
        """Refuse a picture with more pixels; `what` names it."""
        if width * height > self.pixels:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"{what} has {width}x{height} pixels, more than "
                f"{_number(self.pixels / 1e6)} megapixels",
            )

    def check_styles(self, count: int) -> None:
        """Refuse another style from a picture if `count` reaches the limit."""
        if count >= self.styles:
            raise Refused(
                HTTPStatus.CONFLICT,
                f"the limit for styles made from pictures ({count}) is reached; remove one first",
            )


class Rate:
    """A counter of requests, at most `most` in any minute, for one thread."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._times: deque[float] = deque()

    def count(self) -> None:
        now = self._now()
        while self._times and now - self._times[0] >= MINUTE_S:
            self._times.popleft()
        if len(self._times) >= self._most:
            seconds = int(MINUTE_S - (now - self._times[0])) + 1
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"more than {self._most} requests in one minute; try again in {seconds} s",
                {"Retry-After": str(seconds)},
            )
        self._times.append(now)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1 else f"{value:g}"
