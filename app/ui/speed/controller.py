"""Derives the slider's steps from the stream, and writes the chosen one into the config."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject

from app.engine.config import EngineConfig
from app.engine.resolution import Sizes, kept_strokes, stroke_size
from app.engine.result import StyledFrame
from app.live.session import Session
from app.ui.speed.bar import SpeedBar
from app.ui.speed.steps import AUTOMATIC, TITLES, Machine, Step, steps_for
from app.ui.speed.timing import FrameTimes, Kind
from models.families.keys import FEED_FORWARD
from models.precision import Precision

FRAME = (1280, 720)  # assumed before the first stream


class SpeedController(QObject):
    """Connects the slider with the session; manual strokes stay, and the slider shows Custom."""

    def __init__(self, session: Session, bar: SpeedBar, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._bar = session, bar
        self._machine = Machine(FrameTimes(), FRAME)
        self._strokes = session.config.strokes  # strokes when the slider was last used
        self._steps: list[Step] = []
        bar.picked.connect(self._pick)
        session.config_changed.connect(lambda _: self.refresh())
        session.styled.connect(self._on_styled)
        session.kernels_changed.connect(lambda _: self._forget())
        session.styles_changed.connect(self.refresh)
        self.refresh()

    @property
    def steps(self) -> list[Step]:
        return self._steps

    def set_fast_precision(self, fast: Precision) -> None:
        """Set the fastest precision in which the device computes well."""
        self._machine = replace(self._machine, fast=fast)
        self.refresh()

    def move(self, count: int) -> None:
        """Move `count` steps towards sharp, or towards smooth if negative."""
        last = len(self._steps) - 1
        self._pick(min(last, max(0, self._bar.slider.value() + count)))

    def automatic(self) -> None:
        """Let the program choose."""
        self._pick(len(self._steps) // 2)

    def refresh(self) -> None:
        config = self._session.config
        style = self._session.catalog.find(config.style)
        has_lite = style is None or style.lite is not None or style.family != FEED_FORWARD
        self._machine = replace(self._machine, strokes=config.strokes, has_lite=has_lite)
        chosen = Step(config.network, config.size, config.precision)
        on_bar = chosen.applied(config) == config and config.strokes == self._strokes
        on_bar = on_bar and (chosen == AUTOMATIC or config.network != "auto")
        self._steps = steps_for(self._machine, chosen if on_bar else AUTOMATIC)
        current = self._steps.index(chosen) if on_bar and chosen in self._steps else None
        ends = (self._machine.time(self._steps[end]) for end in (0, -1))
        self._bar.show_steps(TITLES[len(self._steps)], current, *ends)

    def _pick(self, index: int) -> None:
        config = self._session.config
        self._strokes = config.strokes
        self._session.config = self._steps[index].applied(config)
        self.refresh()

    def _forget(self) -> None:
        """Discard the measurements, since other kernels run."""
        self._machine.times.clear()
        self.refresh()

    def _on_styled(self, styled: StyledFrame) -> None:
        if styled.comparison is not None or self._session.of_pictures or styled.bands:
            return
        if not styled.timings.network:  # a painting that moved, or was finished again
            return
        width, height = styled.source.width, styled.source.height
        kind = Kind(styled.running.lite, styled.running.precision)
        sizes = _sizes(styled)
        device = "cpu" if styled.running.device == "CPU" else "gpu"
        fresh = self._machine.times.add(device, kind, sizes.pixels, styled.timings.engine)
        automatic = AUTOMATIC.applied(styled.config) == styled.config
        now = (kind, sizes) if automatic else self._machine.now
        changed = replace(self._machine, frame=(width, height), now=now)
        if fresh or changed != self._machine:
            self._machine = changed
            self.refresh()


def _sizes(styled: StyledFrame) -> Sizes:
    """Return the sizes of the network's inputs; a result contains only the larger one."""
    config: EngineConfig = styled.config
    if config.size is not None and not config.keep_strokes:
        return Sizes(styled.size, styled.size)
    usual = stroke_size(config.strokes)
    return kept_strokes(styled.source.width, styled.source.height, max(styled.size), usual)
