"""Reports the changes of a source: its properties, status, position and silence."""

from __future__ import annotations

from collections.abc import Callable

from app.frame import FrameSource, SourceInfo
from app.live.loop_events import LoopEvents


class SourceReports:
    """The newest reports of a loop's source; each change is reported once. Not thread-safe.

    Args:
        left: Called before the report of another picture or source.

    Attributes:
        info: The newest reported properties.
    """

    def __init__(self, events: LoopEvents, left: Callable[[], object]) -> None:
        self._events, self._left = events, left
        self.info: SourceInfo | None = None
        self._picture: tuple[str, float] | None = None  # title and place in a strip
        self._status = ""
        self._position = 0.0
        self._silence: str | None = None

    def begin(self, source: FrameSource) -> None:
        """Report the properties of a source that has been opened."""
        self._left()
        self._picture = None
        self._set_info(source.info)

    def follow(self, source: FrameSource, *, arrived: bool) -> None:
        """Report what has changed; `arrived` is whether the source has delivered a frame."""
        self._set_status(source.status)
        # Two pictures of a strip may have the same name and size.
        picture = source.info.title, 0.0 if source.live else source.position
        if arrived and picture != self._picture:
            another, self._picture = self._picture is not None, picture
            if another:
                self._left()
                self._set_info(source.info)
        if source.info != self.info:  # a measured rate, for instance
            self._set_info(source.info)
        if source.position != self._position:  # after the source that it belongs to
            self._position = source.position
            self._events.position_changed(self._position)
        self._set_silence(source.silence)

    def end(self) -> None:
        """Report that a source that is closed has no fault and no sound."""
        self._set_status("")
        self._set_silence(None)

    def _set_info(self, info: SourceInfo) -> None:
        self.info = info
        self._events.info_changed(info)

    def _set_silence(self, silence: str | None) -> None:
        if silence != self._silence:
            self._silence = silence
            self._events.silence_changed(silence)

    def _set_status(self, status: str) -> None:
        if status != self._status:
            self._status = status
            self._events.status(status)
