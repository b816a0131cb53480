"""What a runtime says of one kind of device: whether it is there, what it computes in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from models.precision import Precision
from utils.translation.lists import listed
from utils.translation.texts import tr

Compiled = Callable[[NDArray[Any]], NDArray[Any]]
Size = tuple[int, int]  # width, height

# What makes an ONNX model of a program; every runtime here reads one.
WRITERS = ("onnx", "onnxscript")


class RuntimeFault(RuntimeError):
    """A runtime cannot run a network; the message is one sentence."""


class Runtime(ABC):
    """A runtime on one kind of device. Safe on any thread.

    Attributes:
        key: As `--kernels` names it.
        title: As users read it, with the device: "OpenVINO GPU".
        extra: The extra of this distribution that installs its packages.
        packages: What it needs, as they are imported.
    """

    key: str
    title: str
    extra: str
    packages: tuple[str, ...]

    @property
    def missing(self) -> str:
        """Why it cannot be imported, as a clause with what installs it; "" if it can."""
        return missing_packages(self.packages, self.title, self.extra)

    def refusal(self, precision: Precision | None = None) -> str:
        """Say why it does not run here.

        Args:
            precision: What it is to compute in; None for any.

        Returns:
            A sentence, or "" if it runs.
        """
        if reason := self.missing or self.device_missing():
            return reason
        offered = self.precisions()
        if precision is None or precision in offered:
            return ""
        return tr(
            "{runtime} computes in {precisions} here, not in {precision}",
            runtime=self.title,
            precisions=listed([each.title for each in offered]),
            precision=precision.title,
        )

    @abstractmethod
    def device_missing(self) -> str:
        """Why its device is not there, as a clause; "" if it is. Only if nothing is `missing`."""

    @abstractmethod
    def precisions(self) -> tuple[Precision, ...]:
        """What it computes in; never another one instead. Only where its device is there."""

    @abstractmethod
    def device_title(self) -> str:
        """The runtime's name of the device, such as "OpenVINO: AMD EPYC (CPU)"."""

    @abstractmethod
    def compile(
        self, model: bytes | Path, precision: Precision, size: Size | None = None
    ) -> Compiled:
        """Prepare a model.

        Args:
            model: An ONNX model, or a file of its own format.
            precision: What to compute in, one of `precisions`.
            size: (width, height) of the only pictures that it will get; None for any.

        Returns:
            A function of a picture, as models.runtimes.program.Pictures has them; not thread-safe.

        Raises:
            RuntimeFault: It cannot run the model, or only in another way than asked for.
        """


def missing_packages(packages: tuple[str, ...], what: str, extra: str) -> str:
    """Say which packages are not installed, and what installs them.

    Args:
        packages: As they are imported.
        what: What needs them.
        extra: The extra of this distribution that has them.

    Returns:
        A clause; "" if all are there.
    """
    absent = [name for name in packages if find_spec(name) is None]
    if not absent:
        return ""
    return tr(
        "{what} needs {packages}: pip install 'styleforge[{extra}]'",
        what=what,
        packages=listed(absent),
        extra=extra,
    )
