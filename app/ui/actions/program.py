"""Actions of the group Program: the menu, help, language and end of the program."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry

PROGRAM_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry(
        "palette",
        "Search everything...",
        ("Ctrl+K",),
        "Find an action, a style, a setting or an answer by words, and run or show it",
        "Program",
        "search",
    ),
    ActionEntry("menu", "Menu", ("F10",), "Show all commands", "Program", "menu"),
    ActionEntry(
        "language", "Language", ("Ctrl+Shift+L",), "Choose the language of the window", "Program"
    ),
    ActionEntry("help", "Keys and help", ("F1",), "Show all keys", "Program", "help"),
    ActionEntry(
        "questions",
        "Questions and answers",
        ("Shift+F1",),
        "Show questions and answers",
        "Program",
        "help",
    ),
    ActionEntry(
        "copy_details",
        "Copy details",
        ("Ctrl+Shift+C",),
        "Copy the details of the problem shown",
        "Program",
        "copy",
    ),
    ActionEntry(
        "copy_report",
        "Copy a report",
        ("Ctrl+F1",),
        "Copy a report for a help request: machine, settings and last messages",
        "Program",
        "copy",
    ),
    ActionEntry(
        "new_window", "New window", ("Ctrl+Shift+N",), "Open another window", "Program", "open"
    ),
    ActionEntry("quit", "Quit", ("Q", "Ctrl+Q"), "Close the program", "Program", "quit"),
)
