"""Files of launches: the launchers' requests to the driver, call by call, stored next to a test.

A file begins with the kernels, each with the values common to its launches. Then follows a line for
each call: the launcher, its result, and for each launch the kernel, its grid and a digest of stream
and arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PREFIX = "styleforge_"  # common to all launchers
HEADER = """\
# {what}; the launchers of Python must launch the same.
# To rewrite it for a deliberate change: python -m tests.kernels.rewrite_launches
#
# kernel: block, dynamic shared bytes, most of them, attributes, name
"""


class Launch(NamedTuple):
    """A launch from a stub's record.

    Attributes:
        kernel: Block, dynamic shared bytes, their maximum, attributes and name, space-separated.
        grid: "x,y,z".
        digest: A digest of the stream and the arguments' values.
    """

    kernel: str
    grid: str
    digest: str


class Told(NamedTuple):
    """The outcome of a call: the launcher's result and its launches."""

    launcher: str
    result: int
    launches: tuple[Launch, ...]


def launch(fields: Sequence[str], values: Any) -> Launch:
    """Parse a launch.

    Args:
        fields: The fields of the stub's line, without the arguments.
        values: The arguments; equal ones must have equal texts.
    """
    name, grid, block, shared, most, stream, attributes = fields
    digest = hashlib.sha256(repr((stream, values)).encode()).hexdigest()[:8]
    return Launch(f"{block} {shared} {most} {attributes or '-'} {name}", grid, digest)


def write(path: Path, what: str, told: Iterable[Told]) -> None:
    """Store the outcomes of calls; `what` names them in the file's first line."""
    numbers: dict[str, int] = {}
    lines: list[str] = []
    for call in told:
        parts = [call.launcher.removeprefix(PREFIX), str(call.result)]
        for each in call.launches:
            number = numbers.setdefault(each.kernel, len(numbers))
            parts += [f"k{number}", each.grid, each.digest]
        lines.append(" ".join(parts) + "\n")
    kernels = [f"k{number}: {kernel}\n" for kernel, number in numbers.items()]
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join((HEADER.format(what=what), *kernels, "\n", *lines)), "utf-8")
    temporary.replace(path)


def read(path: Path) -> list[Told]:
    """Return the calls that `write` stored."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line[:1] not in ("", "#")]
    kernels: dict[str, str] = {}
    told: list[Told] = []
    for line in lines:
        first, _, rest = line.partition(": ")
        if rest:
            kernels[first] = rest
            continue
        launcher, result, *fields = line.split(" ")
        each = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
        launches = tuple(Launch(kernels[number], *more) for number, *more in each)
        told.append(Told(PREFIX + launcher, int(result), launches))
    return told
