"""The interface of an export format: its packages, writing and loading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from models.runtimes.program import Pictures
from models.runtimes.runtime import Compiled, missing_packages


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A network to write, for pictures of `size` (width, height), or of any size if None.

    Attributes:
        network: In PyTorch operations, float32, on the CPU.
        half: Whether to write the weights in FP16.
        multiple: If any size is accepted, sides must be multiples of this number.
    """

    network: nn.Module
    pictures: Pictures
    half: bool
    multiple: int
    size: tuple[int, int] | None
    texts: Mapping[str, str]


class FileFormat(ABC):
    """A file format.

    Attributes:
        packages: Import names of the packages it needs.
        extra: The extra of this distribution that installs them.
        script: The module of `scripts` that runs its files.
    """

    ending: str
    title: str
    runtime: str
    packages: tuple[str, ...] = ()
    extra: str = ""
    script: str
    companions: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """The missing packages, as a clause with the command that installs them; else ""."""
        return missing_packages(self.packages, self.title, self.extra)

    @abstractmethod
    def write(self, source: Source, path: Path) -> None:
        """Write a network to a file that does not exist."""

    @abstractmethod
    def load(self, path: Path) -> Compiled:
        """Load a file, in FP32 on the CPU.

        Raises:
            RuntimeFault: If the runtime refuses the file.
        """
