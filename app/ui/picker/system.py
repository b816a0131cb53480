"""Decides whether the system has a file dialog of its own."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QListView

_ALWAYS = ("windows", "cocoa")
_BY_THEME = ("xcb", "wayland")
# Qt's themes that bring a dialog: GTK's, the portal's and KDE's.
_THEMES = re.compile(r"/platformthemes/(libqgtk3|libqxdgdesktopportal|KDEPlasmaPlatformTheme)")
_MAPS = Path("/proc/self/maps")  # names the libraries that are loaded


def system_has_dialogs() -> bool:
    """Return whether a QFileDialog may be the system's own; see docs/decisions/own-file-picker.md.

    If so, `is_native` decides. Qt's own dialog takes longer than a frame to create.
    """
    platform = QGuiApplication.platformName().partition("-")[0]
    if platform in _ALWAYS:
        return True
    return (
        platform in _BY_THEME
        and _MAPS.exists()
        and has_dialogs(_MAPS.read_text("utf-8", "replace"))
    )


def has_dialogs(maps: str) -> bool:
    """Return whether a theme with a dialog is among the loaded libraries."""
    return _THEMES.search(maps) is not None


def is_native(dialog: QFileDialog) -> bool:
    """Return whether the system draws a dialog: Qt's own has a list of files, even while hidden."""
    return dialog.findChild(QListView) is None
