"""Reporters of `camera`: a line in the terminal, or JSON lines for scripts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.status import Status
from rich.text import Text

from app.commands.reporting import Display, JsonLines
from app.virtual_camera.sender import CameraStatus

# The events of --progress json, with their fields besides the name.
EVENTS: Mapping[str, Sequence[str]] = {
    "camera": ("state", "device", "width", "height", "rate", "format", "fitting"),
    "note": ("text",),
    "rate": ("styled", "sent", "running"),
}


class Reporter(Display):
    """A receiver of a run's events; open around its stream."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Report a sentence."""

    @abstractmethod
    def camera(self, status: CameraStatus) -> None:
        """Report the state of the virtual camera."""

    @abstractmethod
    def rate(self, styled: float, sent: int, running: str) -> None:
        """Report styled pictures per second, and the total number sent to the camera."""


class LineReporter(Reporter):
    """A reporter with sentences on stderr and, if that is a terminal, a line that changes."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(
            stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False
        )
        self._line: Status | None = None
        if self._console.is_terminal and not quiet:
            self._line = self._console.status("Opening the source ...")

    def open(self) -> None:
        if self._line is not None:
            self._line.start()

    def close(self) -> None:
        if self._line is not None:
            self._line.stop()

    def note(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text)

    def waiting(self, text: str) -> AbstractContextManager[object]:
        # Names of files and styles may contain markup such as [b].
        return nullcontext() if self._quiet else self._console.status(Text(text))

    def camera(self, status: CameraStatus) -> None:
        self.note(f"Virtual camera: {status}")

    def rate(self, styled: float, sent: int, running: str) -> None:
        if self._line is not None:
            self._line.update(Text(f"{styled:.1f} frames/s styled, {sent} sent ({running})"))


class JsonReporter(JsonLines, Reporter):
    """A reporter that prints JSON lines with the keys of EVENTS."""

    def camera(self, status: CameraStatus) -> None:
        choice = status.choice
        self.emit(
            "camera",
            state=status.state.value,
            device=status.device,
            width=choice.width,
            height=choice.height,
            rate=choice.rate,
            format=choice.format,
            fitting=status.fitting or None,
        )

    def rate(self, styled: float, sent: int, running: str) -> None:
        self.emit("rate", styled=round(styled, 2), sent=sent, running=running)


def make_reporter(progress: str, *, quiet: bool) -> Reporter:
    """Return the reporter for a value of --progress."""
    return JsonReporter() if progress == "json" else LineReporter(quiet=quiet)
