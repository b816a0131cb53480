"""Actions of the group Style: choosing, changing and managing styles."""

from __future__ import annotations

from app.ui.actions.entry import ActionEntry

STYLE_KEYS = 9

STYLE_ACTIONS: tuple[ActionEntry, ...] = (
    ActionEntry(
        "undo",
        "Undo",
        ("Ctrl+Z",),
        "Undo the last change of style or settings",
        "Style",
        "undo",
        repeats=True,
    ),
    ActionEntry(
        "redo",
        "Redo",
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        "Redo the last change that was undone",
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
        "Reset all settings to their defaults and keep the style",
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
        "Add the chosen style to the favorites, which come first, or remove it from them",
        "Style",
    ),
    ActionEntry(
        "move_style_left",
        "Move this style to the left",
        ("Ctrl+Shift+Left",),
        "Move the chosen style one place to the left; you can also drag it",
        "Style",
        repeats=True,
    ),
    ActionEntry(
        "move_style_right",
        "Move this style to the right",
        ("Ctrl+Shift+Right",),
        "Move the chosen style one place to the right; you can also drag it",
        "Style",
        repeats=True,
    ),
    ActionEntry(
        "about_style",
        "About this style...",
        ("I",),
        "Show the painting, license and training of this style",
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
        "Make a style from any picture; you can also drop one on the styles",
        "Style",
        "picture",
        short="From a picture",
    ),
    ActionEntry(
        "paste_style",
        "Paste as a style",
        ("Ctrl+Shift+V",),
        "Make a style from the picture on the clipboard",
        "Style",
        "paste",
    ),
    ActionEntry(
        "train_picture",
        "Train this style properly...",
        ("Shift+T",),
        "Train a network for the chosen style, which was made from a picture",
        "Style",
        "train",
    ),
    ActionEntry(
        "group_style",
        "Group of this style...",
        ("Shift+F2",),
        "Put the chosen style into a named group of the gallery",
        "Style",
    ),
    ActionEntry(
        "rename_style",
        "Rename this style...",
        ("F2",),
        "Rename the chosen style, if you added it",
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
)
