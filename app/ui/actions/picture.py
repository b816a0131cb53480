"""Actions of the group Picture: saving, recording and sending the picture."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry

PICTURE_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry(
        "snapshot",
        "Snapshot",
        ("S",),
        "Save this picture to Pictures/StyleForge",
        "Picture",
        "snapshot",
    ),
    ActionEntry(
        "record",
        "Record",
        ("R",),
        "Start or stop recording. Films go to Videos/StyleForge",
        "Picture",
        "record",
        checkable=True,
    ),
    ActionEntry(
        "record_sound",
        "Sound of recordings",
        ("Shift+R",),
        "Record no sound, the sound of the film, or the microphone",
        "Picture",
        "microphone",
    ),
    ActionEntry(
        "paint_part",
        "Paint all, me or the background",
        ("Z",),
        "Switch between the whole picture, only the person and only the background",
        "Picture",
    ),
    ActionEntry(
        "step_out",
        "Step out of the picture...",
        ("Shift+Z",),
        "Learn the empty scene, to paint only you or only the background",
        "Picture",
    ),
    ActionEntry(
        "person",
        "Person and background...",
        ("Ctrl+Shift+X",),
        "Choose what is painted, how soft its edges are, and how people are found",
        "Picture",
    ),
    ActionEntry(
        "brush",
        "Paint only here...",
        ("Shift+E",),
        "Brush over the parts of a still picture to paint; the right button erases",
        "Picture",
        checkable=True,
    ),
    ActionEntry(
        "virtual_camera",
        "Virtual camera",
        ("W",),
        "Show the stream to other programs as a camera",
        "Picture",
        "webcam",
        checkable=True,
    ),
    ActionEntry(
        "camera_settings",
        "Virtual camera settings...",
        ("Shift+W",),
        "Choose size, rate and format of the virtual camera",
        "Picture",
    ),
    ActionEntry("save", "Save as...", ("Ctrl+S",), "Save the picture as a file", "Picture", "save"),
    ActionEntry(
        "export_film",
        "Export film...",
        ("Ctrl+Shift+E",),
        "Paint every frame of the open video or animation into a new one, with its sound",
        "Picture",
        "save",
    ),
    ActionEntry(
        "copy", "Copy", ("Ctrl+C",), "Copy the picture to the clipboard", "Picture", "copy"
    ),
    ActionEntry(
        "show_saved",
        "Show in folder",
        ("Shift+S",),
        "Show the last saved file in its folder",
        "Picture",
        "folder",
    ),
    ActionEntry(
        "before_after",
        "Save before/after",
        ("Ctrl+B",),
        "Save the picture and its original in one file, side by side or split at the divider",
        "Picture",
        "split",
    ),
    ActionEntry(
        "wipe",
        "Save a wipe...",
        ("Ctrl+Shift+B",),
        "Save a short film or GIF that wipes from the original to the picture",
        "Picture",
        "film",
    ),
    ActionEntry(
        "queue",
        "Queue",
        ("Ctrl+J",),
        "Switch between the picture and the queue of pictures and films",
        "Picture",
        "queue",
        checkable=True,
    ),
)
