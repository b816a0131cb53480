"""Reporters of a `stylize` run: in the terminal, or as JSON lines for scripts."""

from __future__ import annotations

from app.batch.reporter import Reporter
from app.commands.stylize.reporters.json_lines import EVENTS as EVENTS
from app.commands.stylize.reporters.json_lines import JsonReporter
from app.commands.stylize.reporters.terminal import Loudness as Loudness
from app.commands.stylize.reporters.terminal import TerminalReporter


def make_reporter(progress: str, loudness: Loudness) -> Reporter:
    return JsonReporter() if progress == "json" else TerminalReporter(loudness)
