"""Saves the picture with its original: as one picture, or as a film that wipes into it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.engine.result import StyledFrame
from app.export.before_after.picture import before_and_after, write_before_after
from app.export.before_after.wipe import ANIMATION, FILM, write_wipe
from app.live.display_copy import full_size
from app.ui.controllers.exporter import films_folder, pictures_folder
from app.ui.controllers.full_quality import FullQuality
from app.ui.file_dialogs import FileKind, Place, suggested_name
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

MAKING = mark("Making the wipe...")
SAVE_WIPE = FileKind(
    "save_folder",
    (Place.MoviesLocation,),
    ((mark("Film"), (FILM,)), (mark("Animation"), (ANIMATION,))),
)


class BeforeAfter:
    """Saves before/after pictures and wipes, encoded in background jobs."""

    def __init__(self, context: WindowContext, full_quality: FullQuality) -> None:
        self._full_quality = full_quality
        self._session, self._current = context.session, context.styled_or_notice
        self._say, self._viewport, self._dialogs = context.say, context.viewport, context.dialogs

    def save(self, styled: StyledFrame | None = None) -> None:
        """Save one picture of both: divided as in the before/after view, or side by side.

        Without a result, save the one on screen.
        """
        styled = styled or self._current()
        if styled is None:
            return
        at = self._viewport.split if self._viewport.view == "split" else None
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
        path = pictures_folder() / f"{styled.config.style}_{moment}_before-after.png"

        def write(whole: StyledFrame) -> list[str]:
            arrangement = "side" if at is None else "split"
            return write_before_after(path, whole, arrangement, at or 0.0, full_size(whole))

        self._full_quality.save(styled, path, write)

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

    def save_shaped_wipe(self, styled: StyledFrame, *, square: bool) -> None:
        """Save a film of a result without asking for its name."""
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
        path = films_folder() / f"{styled.config.style}_{moment}_wipe{FILM}"
        self._write_wipe(styled, path, square=square)

    def save_wipe(self, styled: StyledFrame, path: Path, chosen: str = "") -> None:
        """Write a wipe; if `path` has no extension of one, the name filter `chosen` decides it."""
        if path.suffix.lower() not in (FILM, ANIMATION):
            ending = ANIMATION if ANIMATION in chosen else FILM
            path = path.with_name(path.name + ending)
        self._write_wipe(styled, path)

    def _write_wipe(self, styled: StyledFrame, path: Path, *, square: bool = False) -> None:
        def write(whole: StyledFrame) -> list[str]:
            write_wipe(path, *before_and_after(whole, full_size(whole)), square=square)
            return []

        self._say(tr(MAKING))
        self._full_quality.save(styled, path, write)
