"""What most targets share."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.case import Case, Fifo, Link
from tests.fuzz.worker import OWN_ERRORS

# Names that files can have and messages have to survive.
NAMES = (
    "two\nlines", "\x1b[31mred\x1b[0m", "bell\a", "tab\t", "'quoted'", '"quoted"', "-rf", "a b",
    "\u202egnp", "no break\u00a0space", "\udcff\udcfe", "\u2028", "100%s", "{0}", "é" * 100,
    "x" * 240, ".hidden", "12:30", "日本語", "\U0001f600",
)  # fmt: skip


class Basis:
    """Nothing to prepare; a second, a quarter of a gigabyte."""

    seconds = 10.0
    memory = 1 << 28
    sample = 40

    def prepare(self) -> None:
        """Nothing."""


def attempt(what: Callable[[], object], said: list[str]) -> bool:
    """Do it; what the program refuses it with goes to `said`. Whether it was done."""
    try:
        what()
    except OWN_ERRORS as exc:
        said.append(str(exc))
        return False
    return True


def named(rng: Random, content: bytes | Fifo | Link, stem: str, ending: str) -> Case:
    """One file, mostly of a plain name, which every sentence about it has to contain."""
    if rng.random() < 0.9:
        name = f"{stem}{ending}"
        return Case({name: content}, named=name)
    return Case({f"{rng.choice(NAMES)[:200]}{ending}": content})


def special(rng: Random) -> Fifo | Link:
    """What is no file though it is called like one."""
    return rng.choice((Fifo(), Link("/dev/zero"), Link("nowhere"), Link("."), Link("/dev/null")))
