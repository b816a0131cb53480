"""Changes the style every few seconds, fading by mixing two styles."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QAction

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.live.session import Session
from app.options import Part
from app.settings import Settings
from app.ui.theme.motion import system_is_still
from utils.translation.texts import mark, tr

FADE_S = 2.0  # at most half the time between two changes
PATIENCE_S = 8.0  # for the first result of a mix, whose networks may have to load
TICK_MS = 100  # for a fade without new results
TOO_FEW = mark("A slideshow needs two styles or more: choose them in its settings (Shift+F3)")
NOTHING_OPEN = mark("Open something first: a slideshow shows it in one style after the other")


class Slideshow(QObject):
    """Runs while its action is checked.

    A fade starts with the first result of the mix and advances with each, so that a slow machine
    shows fewer steps in the same time. If the user chooses a style meanwhile, the slideshow
    continues from that style.

    Args:
        say: Shows a notice.
    """

    def __init__(
        self,
        session: Session,
        action: QAction,
        settings: Callable[[], Settings],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(action)
        self._session, self._action, self._settings, self._say = session, action, settings, say
        self._clock = clock
        self._target = ""  # the style being faded in
        self._from: tuple[Part, ...] = ()
        self._set: tuple[Part, ...] = ()  # the slideshow's last choice
        self._asked = 0.0  # when the fade was requested
        self._began: float | None = None  # when its first result arrived
        self._next = QTimer(self, singleShot=True)
        self._next.timeout.connect(self.advance)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._continue)
        session.styled.connect(self._on_styled)
        session.config_changed.connect(self._on_config_changed)

    @property
    def running(self) -> bool:
        return self._action.isChecked()

    @property
    def fading(self) -> bool:
        return bool(self._target)

    def settled(self, config: EngineConfig) -> EngineConfig:
        """Return `config` as it will be after the current fade, for saving."""
        return config.mixed(((self._target, 1.0),)) if self._target else config

    def toggle(self) -> None:
        """Follow the action: start with an immediate change, or stop."""
        if not self.running:
            self.stop()
            return
        words = NOTHING_OPEN if self._session.info is None else ""
        words = words or ("" if len(self.styles()) > 1 else TOO_FEW)
        if words:
            self._action.setChecked(False)
            self._say(tr(words))
            return
        self.advance()

    def stop(self) -> None:
        """Stop; a style being faded in is then shown alone."""
        if self._target:
            self._finish()
        self._next.stop()
        self._action.setChecked(False)

    def restart(self) -> None:
        if self.running:
            self._next.start(round(1000 * self._settings().slideshow_seconds))

    def styles(self) -> list[str]:
        """Return the styles of the slideshow, in gallery order."""
        chosen = set(filter(None, self._settings().slideshow_styles.split("\n")))
        keys = [style.key for style in self._session.catalog.styles]
        return [key for key in keys if not chosen or key in chosen]

    def advance(self) -> None:
        self.restart()
        keys, now = self.styles(), self._session.config.style
        if not keys:
            return
        following = keys[(keys.index(now) + 1) % len(keys)] if now in keys else keys[0]
        if following == now:
            return
        mixable = {style.key for style in self._session.catalog.mixable_with(now)}
        settings = self._settings()
        cuts = settings.slideshow_cuts or settings.reduce_motion or system_is_still()
        if cuts or following not in mixable:
            self._choose(((following, 1.0),))
            return
        self._target, self._from = following, ((now, 1.0),)
        self._asked, self._began = self._clock(), None
        self._tick.start()
        self._choose(((now, 1.0), (following, 0.0)))

    def _continue(self) -> None:
        if self._began is None:
            if self._target and self._clock() - self._asked > PATIENCE_S:
                self._finish()
            return
        if not self._target:
            return
        length = min(FADE_S, self._settings().slideshow_seconds / 2)
        share = (self._clock() - self._began) / length
        if share >= 1:
            self._finish()
            return
        share = round(share * share * (3 - 2 * share), 3)  # starts and ends gently
        self._choose(((self._from[0][0], 1 - share), (self._target, share)))

    def _finish(self) -> None:
        self._choose(((self._target, 1.0),))
        self._end_fade()

    def _choose(self, parts: tuple[Part, ...]) -> None:
        self._set = parts
        self._session.config = self._session.config.mixed(parts)

    def _end_fade(self) -> None:
        self._target = ""
        self._tick.stop()

    def _on_styled(self, styled: StyledFrame) -> None:
        if self._target and styled.config.styles == self._session.config.styles:
            if self._began is None:
                self._began = self._clock()
            self._continue()

    def _on_config_changed(self, _: object) -> None:
        """Give up a fade if another style was chosen; if the mix was refused, cut to the style."""
        now = self._session.config.parts
        if not self._target or [key for key, _ in now] == [key for key, _ in self._set]:
            return
        target, refused = self._target, now == self._from
        self._end_fade()
        self.restart()
        if refused:
            self._choose(((target, 1.0),))
