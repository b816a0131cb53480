"""The table of actions, from which toolbar, menu, shortcuts and help are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from app.ui.theme.icons import icon
from app.ui.theme.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing the user can do. `keys` are portable key sequences, the first one is shown;
    `exclusive` names a set of checkable actions of which one is on."""

    key: str
    title: str
    keys: tuple[str, ...]
    tip: str
    group: str
    icon: str = ""
    checkable: bool = False
    exclusive: str = ""
    repeats: bool = False  # while the key is held down


STYLE_KEYS = 9
GROUPS = ("Source", "Playback", "Picture", "Style", "View", "Program")

ACTIONS: tuple[Entry, ...] = (
    Entry("open", "Open...", ("Ctrl+O",), "Open pictures or a video", "Source", "open"),
    Entry(
        "open_folder",
        "Open folder...",
        ("Ctrl+Shift+O",),
        "Open all pictures of a folder as a strip",
        "Source",
        "folder",
    ),
    Entry(
        "address",
        "Network address...",
        ("Ctrl+L",),
        "Type the address of a network camera",
        "Source",
        "address",
    ),
    Entry("paste", "Paste", ("Ctrl+V",), "Open the picture on the clipboard", "Source", "paste"),
    Entry(
        "sources", "Cameras and sources", ("Ctrl+K",), "Choose what to style", "Source", "camera"
    ),
    Entry(
        "pause",
        "Pause",
        ("Space",),
        "Pause and resume",
        "Playback",
        "pause",
        checkable=True,
    ),
    Entry(
        "previous",
        "Back",
        ("Left", "PgUp"),
        "Previous picture, or 5 seconds back",
        "Playback",
        "previous",
        repeats=True,
    ),
    Entry(
        "next",
        "Forward",
        ("Right", "PgDown"),
        "Next picture, or 5 seconds forward",
        "Playback",
        "next",
        repeats=True,
    ),
    Entry(
        "snapshot",
        "Snapshot",
        ("S",),
        "Save the picture at once, into Pictures/StyleForge",
        "Picture",
        "snapshot",
    ),
    Entry(
        "record",
        "Record",
        ("R",),
        "Record the stream as a film into Videos/StyleForge, and end it",
        "Picture",
        "record",
        checkable=True,
    ),
    Entry("save", "Save as...", ("Ctrl+S",), "Save the picture as a file", "Picture", "save"),
    Entry("copy", "Copy", ("Ctrl+C",), "Copy the picture to the clipboard", "Picture", "copy"),
    *(
        Entry(f"style_{n}", f"Style {n}", (str(n),), f"Choose style {n} of the gallery", "Style")
        for n in range(1, STYLE_KEYS + 1)
    ),
    Entry("next_style", "Next style", ("N",), "Choose the next style", "Style", "styled"),
    Entry("previous_style", "Previous style", ("Shift+N",), "Choose the previous style", "Style"),
    Entry(
        "train",
        "Train a style...",
        ("Ctrl+T",),
        "Learn a new style from a picture, in the training studio",
        "Style",
        "train",
    ),
    Entry("mix", "Mix on or off", ("M",), "Mix with a second style, or stop", "Style"),
    Entry("mix_next", "Mix with the next", ("Shift+M",), "Change the second style", "Style"),
    Entry(
        "install_style",
        "Install a style...",
        ("Ctrl+I",),
        "Install a .pth or .safetensors file as a style",
        "Style",
        "add",
    ),
    Entry(
        "remove_style",
        "Remove this style...",
        ("Shift+Del",),
        "Remove the chosen style, if you installed it",
        "Style",
        "remove",
    ),
    Entry(
        "view_styled",
        "Styled",
        ("Ctrl+1",),
        "Show the styled picture",
        "View",
        "styled",
        checkable=True,
        exclusive="view",
    ),
    Entry(
        "view_split",
        "Split",
        ("Ctrl+2",),
        "Show the original left and the styled picture right of a divider",
        "View",
        "split",
        checkable=True,
        exclusive="view",
    ),
    Entry(
        "view_compare",
        "Compare",
        ("Ctrl+3",),
        "Run the baseline and the fused kernels side by side",
        "View",
        "compare",
        checkable=True,
        exclusive="view",
    ),
    Entry("compare", "Compare on or off", ("C",), "Compare, or back to the view before", "View"),
    Entry("cycle_view", "Next view", ("V",), "Styled, split, compare", "View"),
    Entry(
        "overlay",
        "Figures",
        ("O",),
        "Show rates, latency and timings on the picture",
        "View",
        "overlay",
        checkable=True,
    ),
    Entry(
        "gallery",
        "Styles",
        ("G",),
        "Show the gallery of styles",
        "View",
        "gallery",
        checkable=True,
    ),
    Entry("panel", "Panel", ("P",), "Show the panel of settings", "View", "panel", checkable=True),
    Entry("theme", "Theme", ("Ctrl+Shift+T",), "Follow the system, light, dark", "View", "theme"),
    Entry(
        "fullscreen",
        "Full screen",
        ("F11",),
        "Nothing but the picture",
        "View",
        "fullscreen",
        checkable=True,
    ),
    Entry(
        "back", "Leave or dismiss", ("Esc",), "Leave full screen, or dismiss the message", "View"
    ),
    Entry("menu", "Menu", ("F10",), "Everything the program can do", "Program", "menu"),
    Entry("help", "Keys and help", ("F1",), "All keys", "Program", "help"),
    Entry(
        "copy_details",
        "Copy details",
        ("Ctrl+Shift+C",),
        "Copy the details of the problem shown",
        "Program",
        "copy",
    ),
    Entry("quit", "Quit", ("Q", "Ctrl+Q"), "Close the program", "Program", "quit"),
)


def build(parent: QWidget, slots: Mapping[str, Callable[[], object]]) -> dict[str, QAction]:
    """One QAction per entry, added to `parent` so that its keys work; `slots` has one callable
    per key of the table, and a missing or unknown one raises KeyError."""
    unknown = set(slots) ^ {entry.key for entry in ACTIONS}
    if unknown:
        raise KeyError(f"actions without a slot, or slots without an action: {sorted(unknown)}")
    groups: dict[str, QActionGroup] = {}
    made: dict[str, QAction] = {}
    for entry in ACTIONS:
        action = QAction(entry.title, parent)
        action.setShortcuts([QKeySequence(key) for key in entry.keys])
        action.setToolTip(tip_with_key(entry.tip, action.shortcut()))
        action.setCheckable(entry.checkable)
        action.setAutoRepeat(entry.repeats)
        if entry.exclusive:
            group = groups.setdefault(entry.exclusive, QActionGroup(parent))
            group.addAction(action)
        slot = slots[entry.key]
        action.triggered.connect(lambda _checked=False, slot=slot: slot())
        parent.addAction(action)
        made[entry.key] = action
    return made


def dressing(actions: Mapping[str, QAction], tokens: Tokens) -> Iterator[None]:
    """Gives every action its icon in the theme's colors, and yields after each group."""
    for group in GROUPS:
        for entry in ACTIONS:
            if entry.icon and entry.group == group:
                # Those of which one is on lie on the accent themselves.
                checked = tokens.on_accent if entry.exclusive else ""
                actions[entry.key].setIcon(icon(entry.icon, tokens, checked))
        yield


def tip_with_key(tip: str, key: QKeySequence) -> str:
    """A tooltip that ends in its key, in the platform's way of writing it."""
    return f"{tip} ({key.toString(QKeySequence.SequenceFormat.NativeText)})"
