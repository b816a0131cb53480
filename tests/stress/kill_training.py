"""Kills real training runs at random moments, and checks that nothing reported is ever lost.

`python -m tests.stress.kill_training --seed 1 --rounds 30` takes a few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from app.processes.command_process import ROOT
from app.styles.catalog import Catalog
from tests.conftest import picture, random_vgg
from utils.images.writing import write_pixels

ITERATIONS, INTERVAL = 10, 2
MAX_STARTS = 3  # the number of started processes per kill
MAX_SECONDS = 120.0  # for a run that should end by itself
MOMENTS = ("steps", "writing", "checkpoint", "pack", "start")
VISIBLE = {"wave", "wave.training.pt", "wave.training.previous.pt", "wave.preview.png"}
LOSSES = ("iteration", "loss", "content", "style", "tv", "stability", "teacher", "weave")


@dataclass(slots=True)
class Report:
    """The number of kills by kind, of started processes and finished runs, and all faults."""

    kills: Counter[str] = field(default_factory=Counter)
    started: int = 0
    finished: int = 0
    recovered_steps: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        killed = ", ".join(f"{self.kills[moment]} {moment}" for moment in MOMENTS)
        head = (
            f"{self.kills.total()} kills ({killed}) of {self.started} processes; {self.finished} "
            f"runs finished; resumed at {self.recovered_steps} steps in all; "
            f"{len(self.faults)} faults"
        )
        return "\n".join([head, *self.faults])


def run(seed: int, rounds: int) -> Report:
    """Kill `rounds` processes, resume after each, and finish the rest.

    The intended moments are always the same; how far a process is by then depends on the machine.
    """
    with tempfile.TemporaryDirectory(prefix="kill-training-") as place:
        return _Killer(Path(place), random.Random(seed)).run(rounds)


class _Killer:
    def __init__(self, place: Path, chance: random.Random) -> None:
        self._place, self._chance, self.report = place, chance, Report()
        (place / "photos").mkdir()
        for n in range(5):
            write_pixels(place / "photos" / f"{n}.png", picture(60 + n, 50, seed=n))
        write_pixels(place / "wave.png", picture(64, 48, seed=9))
        save_file(random_vgg(), place / "vgg.safetensors", {"input": "BGR, 0-255, minus a mean"})
        self._out = place / "out"
        self._overwrites = False
        self._kept = 0  # the newest checkpoint reported as written

    def run(self, rounds: int) -> Report:
        began = time.monotonic()
        self._reference()
        startup = time.monotonic() - began
        self._begin()
        for number in range(MAX_STARTS * rounds):  # a moment may come after the end
            if self.report.kills.total() == rounds:
                break
            moment = MOMENTS[number % len(MOMENTS)]
            process = _Process(self._arguments(), *self._doom(moment))
            self.report.started += 1
            if self._survives(process, moment, startup):
                self._check_end()
                self._begin()
            else:
                self.report.kills[moment] += 1
                self._check_after_kill(f"kill {number + 1} ({moment})", process)
                if not self._unfinished():
                    self._begin()
        while self._unfinished() or not self._is_new():
            process = _Process(self._arguments())
            self.report.started += 1
            if process.wait() != 0:
                self._fault("the end", f"status {process.status}: {process.errors}")
                break
            self._check_events("the end", process)
            self._check_end()
        return self.report

    # The processes

    def _arguments(self) -> list[str]:
        place = self._place
        more = ["--resume"] if (self._out / "wave.training.pt").exists() else []
        more += ["--overwrite"] if self._overwrites else []
        return [
            "train",
            *("--style-image", str(place / "wave.png"), "--dataset", str(place / "photos")),
            *("--vgg", str(place / "vgg.safetensors"), "--output", str(self._out)),
            *("--style-size", "64", "--image-size", "32", "--batch-size", "2", "--device", "cpu"),
            *("--iterations", str(ITERATIONS), "--checkpoint-interval", str(INTERVAL)),
            *("--stability-weight", "1", "--motion-weight", "1", "--json-progress", *more),
        ]

    def _reference(self) -> None:
        """Record the result of an uninterrupted run."""
        process = _Process(self._arguments())
        assert process.wait() == 0, process.errors
        self._history = process.losses()
        self._weights = (self._out / "wave" / "weights.safetensors").read_bytes()
        self._spec = _lasting(self._out / "wave")
        (self._out / "wave").rename(self._place / "reference")

    def _begin(self) -> None:
        """Start a new run; every other one replaces an older pack."""
        shutil.rmtree(self._out, ignore_errors=True)
        self._out.mkdir()
        self._kept = 0
        self._overwrites = not self._overwrites
        if self._overwrites:
            shutil.copytree(self._place / "reference", self._out / "wave")
            spec = self._out / "wave" / "style.toml"
            spec.write_text(spec.read_text("utf-8").replace('"Wave"', '"Older"', 1), "utf-8")

    def _unfinished(self) -> bool:
        return (self._out / "wave.training.pt").exists()

    def _is_new(self) -> bool:
        spec = self._out / "wave" / "style.toml"
        return spec.is_file() and '"Older"' not in spec.read_text("utf-8")

    # The moments of the kills

    def _doom(self, moment: str) -> tuple[str, ...]:
        if moment == "checkpoint":
            return (str(self._out), "training.pt", str(self._chance.randint(1, 40)))
        if moment == "pack":
            return (str(self._out), "wave.new-", str(self._chance.randint(1, 30)))
        return ()

    def _survives(self, process: _Process, moment: str, startup: float) -> bool:
        """Kill the process, or let it be killed; return whether it ended before that."""
        chance = self._chance
        if moment == "start":
            time.sleep(chance.uniform(0, startup))
        elif moment == "steps":
            process.wait_for_progress(chance.randint(1, 4))
            time.sleep(chance.uniform(0, 0.3))
        elif moment == "writing":
            process.wait_for_progress(1)
            skipped = chance.randint(0, 2)
            process.wait_for_file(self._out, ".wave.training.pt.new", skipped)
            time.sleep(chance.uniform(0, 0.03))
        else:
            return process.wait() == 0
        process.kill()
        return process.status == 0

    # The checks

    def _check_after_kill(self, when: str, process: _Process) -> None:
        if process.status != -9:
            self._fault(when, f"status {process.status}: {process.errors}")
        self._check_events(when, process)
        names = [path.name for path in self._out.iterdir()]
        if strange := {name for name in names if not name.startswith(".")} - VISIBLE:
            self._fault(when, f"{strange} can be seen")
        left = Counter(
            "staging" if ".new-" in name else "temporary"
            for name in names
            if name.endswith((".tmp", ".new")) or ".new-" in name
        )
        if left["staging"] > 1 or left["temporary"] > 3:  # more than one process leaves
            self._fault(when, f"leftovers pile up: {sorted(names)}")
        catalog = Catalog(self._place / "none", self._out)
        if catalog.broken:
            self._fault(when, f"half a pack can be seen: {catalog.broken}")
        elif catalog.styles:
            self._check_pack(when)
        elif self._overwrites and ".wave.replaced" not in names:
            self._fault(when, "the older pack is gone")
        if self._is_new() and not self._unfinished():
            self.report.finished += 1
            return
        if self._kept:
            self._check_checkpoint(when)

    def _check_checkpoint(self, when: str) -> None:
        path = self._out / "wave.training.pt"
        if not path.is_file():
            self._fault(when, f"the checkpoint of iteration {self._kept} is gone")
            return
        state = torch.load(path, weights_only=True)
        if state["iteration"] < self._kept:
            self._fault(when, f"iteration {state['iteration']} is kept, {self._kept} was reported")
        if state["history"].tolist() != self._history[: state["iteration"]]:
            self._fault(when, "the history is not that of a run never killed")

    def _check_events(self, when: str, process: _Process) -> None:
        """Check that no step is missing or repeated, and that none reported before was lost."""
        begin = 0
        for event in process.events:
            if event["event"] == "resumed":
                begin = event["iteration"]
                self.report.recovered_steps += begin
                if event["history"] != self._history[:begin]:
                    self._fault(when, "the history it resumed with has a gap or a duplicate")
            if event["event"] == "note" and "Waiting" in event["text"]:
                self._fault(when, "the lock of a dead process held it up")
        if process.learned or begin:
            if begin < self._kept:
                self._fault(when, f"went on from {begin}, {self._kept} was reported")
            if process.losses() != self._history[begin : begin + len(process.learned)]:
                self._fault(when, f"the steps after {begin} are not those of a run never killed")
        self._kept = max([self._kept, *(event["kept"] for event in process.learned)])

    def _check_pack(self, when: str) -> None:
        if (self._out / "wave" / "weights.safetensors").read_bytes() != self._weights:
            self._fault(when, "the weights are not those of a run never killed")
        if _lasting(self._out / "wave") != self._spec:
            self._fault(when, "the pack does not say what that of a run never killed says")

    def _check_end(self) -> None:
        self.report.finished += 1
        names = sorted(path.name for path in self._out.iterdir())
        if names != ["wave"]:
            self._fault("the end of a run", f"it left {names}")
        self._check_pack("the end of a run")
        if not self._is_new():
            self._fault("the end of a run", "the older pack is still there")

    def _fault(self, when: str, what: str) -> None:
        self.report.faults.append(f"{when}: {what}")


class _Process:
    """`styleforge train`, read by a thread; `doom` holds arguments of tests.helpers.dying."""

    def __init__(self, arguments: list[str], *doom: str) -> None:
        module = ["tests.helpers.dying", *doom] if doom else ["app"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", *module, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.events: list[dict[str, Any]] = []
        self.errors = ""
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._hear)]
        for reader in self._readers:
            reader.start()

    @property
    def status(self) -> int | None:
        return self._process.returncode

    @property
    def learned(self) -> list[dict[str, Any]]:
        return [event for event in list(self.events) if event["event"] == "progress"]

    def losses(self) -> list[list[float]]:
        return [[event[name] for name in LOSSES] for event in self.learned]

    def wait(self) -> int:
        """Wait for its end, which it should reach by itself, and return its status."""
        try:
            self._process.wait(MAX_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self.errors += f"it did not end within {MAX_SECONDS} s"
        self._join()
        return self._process.returncode

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._join()

    def wait_for_progress(self, steps: int) -> None:
        while self._process.poll() is None and len(self.learned) < steps:
            time.sleep(0.002)

    def wait_for_file(self, folder: Path, mark: str, skipped: int) -> None:
        """Wait until `skipped` files and one more with `mark` in their names have appeared."""
        seen: set[str] = set()
        while self._process.poll() is None and len(seen) <= skipped:
            seen |= {
                entry.name + str(len(self.learned))
                for entry in os.scandir(folder)
                if mark in entry.name
            }

    def _join(self) -> None:
        for reader in self._readers:
            reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # the last one may be truncated
                self.events.append(json.loads(line))
        self._process.stdout.close()

    def _hear(self) -> None:
        assert self._process.stderr is not None
        self.errors += self._process.stderr.read().decode(errors="replace")
        self._process.stderr.close()


def _lasting(pack: Path) -> str:
    """Return the lines of `style.toml` without the title, the time and the flags."""
    lines = (pack / "style.toml").read_text("utf-8").splitlines()
    return "\n".join(x for x in lines if not x.startswith(("title", "seconds", "command")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    told = run(asked.seed, asked.rounds)
    sys.stdout.write(f"{told}\n")
    sys.exit(bool(told.faults))
