"""Reads paths and letters that the user types, pastes or drops."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDropEvent, QKeyEvent

_LETTERS = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.KeypadModifier,
)


def typed_path(text: str, folder: Path | None) -> Path | None:
    """Return the path in a text, relative to `folder`; None if the text is empty.

    The path may be in quotes, begin with ~, or be a file: address.
    """
    text = text.strip().strip("\"'")
    if not text:
        return None
    if text.startswith("file:"):
        return Path(QUrl(text).toLocalFile())
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # "~name" without such a user
        path = Path(text)
    return path if folder is None else folder / path


def folder_of(path: Path) -> Path | None:
    """Return a folder itself, and the folder of a file; None if there is neither."""
    try:
        return path if path.is_dir() else path.parent if path.exists() else None
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def dropped_files(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]


def accept_as_copy(event: QDropEvent) -> None:
    """Accept a drop as a copy: a file manager deletes a file that was moved."""
    copy, nothing = Qt.DropAction.CopyAction, Qt.DropAction.IgnoreAction
    event.setDropAction(copy if event.possibleActions() & copy else nothing)
    event.accept()


def is_typed(event: QKeyEvent) -> bool:
    """Return whether a key writes a letter; a space selects instead."""
    text = event.text().strip()
    return bool(text) and text.isprintable() and event.modifiers() in _LETTERS
