"""What a target is and what a case of it is: the values that engine, worker and targets share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

MARKER = "ran"  # what code hidden in a file would make in the case's folder, had it been run


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, in place of a file."""

    to: str


@dataclass(frozen=True, slots=True)
class Fifo:
    """A named pipe that nobody writes to, in place of a file."""


@dataclass(frozen=True, slots=True)
class Case:
    """The input of one case. `files` are laid into its folder, names with slashes into folders
    below; every sentence that the program says about them has to contain `named`."""

    files: Mapping[str, bytes | Link | Fifo] = field(default_factory=dict)
    named: str = ""

    def lay(self, folder: Path) -> None:
        """Make the files in `folder`, which is there."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Link):
                path.symlink_to(content.to)
            elif isinstance(content, Fifo):
                os.mkfifo(path)
            else:
                path.write_bytes(content)


class Target(Protocol):
    """One kind of thing that the program reads.

    A case that takes longer than `seconds`, or more than `memory` bytes beyond what the process
    had before, is a finding. `sample` is how many cases the test suite takes.
    """

    @property
    def name(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def memory(self) -> int: ...
    @property
    def sample(self) -> int: ...

    def prepare(self) -> None:
        """Make once, before the first case, what every case begins with."""
        ...

    def make(self, rng: Random) -> Case:
        """A case that follows from `rng` alone."""
        ...

    def run(self, folder: Path) -> Iterable[str]:
        """Let the program read what `make` left in `folder`, the working folder; the sentences
        it said. One of its own errors may be raised, which counts as one; `Broken` says that
        something else is wrong."""
        ...


class Broken(AssertionError):
    """What a target found out by itself."""
