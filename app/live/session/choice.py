"""The config to show: the chosen one, a style being tried, or a speed test of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal, Slot

from app.engine.config import EngineConfig
from app.live.style_jobs import StyleJobs
from app.live.worker import Worker
from app.styles.catalog import Catalog
from models.precision import Precision

TESTS_KEPT = 8  # configs of speed tests whose chosen config is known


@dataclass(frozen=True, slots=True)
class FixedInput:
    """The input and the networks of a speed test.

    Attributes:
        size: The long side of the input in pixels.
        kernels: The engine; "" for the stream's.
        network: The version in place of the automatic one, so that it stays; "" for none.
    """

    size: int
    precision: Precision
    kernels: str = ""
    network: str = ""


class Choice(QObject):
    """The chosen config, sent to the worker once its styles are prepared."""

    changed = Signal(object)  # EngineConfig
    refused = Signal(object)  # EngineConfig; the one to return to, before `changed`
    tried_changed = Signal(str)  # the key of the style being tried; empty if there is none
    test_refused = Signal()  # the engine cannot compute `test`, which is None now

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
        self._test: FixedInput | None = None
        self._tests: dict[EngineConfig, EngineConfig] = {}  # the chosen configs of tested ones
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
        """The config to paint with, which only differs from `config` in trials and tests."""
        shown = self._config.mixed([(self._tried, 1.0)]) if self._tried else self._config
        if self._test is None or not shown.compare:
            return shown
        test = self._test
        return shown.tested(test.size, test.precision, test.kernels, test.network)

    @property
    def test(self) -> FixedInput | None:
        """The input that comparisons have in place of the stream's; None for the stream's own."""
        return self._test

    @test.setter
    def test(self, test: FixedInput | None) -> None:
        before, self._test = self.shown, test
        if self.shown != before:
            self.send()

    def try_style(self, key: str) -> None:
        """Show a style until the config is set or another one is tried; "" ends the trial.

        The style must not have a `trial_refusal`.
        """
        if key != self._tried:
            self._tried = key
            self.send()
            self.tried_changed.emit(key)

    def repeat(self) -> None:
        self._configure(self.shown)

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
        if self._test is not None and config.compare:
            self._tests[config] = self._config
            if len(self._tests) > TESTS_KEPT:
                self._tests.pop(next(iter(self._tests)))
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
        if self._test is not None and self._config.compare:
            self.test = None
            self.test_refused.emit()
            return
        if kept is not None:
            kept = self._tests.get(kept, kept)  # the stream keeps its own size and engine
        if kept is None:
            kept = replace(self._config, device="auto", mix=None, mix_more=(), matte="")
            if kept == self._config and self._catalog.styles:
                kept = EngineConfig(style=self._catalog.styles[0].key)
        self.refused.emit(kept)
        self.config = kept
