"""The table of actions that generates toolbar, menu, shortcuts and help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from app.translation.texts import tr
from app.ui.theme.icons import icon
from app.ui.theme.tokens import Tokens


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


STYLE_KEYS = 9
GROUPS = ("Source", "Playback", "Picture", "Style", "View", "Program")

ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry("open", "Open...", ("Ctrl+O",), "Open pictures or a video", "Source", "open"),
    ActionEntry(
        "open_camera",
        "Camera",
        ("F6",),
        "Paint what a camera sees",
        "Source",
        "camera",
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
        ("Ctrl+K",),
        "Cameras and other sources",
        "Source",
        "camera",
        short="Sources",
    ),
    ActionEntry(
        "camera_mode",
        "Camera size and rate...",
        ("Shift+K",),
        "Choose size, rate and exposure of the camera",
        "Source",
    ),
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
        "Part begins here",
        ("A",),
        "Loop a part of the video that begins with this frame",
        "Playback",
        "mark_start",
    ),
    ActionEntry(
        "mark_end",
        "Part ends here",
        ("B",),
        "Loop a part of the video that ends with this frame",
        "Playback",
        "mark_end",
    ),
    ActionEntry(
        "loop",
        "Loop the part",
        ("L",),
        "Loop the part from A to B, or play all of the video",
        "Playback",
        "loop",
        checkable=True,
    ),
    ActionEntry(
        "mute",
        "Mute",
        ("U",),
        "Mute the sound of videos, or hear it",
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
        "virtual_camera",
        "Virtual camera",
        ("W",),
        "Show the stream to other programs, as a camera",
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
        "Show what was saved last in its folder",
        "Picture",
        "folder",
    ),
    ActionEntry(
        "before_after",
        "Save before/after",
        ("Ctrl+B",),
        "Save the picture and its original as one, side by side or as the divider splits them",
        "Picture",
        "split",
    ),
    ActionEntry(
        "wipe",
        "Save a wipe...",
        ("Ctrl+Shift+B",),
        "Save a short film or GIF that wipes the original into the picture",
        "Picture",
        "film",
    ),
    ActionEntry(
        "queue",
        "Queue",
        ("Ctrl+J",),
        "Show the queue of pictures and films, or the picture again",
        "Picture",
        "queue",
        checkable=True,
    ),
    ActionEntry(
        "undo",
        "Undo",
        ("Ctrl+Z",),
        "Take back the last change of style or settings",
        "Style",
        "undo",
        repeats=True,
    ),
    ActionEntry(
        "redo",
        "Redo",
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        "Make the change again that was taken back",
        "Style",
        "redo",
        repeats=True,
    ),
    ActionEntry(
        "save_look",
        "Save look...",
        ("Ctrl+D",),
        "Save style, mix, strength, strokes, texture and colors under a name",
        "Style",
        "save",
        short="Save look",
    ),
    ActionEntry(
        "reset",
        "Reset settings",
        ("Ctrl+Backspace",),
        "Give all settings their defaults; the style stays",
        "Style",
    ),
    *(
        ActionEntry(
            f"style_{n}", f"Style {n}", (str(n),), f"Choose style {n} of the gallery", "Style"
        )
        for n in range(1, STYLE_KEYS + 1)
    ),
    ActionEntry("next_style", "Next style", ("N",), "Choose the next style", "Style", "styled"),
    ActionEntry(
        "previous_style", "Previous style", ("Shift+N",), "Choose the previous style", "Style"
    ),
    ActionEntry(
        "train",
        "Train a style...",
        ("Ctrl+T",),
        "Train a new style from a picture in the training studio",
        "Style",
        "train",
        short="Train",
    ),
    ActionEntry(
        "mix", "Mix on or off", ("M",), "Start or stop mixing with a second style", "Style"
    ),
    ActionEntry(
        "mix_next",
        "Mix with the next",
        ("Shift+M",),
        "Mix with the next style of the gallery",
        "Style",
    ),
    ActionEntry(
        "try_style",
        "Try the next style",
        ("T",),
        "Show the picture in the next style without choosing it; Enter chooses it, Esc returns",
        "Style",
        repeats=True,
    ),
    ActionEntry(
        "try_on_hover",
        "Try styles by pointing at them",
        ("Shift+G",),
        "Show the picture in a style while the pointer rests on its card",
        "Style",
        checkable=True,
    ),
    ActionEntry(
        "search_styles",
        "Search styles",
        ("Ctrl+F",),
        "Search the gallery by title, artist or group",
        "Style",
    ),
    ActionEntry(
        "favorite_style",
        "Favorite",
        ("F",),
        "Make the chosen style a favorite, which comes first; or one like the others again",
        "Style",
    ),
    ActionEntry(
        "move_style_left",
        "Move this style to the left",
        ("Ctrl+Shift+Left",),
        "Move the chosen style one place to the left; also drag it",
        "Style",
        repeats=True,
    ),
    ActionEntry(
        "move_style_right",
        "Move this style to the right",
        ("Ctrl+Shift+Right",),
        "Move the chosen style one place to the right; also drag it",
        "Style",
        repeats=True,
    ),
    ActionEntry(
        "about_style",
        "About this style...",
        ("I",),
        "Tell whose painting the chosen style is after, its license, and how it was trained",
        "Style",
    ),
    ActionEntry(
        "install_style",
        "Install a style...",
        ("Ctrl+I",),
        "Install a .styleforge, .pth or .safetensors file as a style",
        "Style",
        "add",
        short="Install",
    ),
    ActionEntry(
        "style_picture",
        "Style from a picture...",
        ("Ctrl+Shift+I",),
        "Make a style of any picture; also drop one on the styles",
        "Style",
        "picture",
        short="From a picture",
    ),
    ActionEntry(
        "paste_style",
        "Paste as a style",
        ("Ctrl+Shift+V",),
        "Make a style of the picture on the clipboard",
        "Style",
        "paste",
    ),
    ActionEntry(
        "train_picture",
        "Train this style properly...",
        ("Shift+T",),
        "Train a network of its own for the chosen style, which was made of a picture",
        "Style",
        "train",
    ),
    ActionEntry(
        "rename_style",
        "Rename this style...",
        ("F2",),
        "Give the chosen style another title, if you added it",
        "Style",
    ),
    ActionEntry(
        "export_style",
        "Export this style...",
        ("Ctrl+E",),
        "Write the chosen style as one .styleforge file, to install it on another machine",
        "Style",
        "save",
    ),
    ActionEntry(
        "remove_style",
        "Remove this style...",
        ("Shift+Del",),
        "Remove the chosen style, if you installed it",
        "Style",
        "remove",
    ),
    ActionEntry(
        "view_styled",
        "Styled",
        ("Ctrl+1",),
        "Show the styled picture",
        "View",
        "styled",
        checkable=True,
        exclusive="view",
    ),
    ActionEntry(
        "view_split",
        "Before/after",
        ("Ctrl+2",),
        "Show the original left and the styled picture right of a divider",
        "View",
        "split",
        checkable=True,
        exclusive="view",
    ),
    ActionEntry(
        "view_compare",
        "Speed test",
        ("Ctrl+3",),
        "Run plain PyTorch and StyleForge side by side, and measure both",
        "View",
        "compare",
        checkable=True,
        exclusive="view",
    ),
    ActionEntry(
        "compare",
        "Speed test on or off",
        ("C",),
        "Test the speed, or return to the previous view",
        "View",
    ),
    ActionEntry(
        "cycle_view",
        "Next view",
        ("V",),
        "Switch between styled, before/after and speed test",
        "View",
    ),
    ActionEntry(
        "projector",
        "Projector",
        ("Shift+F11",),
        "Show the picture alone on a second screen; Esc closes it",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "slideshow",
        "Slideshow of styles",
        ("F3",),
        "Change to the next style every few seconds, or stop",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "slideshow_settings",
        "Slideshow settings...",
        ("Shift+F3",),
        "Choose the styles of the slideshow, and how long each is shown",
        "View",
    ),
    ActionEntry(
        "zoom_in",
        "Zoom in",
        ("+", "="),
        "Show the picture larger; also the wheel",
        "View",
        repeats=True,
    ),
    ActionEntry(
        "zoom_out",
        "Zoom out",
        ("-",),
        "Show the picture smaller; also the wheel",
        "View",
        repeats=True,
    ),
    ActionEntry(
        "zoom_fit",
        "Fit the window",
        ("0", "Ctrl+0"),
        "Show the whole picture; a double click does too",
        "View",
    ),
    ActionEntry(
        "zoom_actual",
        "Actual size",
        ("Shift+1",),
        "Show every pixel of the picture as one of the screen; also a double click",
        "View",
    ),
    ActionEntry(
        "mirror",
        "Mirror",
        ("H",),
        "Mirror the picture on screen; files and the virtual camera stay as they are",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "overlay",
        "Show speed",
        ("O",),
        "Show rates, delay and timings on the picture",
        "View",
        "overlay",
        checkable=True,
    ),
    ActionEntry("smoother", "Smoother", ("[",), "More pictures a second, less sharp", "View"),
    ActionEntry("sharper", "Sharper", ("]",), "Sharper, with fewer pictures a second", "View"),
    ActionEntry(
        "automatic_speed",
        "Automatic speed",
        ("Shift+A",),
        "Let the program choose between smooth and sharp",
        "View",
    ),
    ActionEntry(
        "advanced",
        "Advanced settings",
        ("Shift+P",),
        "Show or hide the advanced settings of the panel",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "details",
        "What runs, and why",
        ("Shift+D",),
        "Tell which network and engine run, and why nothing faster does",
        "View",
        short="Details...",
    ),
    ActionEntry(
        "badge",
        "Frames a second",
        ("Shift+B",),
        "Show how many pictures a second there are, in the corner of the picture",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "layers",
        "Time every layer",
        ("Shift+O",),
        "Show the time of every layer among the figures; this slows the network on a GPU",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "gallery",
        "Styles",
        ("G",),
        "Show the gallery of styles",
        "View",
        "gallery",
        checkable=True,
    ),
    ActionEntry(
        "film_strip",
        "Film strip",
        ("Shift+L",),
        "Show the pictures of a folder as a strip below the picture",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "looks",
        "Looks",
        ("Y",),
        "Show the strip of saved looks and of the last ones",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "panel", "Panel", ("P",), "Show the panel of settings", "View", "panel", checkable=True
    ),
    ActionEntry(
        "theme",
        "Theme",
        ("Ctrl+Shift+T",),
        "Change the theme: that of the system, light or dark",
        "View",
        "theme",
    ),
    ActionEntry(
        "reduce_motion",
        "Reduce motion",
        ("Ctrl+F11",),
        "Let nothing blink or move by itself but the picture",
        "View",
        checkable=True,
    ),
    ActionEntry(
        "fullscreen",
        "Full screen",
        ("F11",),
        "Full screen; Esc leaves it",
        "View",
        "fullscreen",
        checkable=True,
    ),
    ActionEntry(
        "back", "Leave or dismiss", ("Esc",), "Leave full screen, or dismiss the message", "View"
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
        "Copy a report to ask for help with: machine, settings and last messages",
        "Program",
        "copy",
    ),
    ActionEntry("quit", "Quit", ("Q", "Ctrl+Q"), "Close the program", "Program", "quit"),
)


def build_actions(
    parent: QWidget,
    slots: Mapping[str, Callable[[], object]],
    entries: Sequence[ActionEntry] = ACTIONS,
) -> dict[str, QAction]:
    """Make one QAction per entry and add it to `parent`, so that its shortcuts work.

    Args:
        parent: owns the actions.
        slots: one callable for every key of the table.
        entries: the table.

    Raises:
        KeyError: a slot is missing, or its key is unknown.
    """
    unknown = set(slots) ^ {entry.key for entry in entries}
    if unknown:
        raise KeyError(f"actions without a slot, or slots without an action: {sorted(unknown)}")
    groups: dict[str, QActionGroup] = {}
    made: dict[str, QAction] = {}
    for entry in entries:
        action = QAction(tr(entry.title), parent)
        if entry.short:
            action.setIconText(tr(entry.short))
        action.setShortcuts([QKeySequence(key) for key in entry.keys])
        action.setToolTip(tooltip_with_shortcut(tr(entry.tip), action.shortcut()))
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


def set_available(action: QAction, tip: str, reason: str) -> None:
    """Enable an action; or disable it, with the reason as its tooltip.

    Args:
        action: One of `build_actions`.
        tip: What it does, in the chosen language.
        reason: Why it cannot be done now, as a sentence; empty if it can.
    """
    action.setEnabled(not reason)
    action.setToolTip(reason or tooltip_with_shortcut(tip, action.shortcut()))


def tip_of(key: str) -> str:
    """Return the tip of the action `key`, in the chosen language."""
    return next(tr(entry.tip) for entry in ACTIONS if entry.key == key)


def apply_icons(
    actions: Mapping[str, QAction], tokens: Tokens, entries: Sequence[ActionEntry] = ACTIONS
) -> Iterator[None]:
    """Set the icons in the theme's colors; yields after each group of the table `entries`."""
    for group in dict.fromkeys(entry.group for entry in entries):
        for entry in entries:
            if entry.icon and entry.group == group:
                # A checked button of an exclusive group has the accent as background.
                checked = tokens.on_accent if entry.exclusive else ""
                actions[entry.key].setIcon(icon(entry.icon, tokens, checked))
        yield


def tooltip_with_shortcut(tip: str, key: QKeySequence) -> str:
    """Return a tooltip that ends with its shortcut in native notation."""
    return f"{tip} ({key.toString(QKeySequence.SequenceFormat.NativeText)})"
