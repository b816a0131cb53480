"""Opens the first source together with the window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.frame import SourceInfo
from app.live.session import Session, Spec
from app.sources import SCENE


def source_from_paths(paths: Sequence[str]) -> str | list[str]:
    """Return the spec of at least one file, even one named "scene"; several form a strip."""
    absolute = [str(Path(path).absolute()) for path in paths]
    return absolute if len(absolute) > 1 else absolute[0]


class StartupSource(QObject):
    """Opens `spec`, or the built-in scene if that fails; without `spec`, only lists cameras.

    The object does nothing once a source is open.
    """

    def __init__(self, session: Session, spec: Spec) -> None:
        super().__init__(session)
        self._session = session
        self._done = not spec
        session.opening_failed.connect(self._on_opening_failed)
        session.source_changed.connect(self._on_source_changed)
        if spec:
            session.open(spec)
        session.cameras()  # the list of sources needs them in any case

    def _on_opening_failed(self) -> None:
        if not self._done:
            self._done = True
            self._session.open(SCENE)

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        self._done = self._done or info is not None
