"""The config to show: the chosen one, or a style being tried."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.engine.config import EngineConfig
from app.live.style_jobs import StyleJobs
from app.live.worker import Worker
from app.styles.catalog import Catalog


class Choice(QObject):
    """The chosen config, sent to the worker once its styles are prepared."""

    changed = Signal(object)  # EngineConfig
    refused = Signal(object)  # EngineConfig; the one to return to, before `changed`
    tried_changed = Signal(str)  # the key of the style being tried; empty if there is none

    def __init__(
        self,
        config: EngineConfig,
        catalog: Catalog,
        style_jobs: StyleJobs,
        worker: Worker,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._config = config
        self._catalog, self._style_jobs, self._worker = catalog, style_jobs, worker
        self._tried = ""
        self._sent: EngineConfig | None = None  # the newest choice sent to the worker
        self._preparing: tuple[str, ...] | None = None  # styles

    @property
    def config(self) -> EngineConfig:
        """The config of the newest choice; setting it takes effect with the next frame."""
        return self._config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        self._end_trial()
        if config != self._config:
            self._config = config
            self.send()
            self.changed.emit(config)
        elif config != self._worker.loop.wanted:  # a style was tried
            self.send()

    @property
    def tried(self) -> str:
        """The key of the style being tried; "" if there is none."""
        return self._tried

    @property
    def shown(self) -> EngineConfig:
        return self._config.mixed([(self._tried, 1.0)]) if self._tried else self._config

    def try_style(self, key: str) -> None:
        """Show a style until the config is set or another one is tried; "" ends the trial.

        The style must not have a `trial_refusal`.
        """
        if key != self._tried:
            self._tried = key
            self.send()
            self.tried_changed.emit(key)

    def repeat(self) -> None:
        self._configure(self._config)

    def _end_trial(self) -> None:
        if self._tried:
            self._tried = ""
            self.tried_changed.emit("")

    def send(self) -> None:
        config = self.shown
        if keys := self._style_jobs.unprepared(config.styles):
            if keys == self._preparing:
                return
            self._preparing = keys

            def prepared() -> None:
                self._preparing = None
                self.send()

            def failed() -> None:
                self._preparing = None
                if self._style_jobs.unprepared(self._config.styles) == keys:
                    self.refuse(self._sent)

            self._style_jobs.prepare(keys, prepared, failed)
            return
        self._sent = self._config
        self._worker.loop.wanted = config
        self._configure(config)

    def _configure(self, config: EngineConfig) -> None:
        self._worker.post(self._worker.loop.configure, config)

    @Slot(object)
    def refuse(self, kept: EngineConfig | None) -> None:
        """Return to the config in force; if there is none yet, to one that works everywhere."""
        if self._tried:
            self.try_style("")
            return
        if kept is None:
            kept = replace(self._config, device="auto", mix=None, mix_more=(), matte="")
            if kept == self._config and self._catalog.styles:
                kept = EngineConfig(style=self._catalog.styles[0].key)
        self.refused.emit(kept)
        self.config = kept
