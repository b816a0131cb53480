"""What `camera` says while it runs: a line in the terminal, or JSON lines for scripts."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from app.commands.reporting import Display
from app.virtual_camera.sender import CameraStatus

# The events of --progress json, and what each says besides its name.
EVENTS: Mapping[str, Sequence[str]] = {
    "camera": ("state", "device", "width", "height", "rate", "format", "fitting"),
    "note": ("text",),
    "rate": ("styled", "sent", "running"),
}


class Reporter(Display):
    """Is told of a run; open around its stream."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Say a sentence."""

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Say during a block what is waited for."""
        return nullcontext()

    @abstractmethod
    def camera(self, status: CameraStatus) -> None:
        """Say what the virtual camera does now."""

    @abstractmethod
    def rate(self, styled: float, sent: int, running: str) -> None:
        """Say how fast it is.

        Args:
            styled: Pictures that were styled, per second.
            sent: Pictures that the camera was sent so far.
            running: What runs.
        """


class LineReporter(Reporter):
    """Prints sentences on stderr, and where that is a terminal a line that changes."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(
            stderr=True, highlight=False, markup=False, soft_wrap=True, emoji=False
        )
        self._line: Status | None = None
        if self._console.is_terminal and not quiet:
            self._line = self._console.status("Opening the source ...")

    def open(self) -> None:
        """Show the line."""
        if self._line is not None:
            self._line.start()

    def close(self) -> None:
        """Remove it."""
        if self._line is not None:
            self._line.stop()

    def note(self, text: str) -> None:
        """Print the sentence, if not quiet."""
        if not self._quiet:
            self._console.print(text)

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Show it beside a spinner."""
        # Names of files and styles may contain markup such as [b].
        return nullcontext() if self._quiet else self._console.status(Text(text))

    def camera(self, status: CameraStatus) -> None:
        """Print it."""
        self.note(f"Virtual camera: {status}")

    def rate(self, styled: float, sent: int, running: str) -> None:
        """Change the line."""
        if self._line is not None:
            self._line.update(Text(f"{styled:.1f} frames/s styled, {sent} sent ({running})"))


class JsonReporter(Reporter):
    """Prints one JSON object a line on stdout, with the keys of EVENTS."""

    def note(self, text: str) -> None:
        """Print an event with the sentence."""
        self._emit("note", text=text)

    def camera(self, status: CameraStatus) -> None:
        """Print an event with what was opened and what it does."""
        choice = status.choice
        self._emit(
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
        """Print an event with the figures."""
        self._emit("rate", styled=round(styled, 2), sent=sent, running=running)

    def _emit(self, event: str, **values: Any) -> None:
        sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
        sys.stdout.flush()  # somebody waits for the line


def make_reporter(progress: str, *, quiet: bool) -> Reporter:
    """Return the reporter for a value of --progress."""
    return JsonReporter() if progress == "json" else LineReporter(quiet=quiet)
