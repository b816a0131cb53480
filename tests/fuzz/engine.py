"""Runs the cases of targets in workers, kills hanging ones, and stores findings."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.process
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.case import Target
from tests.fuzz.worker import HANGING, MADE, Outcome, work

MAKING_S = 60.0  # limit for creating a case and for starting a worker
SLICE_S = 20.0  # time on a target before the others get their turn
KEPT = 3  # cases stored per cause
# A server process imports the targets' dependencies once, and every worker is forked from it.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.fuzz.targets"])


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that ended in a fault; `folder` has its files if they were stored."""

    target: str
    seed: int
    number: int
    outcome: Outcome
    folder: Path | None = None

    @property
    def repeat(self) -> str:
        """Return the command that repeats the case."""
        where = f"--seed {self.seed} --case {self.number}"
        return f"python -m tests.fuzz --target {self.target} {where}"

    def __str__(self) -> str:
        return f"{self.outcome.finding}: {self.outcome.details}\nrepeat: {self.repeat}"


@dataclass
class Tally:
    """The results of a target so far. `causes` counts its findings by cause."""

    cases: int = 0
    refused: int = 0
    seconds: float = 0.0
    causes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class Worker:
    """A context manager that runs the cases of one target, in one process at a time."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target, self._seed = target, seed
        self._scratch = Path(tempfile.mkdtemp(prefix=f"fuzz-{target.name}-"))
        self._process: multiprocessing.process.BaseProcess | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def run(self, number: int) -> tuple[Outcome, Path]:
        """Run case `number` and return its outcome and its folder, which a good case deletes."""
        folder = self._scratch / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        if self._process is None:
            self._begin()
        try:
            self._pipe.send((number, str(folder)))
            told = self._answer(MAKING_S)
            if told == MADE:
                told = self._answer(self._target.seconds)
        except (EOFError, OSError):
            told = self._crash()
        if told is None:
            told = self._hang()
        assert isinstance(told, Outcome)
        return told, folder

    def _begin(self) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        self._log = self._scratch / "printed"
        arguments = (self._target, self._seed, theirs, self._log)
        process = CONTEXT.Process(target=work, args=arguments, daemon=False)
        process.start()
        self._process = process
        theirs.close()

    def _answer(self, seconds: float) -> Outcome | str | None:
        return self._pipe.recv() if self._pipe.poll(seconds) else None

    def _crash(self) -> Outcome:
        assert self._process is not None
        self._process.join(MAKING_S)
        status = self._process.exitcode
        self._end()
        printed = self._printed()
        how = f"killed by {signal.Signals(-status).name}" if status and status < 0 else f"{status}"
        lines = [line.strip() for line in printed.splitlines() if line.startswith("  File ")]
        return Outcome("crash", f"the process ended: {how}\n{printed}", f"{how} {lines[:1]}")

    def _hang(self) -> Outcome:
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, HANGING)
        self._process.join(0.5)  # gives it time to write its stacks
        printed = self._printed()
        self._end()
        lines = [line.strip() for line in printed.splitlines() if line.startswith("  File ")]
        what = f"no end within {self._target.seconds:g} s\n{printed}"
        return Outcome("hang", what, " ".join(lines[:2]))

    def _printed(self) -> str:
        if not self._log.exists():
            return ""
        return self._log.read_text("utf-8", "replace")[-20_000:]

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.pid is not None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
        process.join()
        process.close()
        self._pipe.close()


class Campaign:
    """Runs `targets` until stopped.

    It stores the first few findings of each cause in `keep`, if given. `say` gets a line for each
    slice of work and each new cause.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        seed: int,
        keep: Path | None = None,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.tallies = {target.name: Tally() for target in targets}
        self._targets, self._seed, self._keep, self._say = targets, seed, keep, say
        self._stopped = threading.Event()
        self._saying = threading.Lock()

    @property
    def findings(self) -> list[Finding]:
        return [finding for tally in self.tallies.values() for finding in tally.findings]

    def run(
        self, numbers: Iterator[int] | None = None, seconds: float | None = None, jobs: int = 1
    ) -> None:
        """Run the cases `numbers` of every target (None: endless), for up to `seconds` each.

        Ctrl+C ends it.
        """
        turns = {
            target.name: (target, number)
            for target, number in zip(
                self._targets,
                itertools.tee(numbers or itertools.count(), len(self._targets)),
                strict=True,
            )
        }
        try:
            with ThreadPoolExecutor(jobs) as pool:
                waiting = list(turns)
                try:
                    while waiting:
                        waiting = [
                            name
                            for name, more in zip(
                                waiting,
                                pool.map(lambda n: self._slice(*turns[n], seconds), waiting),
                                strict=True,
                            )
                            if more
                        ]
                finally:
                    self._stopped.set()
        except KeyboardInterrupt:
            self._say("stopped")

    def _slice(self, target: Target, numbers: Iterator[int], seconds: float | None) -> bool:
        """Work on `target` for a while; return whether there is more to do."""
        tally, start = self.tallies[target.name], time.monotonic()
        left = SLICE_S if seconds is None else min(SLICE_S, seconds - tally.seconds)
        more = True
        with Worker(target, self._seed) as worker:
            while more and not self._stopped.is_set() and time.monotonic() - start < left:
                number = next(numbers, None)
                more = number is not None
                if number is not None:
                    self._take(target, number, tally, *worker.run(number))
        tally.seconds += time.monotonic() - start
        with self._saying:
            self._say(
                f"{target.name:<12} {tally.cases:>8,} cases in {tally.seconds:,.0f} s, "
                f"{tally.refused:,} refused, {tally.causes.total():,} findings "
                f"of {len(tally.causes):,} causes"
            )
        return more and (seconds is None or tally.seconds < seconds)

    def _take(
        self, target: Target, number: int, tally: Tally, outcome: Outcome, folder: Path
    ) -> None:
        tally.cases += 1
        tally.refused += outcome.refused
        if not outcome.finding:
            return
        cause = f"{outcome.finding} {outcome.cause}"
        tally.causes[cause] += 1
        finding = Finding(target.name, self._seed, number, outcome)
        if tally.causes[cause] <= KEPT and self._keep is not None:
            finding = Finding(target.name, self._seed, number, outcome, self._kept(finding, folder))
        if tally.causes[cause] == 1:
            tally.findings.append(finding)
            with self._saying:
                self._say(f"{target.name:<12} case {number}: {outcome.finding}: {outcome.cause}")
        shutil.rmtree(folder, ignore_errors=True)

    def _kept(self, finding: Finding, case: Path) -> Path:
        """Store the case's files and its outcome, and return the folder."""
        assert self._keep is not None
        folder = self._keep / f"{finding.target}-{finding.seed}-{finding.number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if case.exists():
            shutil.copytree(case, folder / "files", symlinks=True, ignore=_special)
        (folder / "report.txt").write_text(f"{finding}\n", "utf-8", "backslashreplace")
        return folder


def _special(folder: str, names: list[str]) -> list[str]:
    """Return the names in `folder` that cannot be copied: not files, folders or links."""
    return [name for name in names if stat.S_ISFIFO((Path(folder) / name).lstat().st_mode)]
