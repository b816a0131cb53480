"""Shows the welcome page while no source is open, and runs the actions of its cards."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint
from PySide6.QtWidgets import QFileDialog, QMenu

from app.frame import SourceInfo
from app.sources import SCENE
from app.sources.camera import CameraName
from app.ui.controllers.source_opener import camera_spec
from app.ui.file_dialogs import OPEN_FILM, OPEN_PICTURE
from app.ui.welcome.page import WelcomePage
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

# The actions of the cards in order, with one line each.
CARDS = {
    "open_camera": mark("See yourself as a painting, live"),
    "open_photo": mark("Paint one picture or several"),
    "open_film": mark("Paint every frame, with its sound"),
    "open_demo": mark("Try it on a small animated scene"),
}
NO_CAMERA = mark("No camera found. Plug one in, and choose Camera again")


class WelcomeController(QObject):
    """Owns the page.

    After `offer`, the page is shown whenever no source is open or opening. It hides during a drag
    over the window, since the picture shows the effect of dropping.
    """

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context.window)
        session, window = self._session, self._window = context.session, context.window
        self._context, self._say = context, context.say
        cards = [(context.actions[key], tr(line)) for key, line in CARDS.items()]
        self.page = WelcomePage(cards, context.viewport)
        self._offered = self._opening = self._dragging = self._camera_wanted = False
        session.opening_changed.connect(self._on_opening_changed)
        session.source_changed.connect(self._on_source_changed)
        session.cameras_found.connect(self._on_cameras_found)
        window.installEventFilter(self)

    def offer(self) -> None:
        self._offered = True
        self._update()

    def act(self, key: str) -> None:
        one, several = QFileDialog.FileMode.ExistingFile, QFileDialog.FileMode.ExistingFiles
        if key == "open_camera":
            self._camera_wanted = True
            self._session.cameras()
        elif key == "open_photo":
            self._context.ask_source(tr("Open photos"), OPEN_PICTURE, several)
        elif key == "open_film":
            self._context.ask_source(tr("Open a film"), OPEN_FILM, one)
        else:
            self._session.open(SCENE)

    def _on_cameras_found(self, cameras: tuple[CameraName, ...]) -> None:
        if not self._camera_wanted:
            return
        self._camera_wanted = False
        if len(cameras) == 1:
            self._session.open(camera_spec(cameras[0]))
        elif cameras:
            self._choose_camera(cameras)
        else:
            self._say(tr(NO_CAMERA))

    def _choose_camera(self, cameras: tuple[CameraName, ...]) -> None:
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        for camera in cameras:
            made = menu.addAction(camera.name or tr("Camera {index}", index=camera.index))
            made.triggered.connect(lambda _=False, c=camera: self._session.open(camera_spec(c)))
        card = self.page.cards[0] if self.page.isVisible() else self._window
        menu.popup(card.mapToGlobal(QPoint(0, card.height() // 2)))

    def _on_opening_changed(self, opening: str) -> None:
        self._opening = bool(opening)
        self._update()

    def _on_source_changed(self, info: SourceInfo | None) -> None:
        self._update()

    def _update(self) -> None:
        nothing = self._session.info is None and not self._opening
        self.page.show_page(self._offered and nothing and not self._dragging)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DragEnter:
            self._dragging = True
        elif event.type() in (QEvent.Type.DragLeave, QEvent.Type.Drop):
            self._dragging = False
        else:
            return False
        self._update()
        return False
