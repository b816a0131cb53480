"""The session and its window, which open again in another language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEventLoop, Qt
from PySide6.QtWidgets import QApplication

from app.engine.config import EngineConfig
from app.live.session import Session, Spec
from app.settings import Settings
from app.styles.catalog import Catalog
from app.ui.controllers.settings_mapping import config_from_settings
from app.ui.controllers.source_opener import SourceOpener
from app.ui.controllers.startup_source import StartupSource
from app.ui.languages import apply_language
from app.ui.looks.history import History
from app.ui.main_window import MainWindow
from app.ui.startup_view import StartupView

REOPEN = 2  # exit status of the event loop after which the window opens again


@dataclass(frozen=True, slots=True)
class OpenState:
    """The content of a window, for the one that takes its place.

    Attributes:
        spec: The open source; empty without one.
        position: In seconds, of a film.
        opener: Owns the pasted pictures.
    """

    config: EngineConfig
    spec: Spec
    position: float
    paused: bool
    on_wall: bool
    history: History
    opener: SourceOpener

    @classmethod
    def of(cls, window: MainWindow) -> OpenState:
        session = window.session
        return cls(
            session.config,
            session.spec,
            session.position,
            session.paused,
            window.wall.shown,
            window.undo.history,
            window.opener,
        )

    def restore(self, window: MainWindow) -> None:
        """Open the source where it was, and keep the wall and what can be undone."""
        session = window.session
        window.opener.keep_pasted_of(self.opener)
        window.undo.take(self.history)
        if self.spec:
            once = Qt.ConnectionType.SingleShotConnection
            session.source_changed.connect(lambda _: self._go_on(session), once)
            StartupSource(session, self.spec)
        if self.on_wall:
            window.wall.show()

    def _go_on(self, session: Session) -> None:
        if session.info is None or not session.info.duration:
            return
        session.seek(self.position)
        if self.paused and not self.on_wall:
            session.paused = True


class OpenWindow:
    """The session with its window, until `close`.

    Args:
        save: Stores settings; called on other threads.
    """

    def __init__(
        self,
        app: QApplication,
        catalog: Catalog,
        settings: Settings,
        save: Callable[[Settings], None],
    ) -> None:
        self._app, self._save = app, save
        self._open(catalog, settings, config_from_settings(settings, catalog))

    def _open(self, catalog: Catalog, settings: Settings, config: EngineConfig) -> None:
        self.session = Session(catalog, config, budget_ms=settings.budget_ms)
        try:
            self.window = MainWindow(self.session, settings, self._save)
        except BaseException:
            self.session.shutdown()
            raise
        self.window.reopen_wanted.connect(lambda: self._app.exit(REOPEN))

    def reopen(self) -> None:
        """Close the window and open another one, in the language of the settings."""
        earlier, state = self.window, OpenState.of(self.window)
        settings = earlier.settings.current()
        between = StartupView(self._app, settings)
        between.show()
        earlier.close()
        while earlier.isVisible():  # files are still being written
            self._app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        self.session.shutdown()
        earlier.deleteLater()
        apply_language(self._app, settings.language)
        self._open(Catalog.default(), settings, state.config)
        between.hand_over_to(self.window)
        state.restore(self.window)
        self.window.languages.tell_share()

    def close(self) -> None:
        self.session.shutdown()
