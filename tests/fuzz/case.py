"""Targets and their cases: the values that engine, worker and targets share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

MARKER = "ran"  # code hidden in a file would create this in the case's folder if it ran


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link instead of a file."""

    to: str


@dataclass(frozen=True, slots=True)
class Fifo:
    """A named pipe without a writer instead of a file."""


@dataclass(frozen=True, slots=True)
class Case:
    """The input of one case.

    `files` are written to its folder; names with slashes create subfolders. Every sentence that the
    program says about them must contain `named`.
    """

    files: Mapping[str, bytes | Link | Fifo] = field(default_factory=dict)
    named: str = ""

    def lay(self, folder: Path) -> None:
        """Write the files to `folder`, which must exist."""
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
    """One kind of input that the program reads.

    A case that takes longer than `seconds`, or needs more than `memory` bytes beyond the memory the
    process already had, is a finding. `make test-full` runs `sample` cases.
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
        """Create the common starting point of all cases, once before the first."""
        ...

    def make(self, rng: Random) -> Case:
        """Create a case that depends only on `rng`."""
        ...

    def run(self, folder: Path) -> Iterable[str]:
        """Let the program read the case in `folder`, the working folder, and return its sentences.

        It may raise one of the program's own errors, which counts as a sentence, or `Broken` if
        anything else is wrong.
        """
        ...


class Broken(AssertionError):
    """A fault that a target itself found."""
