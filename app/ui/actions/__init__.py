"""The table of actions that generates toolbar, menu, shortcuts and help.

Each action is a row in the module of its group.
"""

from app.ui.actions.entry import ActionEntry
from app.ui.actions.qactions import (
    apply_icons,
    build_actions,
    set_available,
    tip_of,
    tooltip_with_shortcut,
)
from app.ui.actions.style import STYLE_KEYS
from app.ui.actions.table import ACTIONS, GROUPS, SECTIONS

__all__ = [
    "ACTIONS",
    "GROUPS",
    "SECTIONS",
    "STYLE_KEYS",
    "ActionEntry",
    "apply_icons",
    "build_actions",
    "set_available",
    "tip_of",
    "tooltip_with_shortcut",
]
