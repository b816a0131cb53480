"""Reports saved files and shows them in their folder."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices

from app.errors import ADVICE, Problem
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

NOTHING = mark("Nothing was saved yet: S saves this picture, R records")
NO_PROGRAM_ADVICE = mark("Install a file manager, or open the folder in a terminal.")
WORDS = mark("Show in &folder")


class SavedFiles:
    """Remembers the last saved file; jobs show it, since a network folder may respond slowly."""

    def __init__(self, context: WindowContext) -> None:
        self._notices, self._fail = context.notices, context.session.problem.emit
        self._run = context.session.run
        self._newest: Path | None = None

    def tell(self, path: Path, text: str) -> None:
        self._newest = path
        self._notices.show_notice(
            text,
            (tr(WORDS), tr("Show {name} in its folder", name=path.name), lambda: self._show(path)),
        )

    def show(self) -> None:
        if self._newest is None:
            self._notices.show_notice(tr(NOTHING))
        else:
            self._show(self._newest)

    def _show(self, path: Path) -> None:
        def found(there: bool) -> None:
            if not there:
                self._fail(
                    Problem(
                        tr("The folder {parent} no longer exists", parent=path.parent),
                        advice=tr(ADVICE["FileNotFoundError"]),
                    )
                )
            elif not show_in_folder(path):
                self._fail(
                    Problem(
                        tr("No program for folders is installed; the file is {path}", path=path),
                        advice=tr(NO_PROGRAM_ADVICE),
                    )
                )

        self._run(path.parent.is_dir, found, failure="Could not show the folder")


def show_in_folder(path: Path, system: str = sys.platform) -> bool:
    """Show a file in its folder, selected on Windows and macOS; tell if a program started."""
    if system == "win32":
        return QProcess.startDetached("explorer", ["/select,", str(path)])[0]
    if system == "darwin":
        return QProcess.startDetached("open", ["-R", str(path)])[0]
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))
