"""A display that is open while a command runs, such as a bar in the terminal."""

from __future__ import annotations

from abc import ABC
from types import TracebackType
from typing import Self


class Display(ABC):  # noqa: B024
    """A context manager around a run. Without anything to show, `open` and `close` do nothing."""

    def open(self) -> None:
        """Start the display."""

    def close(self) -> None:
        """End the display."""

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
