"""What is styled when the window opens."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.frame import SourceInfo
from app.live.session import Session
from app.sources import SCENE, CameraName
from app.ui.controllers.source_opener import camera_spec


class StartupSource(QObject):
    """Opens `spec`, or without one the first camera; the built-in scene if there is none or if
    that failed. Over as soon as something is open."""

    def __init__(self, session: Session, spec: str | list[str]) -> None:
        super().__init__(session)
        self._session = session
        self._looking = not spec  # for a camera
        self._over = False
        session.opening_changed.connect(self._follow)
        session.opening_failed.connect(self._failed)
        session.source_changed.connect(self._opened)
        session.cameras_found.connect(self._found)
        if spec:
            session.open(spec)
        session.cameras()  # the list of sources wants them in any case

    def _found(self, cameras: tuple[CameraName, ...]) -> None:
        if self._looking:
            self._session.open(camera_spec(cameras[0]) if cameras else SCENE)

    def _failed(self) -> None:
        if not self._over:
            self._over = True
            self._session.open(SCENE)

    def _follow(self, opening: str) -> None:
        if opening:  # this one's first camera, or the user was quicker
            self._looking = False

    def _opened(self, info: SourceInfo | None) -> None:
        if info is not None:
            self._over, self._looking = True, False
