"""Makes the text of a report on a fault, which names neither the user nor any file of theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields

from app.diagnostics.privacy import without_home, without_names
from app.settings import Settings
from app.version import styleforge_version

LOG_LINES = 200  # of the log, at most

# What a setting may be that is shown: a choice or the key of a style, and no path.
_HARMLESS = re.compile(r"[\w:+-]{0,40}")


def report(
    findings: Mapping[str, Sequence[tuple[str, str]]], settings: Settings, log: Sequence[str]
) -> str:
    """Return the report.

    Args:
        findings: Of `styleforge doctor`: for every topic, the states and what they are of.
        settings: Those that may name a file are only said to be set.
        log: The last lines of the log.
    """
    names = [value for _, value in _texts(settings) if not _HARMLESS.fullmatch(value)]
    lines = [f"StyleForge {styleforge_version()}: report", "", "This machine"]
    for topic, found in findings.items():
        lines += [f"  {topic}, {state}: {without_home(says)}" for state, says in found]
    lines += ["", "Settings", *(f"  {line}" for line in settings_lines(settings)), "", "Log"]
    lines += [f"  {without_names(line, names)}" for line in log] or ["  (empty)"]
    return "\n".join(lines) + "\n"


def settings_lines(settings: Settings) -> list[str]:
    """Return a line for each setting with its value, or "(set)" where that may name a file."""
    hidden = {name for name, value in _texts(settings) if not _HARMLESS.fullmatch(value)}
    return [
        f"{field.name} = {'(set)' if field.name in hidden else getattr(settings, field.name)}"
        for field in fields(settings)
    ]


def _texts(settings: Settings) -> list[tuple[str, str]]:
    values = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    return [(name, value) for name, value in values if isinstance(value, str)]
