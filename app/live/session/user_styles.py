"""Installation, renaming and removal of the user's styles while a stream runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.background_jobs import RunJob
from app.errors import Problem
from app.live.session.choice import Choice
from app.live.style_jobs import StyleJobs
from app.options import without
from app.styles.catalog import Catalog
from app.styles.pack import MAX_NAME_LENGTH, Style, StyleError
from utils.text import printable
from utils.translation.texts import tr


class UserStyles(QObject):
    """Changes to styles by jobs; new styles become the choice, removed ones leave it."""

    changed = Signal()
    pictured = Signal(object)  # Style, made from a picture and chosen
    forgotten = Signal(str)  # the key of a style that was removed or replaced
    notice = Signal(str)
    problem = Signal(object)  # Problem

    def __init__(
        self,
        catalog: Catalog,
        style_jobs: StyleJobs,
        run: RunJob,
        choice: Choice,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._catalog, self._style_jobs = catalog, style_jobs
        self._run, self._choice = run, choice

    def install(self, path: Path, title: str = "") -> None:
        """Install and choose the checkpoint or pack at `path`; "" takes the title from the path."""

        def done(style: Style) -> None:
            self._forget(style.key)
            self.changed.emit()
            self._choice.config = self._choice.config.mixed([(style.key, 1.0)])

        name = printable(path.name, MAX_NAME_LENGTH)
        self._run(
            lambda: self._catalog.install(path, title),
            done,
            failure=tr("Could not install {name}", name=name),
        )

    def install_all(self, paths: Sequence[Path]) -> None:
        """Install checkpoints, packs or styles' files; choose the last, report each failure."""

        def work() -> tuple[list[Style], list[StyleError]]:
            installed: list[Style] = []
            refused: list[StyleError] = []
            for path in paths:
                try:
                    installed.append(self._catalog.install(path))
                except StyleError as exc:
                    refused.append(exc)
            return installed, refused

        def done(outcome: tuple[list[Style], list[StyleError]]) -> None:
            installed, refused = outcome
            for style in installed:
                self._forget(style.key)
            if installed:
                self.changed.emit()
                self._choice.config = self._choice.config.mixed([(installed[-1].key, 1.0)])
                self.notice.emit(
                    tr("Installed {styles}", styles=", ".join(style.title for style in installed))
                )
            for exc in refused:
                self.problem.emit(Problem.of(exc, failure="Could not install a style"))

        self._run(work, done, failure="Could not install the styles")

    def install_picture(self, path: Path, title: str = "") -> None:
        """Make a style from a picture, and choose it; `style_jobs` reports the progress."""

        def done(style: Style) -> None:
            self.changed.emit()
            self._choice.config = self._choice.config.mixed([(style.key, 1.0)])
            self.pictured.emit(style)

        self._style_jobs.install_picture(path, title, done)

    def rename(self, key: str, title: str) -> None:
        def done(_: Style) -> None:
            self.changed.emit()
            self._choice.repeat()  # the engine reports the titles of its styles

        self._run(
            lambda: self._catalog.rename(key, title), done, failure="Could not rename the style"
        )

    def remove(self, key: str) -> None:
        """Delete one of the user's styles; if it is in use, the first style replaces it."""

        def done(_: None) -> None:
            self._forget(key)
            left = without(self._choice.config.parts, key)
            if not left and self._catalog.styles:
                left = ((self._catalog.styles[0].key, 1.0),)
            if left:
                self._choice.config = self._choice.config.mixed(left)
            self.changed.emit()

        self._run(lambda: self._catalog.remove(key), done, failure="Could not remove the style")

    def _forget(self, key: str) -> None:
        self._style_jobs.forget(key)
        self.forgotten.emit(key)
