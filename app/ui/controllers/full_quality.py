"""Renders results for files in full quality, unless they have it already."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.engine.config import TESTED, EngineConfig
from app.engine.process_mode import ProcessMode
from app.engine.resolution import still_sizes
from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.live.session import Session
from utils.stop_flag import StopFlag, Stopped, stopped_by
from utils.translation.joints import clauses
from utils.translation.texts import tr

log = logging.getLogger(__name__)


def has_full_quality(styled: StyledFrame) -> bool:
    """Return whether a result is as sharp as a still picture of its config becomes."""
    config, frame = styled.config, styled.captured or styled.source
    hurried = config.network == "auto" and styled.running.lite
    wanted = still_sizes(config, frame.width, frame.height).detail
    return not (styled.moved or hurried) and max(styled.size) >= max(wanted)


class FullQuality(QObject):
    """Renders results on the threads of jobs that write them, one at a time.

    `progressed` is emitted with the finished share, 0 to 1, and 1 at the end.
    """

    progressed = Signal(float)

    def __init__(
        self,
        session: Session,
        say: Callable[[str], object],
        saved: Callable[[Path, str, StyledFrame], object],
        parent: QObject,
    ) -> None:
        """Take what shows a sentence, and what shows a saved file, a sentence and the result."""
        super().__init__(parent)
        self._session, self._say, self._saved = session, say, saved
        self._alone = threading.Lock()
        self._flags: set[StopFlag] = set()
        session.ending.connect(self.cancel)

    def cancel(self) -> None:
        """End all renderings, which then raise Stopped. Any thread may call this."""
        for flag in tuple(self._flags):
            flag.set()

    def save(
        self, styled: StyledFrame, path: Path, write: Callable[[StyledFrame], list[str]]
    ) -> None:
        """Render a result in full quality and write it to a file, in a job; then say so.

        Args:
            write: Writes the rendered result, and returns remarks about the file, as clauses.
        """

        def work() -> tuple[StyledFrame, list[str]] | None:
            with suppress(Stopped):
                whole, lost = self.render(styled)
                path.parent.mkdir(parents=True, exist_ok=True)
                return whole, lost + write(whole)
            return None

        def done(made: tuple[StyledFrame, list[str]] | None) -> None:
            if made is None:
                self._say(tr("Canceled: {name} was not saved", name=path.name))
            else:
                whole, lost = made
                self._saved(path, clauses([tr("Saved {path}", path=path), *lost]), whole)

        self._session.write(work, done, failure=tr("Could not save {name}", name=path.name))

    def render(self, styled: StyledFrame) -> tuple[StyledFrame, list[str]]:
        """Return a result in full quality; call this on the thread of a job.

        If it cannot be rendered, return the result as it is, with the reason as a clause, so that
        the picture is not lost.

        Raises:
            Stopped: If `cancel` was called.
        """
        config = self._chosen(styled)
        if config == styled.config and has_full_quality(styled):
            return styled, []
        flag = StopFlag()
        self._flags.add(flag)
        try:
            with self._alone, stopped_by(flag):
                return self._rendered(styled, config, flag), []
        except (StyleForgeError, MemoryError, RuntimeError) as exc:
            log.info("a result was not rendered in full quality", exc_info=True)
            return styled, [tr("in the quality of the stream: {reason}", reason=exc)]
        finally:
            self._flags.discard(flag)
            self.progressed.emit(1.0)

    def _chosen(self, styled: StyledFrame) -> EngineConfig:
        """Return the config to render with, without the fields of a speed test."""
        if not styled.config.compare:
            return styled.config
        chosen = self._session.config
        return replace(styled.config, **{name: getattr(chosen, name) for name in TESTED})

    def _rendered(self, styled: StyledFrame, config: EngineConfig, flag: StopFlag) -> StyledFrame:
        def passed(share: float | None) -> None:
            flag.check()
            self.progressed.emit(min(share or 0.0, 0.99))

        engine = self._session.engine.apart()
        engine.between_layers = engine.on_progress = passed
        passed(0.0)
        engine.configure(replace(config, compare=False))
        return engine.process(styled.captured or styled.source, ProcessMode.REFINE)
