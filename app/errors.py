"""Errors as values that the window and the command line can show."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from utils.text import printable

MAX_MESSAGE_LENGTH = 4000  # characters; a message may contain two whole paths
_DETAILS = "_details"  # attribute of an exception with its formatted traceback


class StyleForgeError(Exception):
    """Base class of the application's errors: something that the user can act on.

    The message is one sentence that names the object and its fault; it is shown unchanged.
    """


def format_details(exc: BaseException) -> str:
    """Return the traceback of `exc` as text, for a bug report.

    The first call for an exception reads source files, which should not happen on the GUI thread.
    """
    details: str | None = getattr(exc, _DETAILS, None)
    if details is None:
        details = "".join(traceback.format_exception(exc))
        setattr(exc, _DETAILS, details)
    return details


@dataclass(frozen=True, slots=True)
class Problem:
    """An error to show: one line for the user, and details for "Copy details"."""

    summary: str
    details: str = ""

    @classmethod
    def of(cls, exc: BaseException, *, doing: str) -> Problem:
        """Make a problem of `exc`; `doing` completes "Could not ...", for instance "open the
        camera".
        """
        summary = printable(f"Could not {doing}: {exc}", MAX_MESSAGE_LENGTH)
        return cls(summary, format_details(exc))
