"""Creates Qt actions from the table, with shortcuts, tooltips and icons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from app.ui.actions.entry import ActionEntry
from app.ui.actions.table import ACTIONS
from app.ui.theme.icons import icon
from app.ui.theme.tokens import Tokens
from utils.translation.texts import tr


def build_actions(
    parent: QWidget,
    slots: Mapping[str, Callable[[], object]],
    entries: Sequence[ActionEntry] = ACTIONS,
) -> dict[str, QAction]:
    """Create QActions and add them to `parent`.

    Raises:
        KeyError: If slots and keys differ.
    """
    unknown = set(slots) ^ {entry.key for entry in entries}
    if unknown:
        raise KeyError(f"actions without a slot, or slots without an action: {sorted(unknown)}")
    groups: dict[str, QActionGroup] = {}
    made: dict[str, QAction] = {}
    for entry in entries:
        action = QAction(tr(entry.title), parent)
        if entry.short:
            action.setIconText(tr(entry.short))
        action.setCheckable(entry.checkable)
        action.setAutoRepeat(entry.repeats)  # with shortcuts, it would register each of them anew
        action.setShortcuts([QKeySequence(key) for key in entry.keys])
        action.setToolTip(tooltip_with_shortcut(tr(entry.tip), action.shortcut()))
        action.setObjectName(entry.key)
        if entry.exclusive:
            group = groups.setdefault(entry.exclusive, QActionGroup(parent))
            group.addAction(action)
        slot = slots[entry.key]
        action.triggered.connect(lambda _checked=False, slot=slot: slot())
        parent.addAction(action)
        made[entry.key] = action
    return made


def set_available(action: QAction, tip: str, reason: str) -> None:
    """Enable an action, or disable it with `reason`, a sentence, as its tooltip; "" enables it."""
    action.setEnabled(not reason)
    action.setToolTip(reason or tooltip_with_shortcut(tip, action.shortcut()))


def tip_of(key: str) -> str:
    return next(tr(entry.tip) for entry in ACTIONS if entry.key == key)


def apply_icons(
    actions: Mapping[str, QAction], tokens: Tokens, entries: Sequence[ActionEntry] = ACTIONS
) -> Iterator[None]:
    """Set the icons in the theme's colors; yield after each group of the table `entries`."""
    for group in dict.fromkeys(entry.group for entry in entries):
        for entry in entries:
            if entry.icon and entry.group == group:
                actions[entry.key].setIcon(icon(entry.icon, tokens))
        yield


def tooltip_with_shortcut(tip: str, key: QKeySequence) -> str:
    return f"{tip} ({key.toString(QKeySequence.SequenceFormat.NativeText)})"
