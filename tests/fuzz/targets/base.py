"""Common parts of the targets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.case import Case, Fifo, Link
from tests.fuzz.worker import OWN_ERRORS

# Valid file names that messages must cope with.
NAMES = (
    "two\nlines", "\x1b[31mred\x1b[0m", "bell\a", "tab\t", "'quoted'", '"quoted"', "-rf", "a b",
    "\u202egnp", "no break\u00a0space", "\udcff\udcfe", "\u2028", "100%s", "{0}", "é" * 100,
    "x" * 240, ".hidden", "12:30", "日本語", "\U0001f600",
)  # fmt: skip


class Basis:
    """A target without preparation, with limits of 10 seconds and a quarter of a gigabyte."""

    seconds = 10.0
    memory = 1 << 28
    sample = 40

    def prepare(self) -> None:
        """Do nothing."""


def attempt(what: Callable[[], object], said: list[str]) -> bool:
    """Call `what` and append the program's refusal to `said`; return whether it succeeded."""
    try:
        what()
    except OWN_ERRORS as exc:
        said.append(str(exc))
        return False
    return True


def named(rng: Random, content: bytes | Fifo | Link, stem: str, ending: str) -> Case:
    """Return a case of one file, usually with a plain name that every sentence must contain."""
    if rng.random() < 0.9:
        name = f"{stem}{ending}"
        return Case({name: content}, named=name)
    return Case({f"{rng.choice(NAMES)[:200]}{ending}": content})


def special(rng: Random) -> Fifo | Link:
    """Return a special file under a plain file's name."""
    return rng.choice((Fifo(), Link("/dev/zero"), Link("nowhere"), Link("."), Link("/dev/null")))
