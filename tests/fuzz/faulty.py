"""A target with faults of every kind, which the engine must find."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from app.errors import StyleForgeError
from tests.fuzz.case import MARKER, Broken, Case
from tests.fuzz.targets.base import Basis


@dataclass(frozen=True)
class Faulty(Basis):
    """A target whose every case does the act of ACTS named `act`, with the file 'given'."""

    act: str
    name: str = "faulty"
    seconds: float = 1.0
    memory: int = 1 << 26

    def make(self, rng: Random) -> Case:
        return Case({"given": rng.randbytes(8)}, named="given")

    def run(self, folder: Path) -> list[str]:
        assert len((folder / "given").read_bytes()) == 8
        said = ACTS[self.act]()
        return [said] if isinstance(said, str) else []


def _raise(exc: Exception) -> None:
    raise exc


def _leave_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(60,), daemon=True, name="forgotten").start()


ACTS: dict[str, Callable[[], object]] = {
    "reads": lambda: None,
    "refuses": lambda: _raise(StyleForgeError("'given' is no picture")),
    "raises": lambda: _raise(KeyError("given")),
    "is wrong": lambda: _raise(Broken("'given' is another file now")),
    "says two lines": lambda: "'given' is\nno picture",
    "says an escape": lambda: "'given' is \x1b[2J",
    "says too much": lambda: "given" * 1000,
    "names nothing": lambda: "it is no picture",
    "prints": lambda: os.write(2, b"libtiff: no"),
    "writes": lambda: sys.stdout.write("no"),
    "crashes": os.abort,
    "ends": lambda: os._exit(3),
    "hangs": lambda: time.sleep(60),
    "takes memory": lambda: len(bytearray(100 << 20)) and None,
    "takes all memory": lambda: bytearray(1 << 30) and None,
    "leaves a thread": _leave_a_thread,
    "runs code": lambda: Path(MARKER).mkdir(),
}
