"""Opens and closes the presentation features, triggered by the window's actions."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QMenu

from app.engine.result import StyledFrame
from app.ui.controllers.full_quality import FullQuality
from app.ui.showing.before_after import BeforeAfter
from app.ui.showing.projector import ProjectorWindow, other_screens, screen_title
from app.ui.showing.saved_files import SavedFiles
from app.ui.showing.slideshow import Slideshow
from app.ui.showing.slideshow_dialog import SlideshowDialog
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

SHOW_ACTIONS = (
    "show_saved",
    "before_after",
    "wipe",
    "projector",
    "slideshow",
    "slideshow_settings",
)
ONE_SCREEN = mark(
    "There is only one screen, so the projector is a window; a double click fills the screen"
)


class ShowController(QObject):
    """Owns the projector, the slideshow and before/after saving.

    `projected(shown)` tells that the projector opened or closed.
    """

    projected = Signal(bool)

    def __init__(
        self, context: WindowContext, saved: SavedFiles, full_quality: FullQuality
    ) -> None:
        super().__init__(context.window)
        session, viewport, actions = context.session, context.viewport, context.actions
        self._session, self._viewport, self._window = session, viewport, context.window
        self._settings, self._update, self._say = context.settings, context.keep, context.say
        self._projecting = actions["projector"]
        self._leaving = actions["back"], actions["fullscreen"]
        self.saved = saved
        self.before_after = BeforeAfter(context, full_quality)
        saved.card.before_after_wanted.connect(lambda: self.before_after.save(saved.picture))
        saved.card.wipe_wanted.connect(self._save_wipe)
        self.slideshow = Slideshow(context)
        self.projector: ProjectorWindow | None = None
        self.dialog: SlideshowDialog | None = None
        session.styled.connect(self._show_styled)
        session.source_changed.connect(self._on_source_changed)
        actions["mirror"].triggered.connect(lambda _: self._face())

    def act(self, key: str) -> None:
        {
            "show_saved": self.saved.show,
            "before_after": self.before_after.save,
            "wipe": lambda: self.before_after.ask_wipe(self._window),
            "projector": self._toggle_projector,
            "slideshow": self.slideshow.toggle,
            "slideshow_settings": self._ask_slideshow,
        }[key]()

    def _save_wipe(self, square: bool) -> None:
        if (picture := self.saved.picture) is not None:
            self.before_after.save_shaped_wipe(picture, square=square)

    def close(self) -> None:
        """Close the projector and stop the slideshow."""
        self.slideshow.stop()
        if self.projector is not None:
            self.projector.close()

    # The projector

    def _toggle_projector(self) -> None:
        if self.projector is not None:
            self.projector.close()
            return
        screens = other_screens(self._window)
        if len(screens) > 1:
            self._projecting.setChecked(False)
            self._choose_screen(screens)
        elif screens:
            self.project(screens[0])
        else:
            self.project(self._window.screen(), full=False)
            self._say(tr(ONE_SCREEN))

    def _choose_screen(self, screens: list[QScreen]) -> None:
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        for screen in screens:
            made = menu.addAction(screen_title(screen))
            made.triggered.connect(lambda _=False, screen=screen: self.project(screen))
        menu.popup(self._viewport.mapToGlobal(QPoint(0, 0)))

    def project(self, screen: QScreen, *, full: bool = True) -> None:
        """Open the projector."""
        window = self.projector = ProjectorWindow()
        window.closed.connect(self._on_projector_closed)
        window.resized.connect(
            lambda width, height: self._session.set_least_size(width, height, "projector")
        )
        # The keys of the main window also work here, except those that leave full screen.
        window.addActions([each for each in self._window.actions() if each not in self._leaving])
        self._projecting.setChecked(True)
        self.projected.emit(True)
        self._face()
        window.show_styled(self._viewport.styled)
        window.open_on(screen, full=full)

    def _on_projector_closed(self) -> None:
        if self.projector is not None:
            self.projector.deleteLater()
            self.projector = None
        self._projecting.setChecked(False)
        self.projected.emit(False)
        self._session.set_least_size(0, 0, "projector")

    def _face(self) -> None:
        if self.projector is not None:
            self.projector.picture.mirrored = self._settings().mirror

    def _show_styled(self, styled: StyledFrame) -> None:
        if self.projector is not None:
            self.projector.show_styled(styled)

    def _on_source_changed(self, info: object) -> None:
        if info is None:
            self.slideshow.stop()
            if self.projector is not None:
                self.projector.show_styled(None)

    # The slideshow

    def _ask_slideshow(self) -> None:
        if self.dialog is None:
            self.dialog = SlideshowDialog(self._window)
            self.dialog.picked.connect(self._pick)
        self.dialog.show_settings(self._settings(), self._session.catalog.styles)
        self.dialog.bring_up()

    def _pick(self, field: str, value: object) -> None:
        self._update(**{field: value})
        self.slideshow.restart()
