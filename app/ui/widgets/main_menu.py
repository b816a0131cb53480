"""The menu of all commands: a submenu for each group, and smaller ones inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.ui.actions import ACTIONS, GROUPS
from utils.translation.texts import tr

MOST = 12  # entries of a menu: more are not read, but searched
_NUMBERED = "style_"  # followed by a number: the styles are listed by their names instead
_STYLES_BEFORE = "next_style"


def main_menu(actions: Mapping[str, QAction], styles: QMenu, parent: QWidget) -> QMenu:
    """Return the menu; `styles` lists the styles by name."""
    menu = QMenu(parent)
    for group in GROUPS:
        inner = _submenu(menu, tr(group))
        sections: dict[str, QMenu] = {}
        for entry in ACTIONS:
            numbered = entry.key.removeprefix(_NUMBERED).isdigit()
            if entry.group != group or numbered or entry.key == "menu":
                continue
            if entry.key == _STYLES_BEFORE:
                inner.addMenu(styles)
            if entry.section and entry.section not in sections:
                sections[entry.section] = _submenu(inner, tr(entry.section))
            sections.get(entry.section, inner).addAction(actions[entry.key])
    return menu


def add_in_parts(menu: QMenu, actions: Sequence[QAction], more: str) -> None:
    """Add actions; those beyond MOST are in submenus called `more`."""
    if len(actions) <= MOST:
        menu.addActions(actions)
        return
    menu.addActions(actions[: MOST - 1])
    add_in_parts(_submenu(menu, more), actions[MOST - 1 :], more)


def _submenu(menu: QMenu, title: str) -> QMenu:
    made = menu.addMenu(title)
    made.setToolTipsVisible(True)
    return made
