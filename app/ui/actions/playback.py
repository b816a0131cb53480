"""Actions of the group Playback: playing films and stepping through pictures."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry

PLAYBACK_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry(
        "pause",
        "Pause",
        ("Space",),
        "Pause or continue; a camera's picture freezes, and can still be styled",
        "Playback",
        "pause",
        checkable=True,
    ),
    ActionEntry(
        "previous",
        "Back 5 s, or previous",
        ("Left", "PgUp"),
        "Previous picture, or 5 seconds back",
        "Playback",
        "previous",
        repeats=True,
    ),
    ActionEntry(
        "next",
        "Forward 5 s, or next",
        ("Right", "PgDown"),
        "Next picture, or 5 seconds forward",
        "Playback",
        "next",
        repeats=True,
    ),
    ActionEntry(
        "step_back",
        "One frame back",
        (",",),
        "Pause, and show the frame before",
        "Playback",
        "step_back",
        repeats=True,
    ),
    ActionEntry(
        "step_forward",
        "One frame forward",
        (".",),
        "Pause, and show the next frame",
        "Playback",
        "step_forward",
        repeats=True,
    ),
    ActionEntry(
        "mark_start",
        "Loop from here",
        ("A",),
        "Start the loop of the video at this frame",
        "Playback",
        "mark_start",
    ),
    ActionEntry(
        "mark_end",
        "Loop to here",
        ("B",),
        "End the loop of the video at this frame",
        "Playback",
        "mark_end",
    ),
    ActionEntry(
        "loop",
        "Loop the part",
        ("L",),
        "Loop the part from A to B, or play the whole video",
        "Playback",
        "loop",
        checkable=True,
    ),
    ActionEntry(
        "mute",
        "Mute",
        ("U",),
        "Mute or unmute the sound of videos",
        "Playback",
        "mute",
        checkable=True,
    ),
    ActionEntry(
        "louder", "Louder", ("Ctrl+Up",), "Play the sound louder", "Playback", repeats=True
    ),
    ActionEntry(
        "softer", "Softer", ("Ctrl+Down",), "Play the sound softer", "Playback", repeats=True
    ),
)
