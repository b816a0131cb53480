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
        "styles", "Styles", ("D",), "Choose one or several styles for new entries", GROUP, "styled"
    ),
    ActionEntry(
        "output",
        "Results",
        ("X",),
        "Choose the folder for the results of new entries",
        GROUP,
        "save",
    ),
    ActionEntry(
        "skip",
        "Skip existing results",
        ("K",),
        "Skip files that already have a result, instead of replacing it",
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
        "Run the queue, or stop it now; the stopped entry waits again",
        GROUP,
        "play",
    ),
    ActionEntry(
        "finish",
        "Stop after this entry",
        ("E",),
        "Complete the current entry, then stop",
        GROUP,
        checkable=True,
    ),
    ActionEntry(
        "results",
        "Show the pictures",
        ("Ctrl+P",),
        "Show the newest paintings in the window",
        GROUP,
        "picture",
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
        "Run the chosen failed entries again, or all failed ones if none is chosen",
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
        "Remove finished entries",
        ("Ctrl+Del",),
        "Remove all finished entries from the queue; results stay",
        GROUP,
        "clear",
    ),
)
