"""A row of the table of actions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """One action of the user.

    Attributes:
        key: its identifier.
        title: text in the menu.
        keys: portable key sequences; the first one is shown.
        tip: tooltip, also shown in the help.
        group: submenu and heading in the help.
        icon: name of its file in assets/icons; empty for none.
        checkable: whether it is on or off.
        exclusive: name of a group of checkable actions of which one is on.
        repeats: whether it repeats while the key is held down.
        short: its title on a button with words; by default the one in the menu.
    """

    key: str
    title: str
    keys: tuple[str, ...]
    tip: str
    group: str
    icon: str = ""
    checkable: bool = False
    exclusive: str = ""
    repeats: bool = False  # while the key is held down
    short: str = ""
