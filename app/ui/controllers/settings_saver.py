"""Saves settings in the background; the newest always win."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.background_jobs import RunJob
from app.settings import Settings


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
