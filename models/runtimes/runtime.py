"""The interface of a runtime on one kind of device: availability, precisions, compilation."""

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

# The converters to ONNX models; every runtime here reads ONNX.
WRITERS = ("onnx", "onnxscript")


class RuntimeFault(RuntimeError):
    """Raised if a runtime cannot run a network; the message is one sentence."""


class Runtime(ABC):
    """A runtime on one kind of device. Thread-safe.

    Attributes:
        key: Its name in `--kernels`.
        title: Its name for users, with the device: "OpenVINO GPU".
        extra: The extra of this distribution that installs `packages`, their import names.
    """

    key: str
    title: str
    extra: str
    packages: tuple[str, ...]

    @property
    def missing(self) -> str:
        """Why the runtime cannot be imported, as a clause with the remedy; "" if it can."""
        return missing_packages(self.packages, self.title, self.extra)

    def refusal(self, precision: Precision | None = None) -> str:
        """Return why the runtime cannot run here in `precision`, as a sentence; "" if it can.

        With `precision` None, any precision suffices.
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
        """Return why the runtime's device is missing, as a clause, or "".

        The packages must be installed: call this only if `missing` is "".
        """

    @abstractmethod
    def precisions(self) -> tuple[Precision, ...]:
        """Return the precisions that the runtime computes in, without substituting another one.

        The device must exist: call this only if `device_missing` returns "".
        """

    @abstractmethod
    def device_title(self) -> str:
        """Return the runtime's name of the device, such as "OpenVINO: AMD EPYC (CPU)"."""

    @abstractmethod
    def compile(
        self, model: bytes | Path, precision: Precision, size: Size | None = None
    ) -> Compiled:
        """Compile a model: ONNX, or a file in the runtime's own format.

        `size` is (width, height) of all future pictures, or None for any. Return a function of a
        picture in a format of models.runtimes.program.Pictures, not thread-safe.

        Raises:
            RuntimeFault: If the runtime cannot run the model, or not as requested.
        """


def missing_packages(packages: tuple[str, ...], name: str, extra: str) -> str:
    """Return a clause on missing packages, by import names, and their installation, or "".

    `name` is the runtime or file format that needs them, `extra` this distribution's extra.
    """
    absent = [name for name in packages if find_spec(name) is None]
    if not absent:
        return ""
    return tr(
        "{name} needs {packages}: pip install 'styleforge[{extra}]'",
        name=name,
        packages=listed(absent),
        extra=extra,
    )
