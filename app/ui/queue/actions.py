"""The actions of the queue's page: buttons, menu, keys and help."""

from __future__ import annotations

from app.ui.actions import ActionEntry

GROUP = "Queue"

QUEUE_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry("add", "Add files...", ("J",), "Add pictures and films to the queue", GROUP, "add"),
    ActionEntry(
        "add_folder",
        "Add folder...",
        ("Shift+J",),
        "Add a folder with its subfolders to the queue, as one entry",
        GROUP,
        "folder",
    ),
    ActionEntry(
        "styles", "Styles", ("D",), "Choose one style or several for what is added", GROUP, "styled"
    ),
    ActionEntry(
        "output",
        "Results",
        ("X",),
        "Choose the folder for the results of what is added",
        GROUP,
        "save",
    ),
    ActionEntry(
        "skip",
        "Skip what exists",
        ("K",),
        "Skip what has a result already; otherwise results are replaced",
        GROUP,
        checkable=True,
    ),
    ActionEntry(
        "watch",
        "Watch a folder",
        ("Shift+X",),
        "Add the pictures that appear in a folder, and run the queue",
        GROUP,
        checkable=True,
    ),
    ActionEntry(
        "start",
        "Start",
        ("Ctrl+Return", "Ctrl+Enter"),
        "Run the queue, or stop it now; what is stopped waits again",
        GROUP,
        "play",
    ),
    ActionEntry(
        "finish",
        "Stop after this one",
        ("E",),
        "Complete the entry under way, and begin no other",
        GROUP,
        checkable=True,
    ),
    ActionEntry(
        "open",
        "Open result",
        ("Return", "Enter"),
        "Open the result of the chosen entry",
        GROUP,
        "open",
    ),
    ActionEntry(
        "reveal",
        "Show in folder",
        ("Shift+Return", "Shift+Enter"),
        "Open the folder of the chosen entry's result",
        GROUP,
        "folder",
    ),
    ActionEntry("up", "Move up", ("Alt+Up",), "Run the chosen entries earlier", GROUP, "up"),
    ActionEntry("down", "Move down", ("Alt+Down",), "Run the chosen entries later", GROUP, "down"),
    ActionEntry("first", "Move to the top", ("Alt+Home",), "Run the chosen entries first", GROUP),
    ActionEntry("last", "Move to the end", ("Alt+End",), "Run the chosen entries last", GROUP),
    ActionEntry(
        "retry",
        "Try again",
        ("F5",),
        "Have the chosen entries that failed wait again; if none is chosen, all that failed",
        GROUP,
        "retry",
    ),
    ActionEntry(
        "remove",
        "Remove",
        ("Del", "Backspace"),
        "Remove the chosen entries from the queue; results stay",
        GROUP,
        "remove",
    ),
    ActionEntry(
        "clear",
        "Remove what is done",
        ("Ctrl+Del",),
        "Remove every entry that is done from the queue; results stay",
        GROUP,
        "clear",
    ),
)
