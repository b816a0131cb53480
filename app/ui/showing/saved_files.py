"""Reports saved files and shows them in their folder."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QImage

from app.engine.result import StyledFrame
from app.errors import ADVICE, Problem
from app.live.display_copy import full_size
from app.ui.showing.saved_card import SavedCard, file_data, small_copy
from app.ui.viewport.frame_painter import as_image
from app.ui.window_context import WindowContext
from utils.images.writing import SAVED
from utils.translation.texts import mark, tr

NOTHING = mark("Nothing was saved yet: S saves this picture, R records")
NO_PROGRAM_ADVICE = mark("Install a file manager, or open the folder in a terminal.")
WORDS = mark("Show in &folder")


class SavedFiles:
    """Remembers the last saved file; jobs show it, since a network folder may respond slowly.

    Attributes:
        card: Shows saved pictures; notices report other files.
        picture: The result that `card` shows, in full quality; None before the first.
    """

    def __init__(self, context: WindowContext, card: SavedCard) -> None:
        self._notices, self._fail = context.notices, context.session.problem.emit
        self._run, self._window = context.session.run, context.window
        self._newest: Path | None = None
        self.picture: StyledFrame | None = None
        self.card = card
        card.copy_wanted.connect(self._copy)
        card.folder_wanted.connect(self.show)

    def tell(self, path: Path, text: str) -> None:
        """Report a film."""
        self._newest = path
        self._notices.show_notice(
            text,
            (tr(WORDS), tr("Show {name} in its folder", name=path.name), lambda: self._show(path)),
        )

    def tell_picture(self, path: Path, text: str, styled: StyledFrame) -> None:
        """Report a saved result, in full quality; a wipe of it counts as one."""
        self._newest, self.picture = path, styled
        ratio = self._window.devicePixelRatioF()

        def shown(thumbnail: QImage) -> None:
            if path == self._newest:
                self.card.show_saved(path, text, thumbnail)

        self._run(
            lambda: small_copy(as_image(styled.frame.pixels), ratio),
            shown,
            failure="Could not show the saved picture",
        )

    def _copy(self) -> None:
        """Copy the saved file, and its picture unless it is a film."""
        path, styled = self._newest, self.picture
        if path is None or styled is None:
            return

        def work() -> QImage | None:
            if path.suffix.lower() not in SAVED:
                return None
            return as_image(full_size(styled)).copy()  # the clipboard outlives the frame

        def copied(picture: QImage | None) -> None:
            QGuiApplication.clipboard().setMimeData(file_data(path, picture))
            self._notices.show_notice(tr("Copied the picture"))

        self._run(work, copied, failure="Could not copy the picture")

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
