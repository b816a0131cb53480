"""What goes wrong, as values the window and the command line can show."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from utils.text import printable

SENTENCE = 4000  # characters: what a message may have, which may name two whole paths
_DETAILS = "_details"  # what an exception keeps its own words under


class StyleForgeError(Exception):
    """Something the user can act on; the message is one sentence that names the thing and
    its fault, and is shown as it is. Base of every error the application raises itself."""


def format_details(exc: BaseException) -> str:
    """How `exc` came about, for a bug report. Reads source files the first time it is asked about
    an exception, which is not for the GUI thread."""
    details: str | None = getattr(exc, _DETAILS, None)
    if details is None:
        details = "".join(traceback.format_exception(exc))
        setattr(exc, _DETAILS, details)
    return details


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for the user, the rest behind "Copy details"."""

    summary: str
    details: str = ""

    @classmethod
    def of(cls, exc: BaseException, *, doing: str) -> Problem:
        """`doing` completes "Could not ...", for instance "open the camera"."""
        summary = printable(f"Could not {doing}: {exc}", SENTENCE)
        return cls(summary, format_details(exc))
