"""Scripts that find faults by themselves.

Their modules have `run(seed, count)`, which returns a report whose `faults` are sentences.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random

from kernels.table.registry import prepare
from tests.fuzz.case import Broken, Case


@dataclass(frozen=True)
class Script:
    """A target whose case is one run of `module` with `count` steps, with native kernels ready.

    The sample skips them, since the module has its own tests.
    """

    name: str
    module: str
    count: int
    seconds: float = 600.0
    memory: int = 4 << 30
    sample: int = 0

    def prepare(self) -> None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        prepare()

    def make(self, rng: Random) -> Case:
        return Case({"seed": str(rng.getrandbits(32)).encode()})

    def run(self, folder: Path) -> list[str]:
        report = import_module(self.module).run(int((folder / "seed").read_text()), self.count)
        if report.faults:
            raise Broken("\n".join(report.faults))
        return []
