"""Takes the picture out of the window: snapshot, save as, copy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from app.metadata import metadata
from app.session import Session
from app.styled import Styled
from app.ui.viewport import as_image
from utils.image_utils import SAVED, save_image

FILTER = "PNG (*.png);;JPEG (*.jpg *.jpeg);;WebP (*.webp)"


def pictures_folder() -> Path:
    """Where snapshots go; need not exist yet."""
    standard = QStandardPaths.StandardLocation.PicturesLocation
    return Path(QStandardPaths.writableLocation(standard)) / "StyleForge"


class Exporter:
    """Encodes on a job. `current` gives the result on screen, `say` shows where it went."""

    def __init__(
        self,
        session: Session,
        current: Callable[[], Styled | None],
        say: Callable[[str], None],
        folder: Callable[[], Path] = pictures_folder,
    ) -> None:
        self._session, self._current, self._say, self._folder = session, current, say, folder

    def snapshot(self) -> None:
        """Save the picture at once, under a name made of the style and the time."""
        if styled := self._something():
            moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")[:-3]
            self._write(styled, self._folder() / f"{styled.config.style}_{moment}.png")

    def save_as(self, parent: QWidget) -> None:
        """Ask for a name, without stopping the stream; what is saved is the picture that was
        on screen when the question was asked."""
        styled = self._something()
        if styled is None:
            return
        dialog = QFileDialog(parent, "Save the picture", str(self._folder()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{styled.config.style}.png")
        dialog.fileSelected.connect(lambda name: self.save(styled, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, styled: Styled, path: Path) -> None:
        """Write `styled` to `path`; an ending that is no picture format becomes .png."""
        if path.suffix.lower() not in SAVED:
            path = path.with_name(path.name + ".png")
        self._write(styled, path)

    def copy(self) -> None:
        """Put the picture on the clipboard."""
        if styled := self._something():
            # The clipboard outlives the frame, so it gets its own copy of the pixels.
            QGuiApplication.clipboard().setImage(as_image(styled.frame).copy())
            self._say("Copied the picture")

    def _something(self) -> Styled | None:
        styled = self._current()
        if styled is None:
            self._say("There is no picture yet")
        return styled

    def _write(self, styled: Styled, path: Path) -> None:
        def work() -> Path:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_image(path, styled.frame.pixels, metadata(styled))
            return path

        def done(written: Path) -> None:
            self._say(f"Saved {written}")

        self._session.run(work, done, doing=f"save {path.name}")
