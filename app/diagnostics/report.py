"""The text of a fault report, which names neither the user nor any file of theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields

from app.diagnostics.privacy import without_home, without_names
from app.settings import Settings
from app.version import styleforge_version

LOG_LINES = 200  # maximum lines of the log

# Values that the report may show: a choice or the key of a style, but no path.
_HARMLESS = re.compile(r"[\w:+-]{0,40}")


def report(
    findings: Mapping[str, Sequence[tuple[str, str]]], settings: Settings, log: Sequence[str]
) -> str:
    """Build the report.

    Args:
        findings: Findings of `styleforge doctor`: the states and sentences of every topic.
        settings: For a setting that may name a file, the report only says that it is set.
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
    """Return a line for each setting with its value, or "(set)" if the value may name a file."""
    hidden = {name for name, value in _texts(settings) if not _HARMLESS.fullmatch(value)}
    return [
        f"{field.name} = {'(set)' if field.name in hidden else getattr(settings, field.name)}"
        for field in fields(settings)
    ]


def _texts(settings: Settings) -> list[tuple[str, str]]:
    values = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    return [(name, value) for name, value in values if isinstance(value, str)]
