"""Enables the page's actions, and sets up the one that starts the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.ui.queue.control.results import has_paintings
from app.ui.queue.page import QueuePage
from app.ui.queue.rows import Row, RowState
from app.ui.queue.runner import Phase, QueueRunner
from app.ui.theme.icons import icon
from app.ui.theme.tokens import Tokens
from utils.translation.texts import tr


def enable_actions(
    page: QueuePage, rows: Sequence[Row], runner: QueueRunner, tokens: Tokens
) -> None:
    """Enable the actions that currently apply."""
    actions, chosen = page.actions_by_key, page.list.chosen()
    waiting = any(row.state.waits for row in rows)
    running, stopping = runner.running, runner.phase is Phase.STOPPING
    enabled = (waiting or running) and not stopping
    actions["start"].setEnabled(enabled)
    go_on = waiting and (runner.stopped or any(_is_begun(row) for row in rows))
    actions["start"].setText(tr("Stop") if running else tr("Continue") if go_on else tr("Start"))
    color = "" if running or not enabled else tokens.on_accent
    # Beside Start, which has the accent, the results have the color of other buttons.
    bright = tokens if enabled else replace(tokens, text=tokens.on_accent)
    actions["results"].setIcon(icon("picture", bright))
    tokens = replace(tokens, text=color) if color else tokens
    actions["start"].setIcon(icon("stop" if running else "play", tokens))
    page.show_running(running or not enabled)
    made = any(map(has_paintings, rows))
    actions["results"].setEnabled(made)
    elsewhere = any(row.state is RowState.ELSEWHERE for row in rows)
    page.show_end(made and not (running or elsewhere), more=enabled)
    actions["finish"].setEnabled(running and not stopping)
    actions["finish"].setChecked(runner.finishing)
    actions["retry"].setEnabled(any(row.state is RowState.FAILED for row in rows))
    taken = (RowState.RUNNING, RowState.ELSEWHERE)
    free = bool(chosen) and all(row.state not in taken for row in chosen)
    actions["remove"].setEnabled(free)
    actions["clear"].setEnabled(any(row.state.ended for row in rows))
    for key in ("up", "down", "first", "last"):
        actions[key].setEnabled(bool(chosen))
    for key in ("open", "reveal"):
        actions[key].setEnabled(len(chosen) == 1 and _has_result(chosen[0]))


def _is_begun(row: Row) -> bool:
    return row.state is RowState.INTERRUPTED or (row.state.waits and row.done > 0)


def _has_result(row: Row) -> bool:
    return (bool(row.result) and row.state.ended) or (row.several and row.done > 0)
