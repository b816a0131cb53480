"""Opens the sources of the wall: the first one, a camera that the user allows, or a file."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.settings import ALWAYS, ASK, NEVER
from app.sources import SCENE
from app.sources.camera import CameraName, is_camera
from app.ui.controllers.source_opener import camera_spec
from app.ui.controllers.startup_source import StartupSource
from app.ui.file_dialogs import OPEN_FILM, OPEN_PICTURE
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

# The actions that `act` runs.
OPENERS = ("open_camera", "open_photo", "open_film", "open_demo")
SEE_YOURSELF = mark(
    "See yourself in every style? The pictures of your camera never leave this computer."
)
NO_CAMERA = mark("No camera found. Plug one in, and choose Camera again")


class WallSources(QObject):
    """Opens sources for the wall.

    The first camera opens by itself only if the user once answered "always". Otherwise a question
    follows as soon as a camera is found.

    Args:
        shown: Returns whether the wall is shown.
        button: The button of the camera; a menu of several cameras opens at it.
    """

    def __init__(self, context: WindowContext, shown: Callable[[], bool], button: QWidget) -> None:
        super().__init__(context.window)
        self._context, self._session = context, context.session
        self._shown, self._button = shown, button
        self._wanted = False  # whether the user chose Camera
        self._first: str | list[str] | None = None  # opens unless there is an allowed camera
        self._asked = False
        self._session.cameras_found.connect(self._on_cameras_found)

    @property
    def asked(self) -> bool:
        """Whether the wall has asked for the camera since the start."""
        return self._asked

    def open_first(self, spec: str | list[str]) -> None:
        """Open the allowed camera, or else `spec`; the scene follows if that fails."""
        if self._context.settings().wall_camera == ALWAYS:
            self._first = spec
            self._session.cameras()
        else:
            StartupSource(self._session, spec)

    def act(self, key: str) -> None:
        one, several = QFileDialog.FileMode.ExistingFile, QFileDialog.FileMode.ExistingFiles
        if key == "open_camera":
            self._wanted = True
            self._session.cameras()
        elif key == "open_photo":
            self._context.ask_source(tr("Open photos"), OPEN_PICTURE, several)
        elif key == "open_film":
            self._context.ask_source(tr("Open a film"), OPEN_FILM, one)
        else:
            self._session.open(SCENE)

    def _on_cameras_found(self, cameras: tuple[CameraName, ...]) -> None:
        first, self._first = self._first, None
        wanted, self._wanted = self._wanted, False
        if wanted:
            self._open_wanted(cameras)
        elif first is not None:
            allowed = self._context.settings().wall_camera == ALWAYS and cameras
            StartupSource(self._session, camera_spec(cameras[0]) if allowed else first)
        elif cameras and self._shown() and not (self._asked or self._camera_is_open):
            self._ask(cameras[0])

    def _open_wanted(self, cameras: tuple[CameraName, ...]) -> None:
        if len(cameras) == 1:
            self._session.open(camera_spec(cameras[0]))
        elif cameras:
            self._choose(cameras)
        else:
            self._context.say(tr(NO_CAMERA))

    def _choose(self, cameras: tuple[CameraName, ...]) -> None:
        menu = QMenu(self._context.window)
        menu.aboutToHide.connect(menu.deleteLater)
        for camera in cameras:
            made = menu.addAction(camera.name or tr("Camera {index}", index=camera.index))
            made.triggered.connect(lambda _=False, c=camera: self._session.open(camera_spec(c)))
        at = self._button if self._button.isVisible() else self._context.window
        menu.popup(at.mapToGlobal(QPoint(0, at.height() // 2)))

    # The question

    def _ask(self, camera: CameraName) -> None:
        """Ask once whether the wall may show a camera, unless the user has answered before.

        Without an answer, the next start asks again.
        """
        if self._context.settings().wall_camera != ASK:
            return
        self._asked = True

        def once() -> None:
            self._session.open(camera_spec(camera))

        def always(_: object) -> None:
            self._keep(ALWAYS)
            once()

        self._context.questions.ask(
            tr(SEE_YOURSELF),
            tr("&Always"),
            always,
            other=tr("&This time"),
            on_other=once,
            no=tr("&Never", "camera"),
            on_no=lambda: self._keep(NEVER),
            unasked=True,
        )

    @property
    def _camera_is_open(self) -> bool:
        spec = self._session.spec
        return self._session.info is not None and isinstance(spec, str) and is_camera(spec)

    def _keep(self, answer: str) -> None:
        self._context.keep(wall_camera=answer)
        self._context.actions["wall_camera"].setChecked(answer == ALWAYS)
