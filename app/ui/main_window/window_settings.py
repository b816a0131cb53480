"""The current settings of the window, saved in the background shortly after each change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from app.background_jobs import RunJob
from app.engine.config import EngineConfig
from app.live.session import Session
from app.settings import ALWAYS, NEVER, Settings
from app.ui.controllers.settings_mapping import settings_with_config, stored_source

SAVE_DELAY_MS = 1000  # from the last change to saving


class WindowSettings:
    """The settings of `window`.

    `write` saves settings: on a worker thread, or in `save_now` directly. `is_pasted` tells
    whether a stored source was pasted and so will not exist at the next start. `settled` returns
    a config without temporary values, such as the mix of a slideshow during a fade.

    Attributes:
        value: The settings, without those that only the session and the window know.
    """

    def __init__(
        self,
        value: Settings,
        write: Callable[[Settings], None],
        session: Session,
        is_pasted: Callable[[str], bool],
        settled: Callable[[EngineConfig], EngineConfig],
        window: QWidget,
    ) -> None:
        self.value = value
        self._session, self._is_pasted, self._window = session, is_pasted, window
        self._settled = settled
        self._saver = SettingsSaver(session.run, write)
        self._later = QTimer(window, interval=SAVE_DELAY_MS, singleShot=True)
        self._later.timeout.connect(self.save)

    def get(self) -> Settings:
        """Return `value`; pass this method where the current settings are needed later."""
        return self.value

    def update(self, **changes: Any) -> None:
        self.value = replace(self.value, **changes)
        self.save_soon()

    def save_soon(self, delay_ms: int = SAVE_DELAY_MS) -> None:
        """Save once nothing has changed for `delay_ms` milliseconds."""
        self._later.start(delay_ms)

    def save(self) -> None:
        """Save in the background; report a failure as a problem."""
        self._saver.save(permitted(self.current()))

    def save_now(self) -> None:
        """Save and wait for completion.

        Raises:
            OSError: If the settings cannot be written.
        """
        self._later.stop()
        self._saver.save_now(permitted(self.current()))

    def current(self) -> Settings:
        """Update `value` from the session and the window's geometry, and return it."""
        settings = settings_with_config(self.value, self._settled(self._session.config))
        kept = stored_source(self._session.spec)
        if settings.remember_source == NEVER:
            settings = replace(settings, source="", palette_recent="", recent_files="")
        elif kept and not self._is_pasted(kept):
            settings = replace(settings, source=kept)
        if not self._window.isFullScreen():
            geometry = bytes(self._window.saveGeometry().toBase64().data()).decode()
            settings = replace(settings, geometry=geometry)
        self.value = settings
        return settings


def permitted(settings: Settings) -> Settings:
    """Return `settings` without the traces that the user has not allowed the file to keep."""
    if settings.remember_source == ALWAYS:
        return settings
    return replace(settings, source="", palette_recent="", recent_files="")


class SettingsSaver:
    """Calls `write(settings)`, which may block, from one thread at a time, newest settings only."""

    def __init__(self, run: RunJob, write: Callable[[Settings], None]) -> None:
        self._run, self._write = run, write
        self._writing = threading.Lock()
        self._newest = 0

    def save(self, settings: Settings) -> None:
        """Save `settings` in the background; report a failure as a problem."""
        self._newest += 1
        number = self._newest

        def work() -> None:
            with self._writing:
                if number == self._newest:
                    self._write(settings)

        self._run(work, lambda _: None, failure="Could not save the settings")

    def save_now(self, settings: Settings) -> None:
        """Save `settings` and wait.

        Raises:
            OSError: If the file cannot be written.
        """
        self._newest += 1
        with self._writing:
            self._write(settings)
