"""The parts that the reporters of several commands share: their display, and JSON lines."""

from __future__ import annotations

import json
import sys
from abc import ABC
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self


class Display(ABC):  # noqa: B024
    """A context manager around a run. Without anything to show, `open` and `close` do nothing."""

    def open(self) -> None:
        """Start the display."""

    def close(self) -> None:
        """End the display."""

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Show a sentence during a block; by default nothing is shown."""
        return nullcontext()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class JsonLines(Display):
    """A display that prints one JSON object per line on stdout, for scripts."""

    def note(self, text: str) -> None:
        self.emit("note", text=text)

    def emit(self, event: str, **values: object) -> None:
        print_line(json.dumps({"event": event, **values}))


def print_line(text: str) -> None:
    """Print a line on stdout at once, because a reader may wait for it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
