"""The error of a run, and paths in its messages."""

from __future__ import annotations

from app.errors import MAX_MESSAGE_LENGTH, StyleForgeError
from utils.text import printable


class StylizeError(StyleForgeError):
    """Raised if a run, or one of its pictures or films, fails."""


def shown(path: object) -> str:
    return printable(str(path), MAX_MESSAGE_LENGTH)
