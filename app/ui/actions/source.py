"""Actions of the group Source: opening sources."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry

SOURCE_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry("open", "Open...", ("Ctrl+O",), "Open pictures or a video", "Source", "open"),
    ActionEntry(
        "open_camera",
        "Camera",
        ("F6",),
        "Paint what a camera sees",
        "Source",
        "camera",
        words="webcam",
    ),
    ActionEntry(
        "open_photo",
        "Photo...",
        ("F7",),
        "Open photos to paint",
        "Source",
        "photo",
        short="Photo",
    ),
    ActionEntry(
        "open_film",
        "Film...",
        ("F8",),
        "Open a film to paint",
        "Source",
        "film",
        short="Film",
    ),
    ActionEntry(
        "open_demo",
        "Demo",
        ("F9",),
        "Show the built-in animated scene",
        "Source",
        "scene",
    ),
    ActionEntry(
        "open_folder",
        "Open folder...",
        ("Ctrl+Shift+O",),
        "Open all pictures in a folder, to step through with the arrow keys",
        "Source",
        "folder",
    ),
    ActionEntry(
        "address",
        "Network address...",
        ("Ctrl+L",),
        "Type the address of a network camera",
        "Source",
        "address",
    ),
    ActionEntry(
        "paste", "Paste", ("Ctrl+V",), "Open the picture from the clipboard", "Source", "paste"
    ),
    ActionEntry(
        "sources",
        "Cameras and sources",
        ("Ctrl+Shift+K",),
        "Cameras and other sources",
        "Source",
        "camera",
    ),
    ActionEntry(
        "camera_mode",
        "Camera size and rate...",
        ("Shift+K",),
        "Choose size, rate and exposure of the camera",
        "Source",
    ),
    ActionEntry(
        "wall_camera",
        "Camera on the wall",
        ("Shift+F6",),
        "Let the wall open the camera by itself at the start, or never",
        "Source",
        checkable=True,
    ),
    ActionEntry(
        "remember_source",
        "Remember the last source",
        ("Shift+F9",),
        "Keep in the settings which picture, film or folder was open, for the next start",
        "Source",
        checkable=True,
    ),
)
