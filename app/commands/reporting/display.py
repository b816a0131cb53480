"""A display that is open while a command runs, such as a bar in the terminal."""

from __future__ import annotations

from abc import ABC
from types import TracebackType
from typing import Self


class Display(ABC):  # noqa: B024
    """A context manager around a run; what shows nothing has nothing to open or close."""

    def open(self) -> None:
        """Begin to show something."""

    def close(self) -> None:
        """Show nothing any more."""

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
