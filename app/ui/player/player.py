"""Controls film playback: frame by frame, looping a part, volume."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.frame import SourceInfo
from app.ui.player.bar import PlaybackBar
from app.ui.window_context import WindowContext
from utils.translation.texts import mark, tr

STEP = 0.1  # of the volume, per key press
NO_FILM = mark("This works only for videos: open one first")
NO_PART = mark("Mark a part first: press A at its start and B at its end")


class Player(QObject):
    """Connects the playback bar and its actions to the session."""

    def __init__(self, context: WindowContext, bar: PlaybackBar) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._bar, self._actions = bar, context.actions
        self._settings, self._update, self._say = context.settings, context.keep, context.say
        self._start: float | None = None
        self._end: float | None = None
        self._told = ""  # the last reason shown for missing sound
        session.source_changed.connect(self._on_source)
        session.position_changed.connect(bar.show_position)
        session.silence_changed.connect(self._on_silence)
        bar.seek_requested.connect(session.seek)
        bar.volume_changed.connect(self._set_volume)
        self._apply_sound()

    def step(self, count: int) -> None:
        """Pause, and move by `count` frames of a film or pictures of a strip."""
        info = self._session.info
        if info is not None and info.count > 1:
            self._session.step(count)
        elif self._film():
            self._session.paused = True
            self._session.step(count)

    def mark_start(self) -> None:
        """Start the looped part at the current frame."""
        if self._film():
            self._start = self._session.position
            if self._end is not None and self._end <= self._start:
                self._end = None
            self._set_loop(self._end is not None)

    def mark_end(self) -> None:
        """End the looped part at the current frame, and loop it."""
        if self._film():
            self._end = self._session.position
            if self._start is None or self._start > self._end:
                self._start = 0.0
            self._set_loop(True)

    @property
    def part(self) -> tuple[float | None, float | None]:
        """The times of the frames A and B in seconds; None without a mark."""
        return self._start, self._end

    def toggle_loop(self) -> None:
        """Loop the part, or play the whole film."""
        looped = self._actions["loop"].isChecked()
        if looped and self._end is None:
            self._say(tr(NO_PART if self._session.info else NO_FILM))
            looped = False
        self._set_loop(looped)

    def toggle_mute(self) -> None:
        """Mute or unmute the sound."""
        self._update(muted=self._actions["mute"].isChecked())
        self._apply_sound()

    def change_volume(self, direction: int) -> None:
        volume = self._settings().volume + direction * STEP
        self._set_volume(min(1.0, max(0.0, round(volume, 2))))

    def _set_volume(self, volume: float) -> None:
        self._update(volume=volume, muted=False)
        self._apply_sound()

    def _apply_sound(self) -> None:
        settings = self._settings()
        self._actions["mute"].setChecked(settings.muted)
        self._bar.show_volume(settings.volume)
        self._session.set_volume(0.0 if settings.muted else settings.volume)

    def _film(self) -> bool:
        """Return whether a film is open; otherwise show a notice."""
        info = self._session.info
        film = info is not None and bool(info.duration)
        if not film:
            self._say(tr(NO_FILM))
        return film

    def _set_loop(self, looped: bool) -> None:
        self._actions["loop"].setChecked(looped)
        self._bar.show_part(self._start, self._end, looped=looped)
        part = None
        if looped and self._end is not None:
            part = self._start or 0.0, self._end
        self._session.set_loop(part)

    def _on_source(self, info: SourceInfo | None) -> None:
        self._bar.show_source(info)
        self._start = self._end = None
        if info is not None and info.duration:  # a source has no loop of its own at first
            self._bar.show_part(None, None, looped=False)
        self._actions["loop"].setChecked(False)

    def _on_silence(self, silence: str | None) -> None:
        self._bar.show_silence(silence)
        if silence and silence != self._told:
            self._told = silence
            self._say(tr("{silence}. The video plays without sound.", silence=silence))
