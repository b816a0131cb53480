"""Runs launches one by one and reports which one failed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase


class Watch:
    """Launches the selected parts and waits for the end of each launch.

    GPU errors arrive at a later call: only waiting shows which launch caused them. Most of them
    destroy the GPU's context, after which every call of the process fails.

    Args:
        finish: Waits until all launched work is done.
        only: Names or shell patterns to launch; everything if empty.
        without: Names or shell patterns to leave out.

    Attributes:
        launched: The number of launches without an error, by kind.
        failed: "name number: error" of each failed launch.
        left_out: Names that were not selected, in order.
        not_reached: Names that came after the context was lost, in order.
        is_lost: Whether the context is lost.
    """

    def __init__(
        self,
        finish: Callable[[], None],
        only: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> None:
        self._finish, self._only, self._without = finish, tuple(only), tuple(without)
        self.launched: dict[str, int] = {}
        self.failed: list[str] = []
        self.left_out: dict[str, None] = {}
        self.not_reached: dict[str, None] = {}
        self.is_lost = False

    def wants(self, name: str) -> bool:
        """Return whether a part is selected and can be launched; record it if not."""
        if (self._only and not _is_any(name, self._only)) or _is_any(name, self._without):
            self.left_out[name] = None
            return False
        if self.is_lost:
            self.not_reached[name] = None
            return False
        return True

    def launch(self, kind: str, name: str, number: int, call: Callable[[], object]) -> None:
        """Launch `call`, wait for it, and count it as a `kind`.

        `number` distinguishes launches with the same name.
        """
        try:
            call()
            self._finish()
        except RuntimeError as error:  # from PyTorch, or ours from a launch
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            self.failed.append(f"{name} {number}: {line}")
            sys.stdout.write(f"{self.failed[-1]}\n")
            sys.stdout.flush()
            try:
                self._finish()
            except RuntimeError:
                self.is_lost = True
        else:
            self.launched[kind] = self.launched.get(kind, 0) + 1

    def report(self) -> str:
        """Return what was left out, what was not reached, and what failed; "" if nothing."""
        lines: list[str] = []
        if self.left_out:
            lines.append(f"left out: {', '.join(self.left_out)}")
        if self.failed:
            lines.append(f"failed: {'; '.join(self.failed)}")
        if self.not_reached:
            lines.append(f"the GPU's context was lost, not reached: {', '.join(self.not_reached)}")
        return "".join(f"{line}\n" for line in lines)


def _is_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
