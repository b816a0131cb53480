"""What a format of exported files has to say: its packages, how it is written and run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from models.runtimes.program import Pictures
from models.runtimes.runtime import Compiled, missing_packages
from utils.translation.texts import tr


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A network to be written.

    Attributes:
        network: In PyTorch's operations, float32, on the CPU.
        pictures: What goes in and comes out of the file.
        half: Whether weights are written in FP16.
        multiple: Sides have to be multiples of it where any are taken.
        size: (width, height) in pixels; None for any.
        texts: The metadata.
    """

    network: nn.Module
    pictures: Pictures
    half: bool
    multiple: int
    size: tuple[int, int] | None
    texts: Mapping[str, str]


class FileFormat(ABC):
    """A format of files.

    Attributes:
        ending: With its dot.
        title: As users read it.
        runtime: What its files are checked in.
        packages: What it needs, as they are imported.
        extra: The extra of this distribution that installs them.
        script: The module of `scripts` that runs its files.
        companions: The endings of further files, with the name of the file itself.
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
        """Which packages are missing, as a clause with what installs them; "" if none is."""
        what = tr("a file of {format}", format=self.title)
        return missing_packages(self.packages, what, self.extra)

    @abstractmethod
    def write(self, source: Source, path: Path) -> None:
        """Write a network to a file that does not exist."""

    @abstractmethod
    def load(self, path: Path) -> Compiled:
        """Get what a file computes in FP32 on the CPU, in the format's own runtime.

        Raises:
            RuntimeFault: The runtime refuses it; one sentence.
        """
