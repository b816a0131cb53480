"""A row of the table of actions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """An action of the user.

    Attributes:
        keys: Portable key sequences; the first one is displayed.
        tip: The tooltip, also shown in the help.
        group: The submenu, and the heading in the help.
        section: The title of a smaller submenu within it; "" for none.
        icon: File name in assets/icons; "" for none.
        exclusive: Name of a group of checkable actions, one of which is on.
        repeats: Whether holding the key down repeats it.
        short: The title on a button with text; defaults to the menu title.
        words: Other words that the palette finds it by.
    """

    key: str
    title: str
    keys: tuple[str, ...]
    tip: str
    group: str
    icon: str = ""
    checkable: bool = False
    exclusive: str = ""
    repeats: bool = False
    short: str = ""
    section: str = ""
    words: str = ""
