"""A finding of `styleforge doctor`."""

from __future__ import annotations

from dataclasses import dataclass

OK, NOTE, FAULT = "ok", "note", "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `state` is "ok", "note" (works, not at its best) or "fault"."""

    state: str
    says: str
