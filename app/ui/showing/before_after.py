"""Saves the picture with its original: as one picture, or as a film that wipes into it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.engine.result import StyledFrame
from app.export.before_after.picture import before_and_after, write_before_after
from app.export.before_after.wipe import ANIMATION, FILM, write_wipe
from app.live.display_copy import full_size
from app.ui.controllers.exporter import films_folder, pictures_folder
from app.ui.controllers.full_quality import FullQuality
from app.ui.file_dialogs import FileKind, Place, suggested_name
from app.ui.showing.saved_files import SavedFiles
from app.ui.window_context import WindowContext
from utils.stop_flag import Stopped
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

MAKING = mark("Making the wipe...")
SAVE_WIPE = FileKind(
    "save_folder",
    (Place.MoviesLocation,),
    ((mark("Film"), (FILM,)), (mark("Animation"), (ANIMATION,))),
)


class BeforeAfter:
    """Saves before/after pictures and wipes, encoded in background jobs."""

    def __init__(
        self, context: WindowContext, saved: SavedFiles, full_quality: FullQuality
    ) -> None:
        self._full_quality = full_quality
        self._session, self._current, self._say = (
            context.session,
            context.styled_or_notice,
            context.say,
        )
        self._viewport, self._saved, self._dialogs = context.viewport, saved, context.dialogs

    def save(self) -> None:
        """Save one picture of both: divided as in the before/after view, or side by side."""
        styled = self._current()
        if styled is None:
            return
        at = self._viewport.split if self._viewport.view == "split" else None
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
        path = pictures_folder() / f"{styled.config.style}_{moment}_before-after.png"

        def work() -> list[str] | None:
            with suppress(Stopped):
                whole, lost = self._full_quality.render(styled)
                path.parent.mkdir(parents=True, exist_ok=True)
                arrangement = "side" if at is None else "split"
                pixels = full_size(whole)
                return lost + write_before_after(path, whole, arrangement, at or 0.0, pixels)
            return None

        self._session.write(
            work, partial(self._tell, path), failure=tr("Could not save {name}", name=path.name)
        )

    def ask_wipe(self, parent: QWidget) -> None:
        styled = self._current()
        if styled is None:
            return
        dialog = self._dialogs.saving(
            parent,
            tr("Save a wipe"),
            SAVE_WIPE,
            lambda path: self.save_wipe(styled, path, dialog.selectedNameFilter()),
            films_folder(),
        )
        info = self._session.info
        name = suggested_name(info.title if info else "", styled.running.style)
        dialog.selectFile(name.removesuffix(".png"))
        dialog.open()

    def save_wipe(self, styled: StyledFrame, path: Path, chosen: str = "") -> None:
        """Write a wipe; if `path` has no extension of one, the name filter `chosen` decides it."""
        if path.suffix.lower() not in (FILM, ANIMATION):
            ending = ANIMATION if ANIMATION in chosen else FILM
            path = path.with_name(path.name + ending)

        def work() -> list[str] | None:
            with suppress(Stopped):
                whole, lost = self._full_quality.render(styled)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_wipe(path, *before_and_after(whole, full_size(whole)))
                return lost
            return None

        self._say(tr(MAKING))
        self._session.write(
            work, partial(self._tell, path), failure=tr("Could not save {name}", name=path.name)
        )

    def _tell(self, path: Path, lost: list[str] | None) -> None:
        """Say that a file was saved and what it lacks; None means that saving was canceled."""
        if lost is None:
            self._say(tr("Canceled: {name} was not saved", name=path.name))
        else:
            self._saved.tell(path, clauses([tr("Saved {path}", path=path), *lost]))
