"""Joins the actions of all groups into one table, in the order of the menu."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry
from app.ui.actions.picture import PICTURE_ACTIONS
from app.ui.actions.playback import PLAYBACK_ACTIONS
from app.ui.actions.program import PROGRAM_ACTIONS
from app.ui.actions.source import SOURCE_ACTIONS
from app.ui.actions.style import STYLE_ACTIONS
from app.ui.actions.view import VIEW_ACTIONS

ACTIONS: tuple[ActionEntry, ...] = (
    *SOURCE_ACTIONS,
    *PLAYBACK_ACTIONS,
    *PICTURE_ACTIONS,
    *STYLE_ACTIONS,
    *VIEW_ACTIONS,
    *PROGRAM_ACTIONS,
)
GROUPS = tuple(dict.fromkeys(entry.group for entry in ACTIONS))
SECTIONS = tuple(dict.fromkeys(entry.section for entry in ACTIONS if entry.section))
