"""An entry of the command palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtGui import QIcon


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that the palette finds and runs.

    Attributes:
        key: Identifies the entry among those used recently; the same at every start.
        kind: The word behind the title, such as "Style".
        more: Other text in which words are found, such as the tooltip.
        shortcut: The keys that run it without the palette, in native notation; "" for none.
        enabled: Whether it can be run now.
        reason: Why it cannot, as a sentence; "" if it can, or if nothing says why.
        picture: Whether the icon is a picture that is wider than it is high.
    """

    key: str
    title: str
    kind: str
    run: Callable[[], object]
    more: str = ""
    shortcut: str = ""
    enabled: bool = True
    reason: str = ""
    icon: QIcon = field(default_factory=QIcon)
    picture: bool = False
