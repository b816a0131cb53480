"""Performs random actions in the real window and measures its GUI thread.

    python -m tests.stress.random_actions --seed 1 --actions 3000

It prints every gap of the GUI thread over 50 ms with its cause, and fails on an exception, a
message from Qt or a wrong picture. The same seed performs the same actions; their effect depends on
timing.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtCore import qInstallMessageHandler as install_message_handler
from PySide6.QtWidgets import QApplication

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.process_mode import ProcessMode
from app.errors import Problem
from app.frame import Frame
from app.live.session import Session
from app.settings import Settings
from app.styles.catalog import BUILTIN, Catalog
from app.ui.application import freeze_garbage_collector
from app.ui.main_window import MainWindow
from kernels.table.registry import prepare
from tests.helpers.any_style import save_tiny
from tests.stress.gui_gaps import LONG_MS, Gap, Watch
from tests.stress.sample_files import Files, pixels
from tests.stress.window_actions import WindowActions
from utils.images.writing import write_pixels

PAUSES_MS = (0, 0, 10, 30, 60, 120)  # between two actions
SLOW_S = 90.0  # a picture missing after this time will not come
HARMLESS = ("This plugin does not support",)  # from the offscreen platform, for every real window


@dataclass
class Report:
    """The results of a run: `gaps` over LONG_MS, and `faults`, which must not happen."""

    seed: int
    actions: int
    seconds: float = 0.0
    gaps: list[Gap] = field(default_factory=list)
    worst_ms: float = 0.0
    worst_cpu_ms: float = 0.0
    faults: list[str] = field(default_factory=list)
    waits: Counter[str] = field(default_factory=Counter)  # files touched on the GUI thread
    problems: Counter[str] = field(default_factory=Counter)  # correctly shown to the user
    done: Counter[str] = field(default_factory=Counter)  # number of times each action was performed

    def __str__(self) -> str:
        by_wall = [gap for gap in self.gaps if gap.wall_ms > LONG_MS]
        by_cpu = [gap for gap in self.gaps if gap.cpu_ms > LONG_MS]
        blocked = [gap for gap in self.gaps if gap.blocked_ms > LONG_MS]
        causes = Counter[str]()
        for gap in self.gaps:
            causes[gap.cause.partition("; ")[0].partition(" ")[2]] += 1
        lines = [
            *(str(gap) for gap in sorted(self.gaps, key=lambda gap: -gap.wall_ms)),
            "",
            *(f"{count:5} gaps: {cause}" for cause, count in causes.most_common()),
            "",
            *(f"{count:5} times on the GUI thread: {wait}" for wait, count in self.waits.items()),
            *(f"FAULT {fault}" for fault in self.faults),
            f"seed {self.seed}: {self.actions} actions in {self.seconds:.0f} s, "
            f"{sum(self.problems.values())} problems shown, {len(self.faults)} faults",
            f"gaps over {LONG_MS:.0f} ms: {len(by_wall)} on the clock, {len(by_cpu)} by computing, "
            f"{len(blocked)} by waiting for a lock or a file; longest {self.worst_ms:.0f} ms "
            f"on the clock, {self.worst_cpu_ms:.0f} ms of computing",
        ]
        return "\n".join(lines)


def run(
    seed: int,
    actions: int,
    *,
    large: bool = True,
    only: Sequence[str] = (),
    folder: Path | None = None,
) -> Report:
    """Perform `actions` random actions in a new window; `large` includes large pictures and films.

    `only` names the actions to choose from (all if empty); files are created in `folder`. The
    native kernels must be prepared. It leaves no settings behind if XDG_*_HOME point elsewhere.
    """
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    report = Report(seed, actions)
    with tempfile.TemporaryDirectory(dir=folder) as name, _listening(report.faults):
        files = Files(Path(name), large=large)
        player = Player(random.Random(seed), files, report, only)
        try:
            player.play(actions)
        finally:
            player.close()
    return report


@contextmanager
def _listening(faults: list[str]) -> Iterator[None]:
    """Turn exceptions in the event loop or in threads, and messages from Qt, into faults."""

    def failed(kind: type[BaseException], exc: BaseException, trace: object) -> None:
        faults.append("".join(traceback.format_exception(exc)))

    def thread_failed(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            faults.append("".join(traceback.format_exception(args.exc_value)))

    def said(_kind: object, _context: object, text: str) -> None:
        if not text.startswith(HARMLESS):
            faults.append(f"Qt: {text}")

    before = install_message_handler(said)
    try:
        with (
            patch.object(sys, "excepthook", failed),
            patch.object(threading, "excepthook", thread_failed),
        ):
            yield
    finally:
        install_message_handler(before)


class Player:
    """A window with its own session, and all actions on it."""

    def __init__(
        self, chance: random.Random, files: Files, report: Report, only: Sequence[str]
    ) -> None:
        self._chance, self._files, self._report = chance, files, report
        self.catalog = Catalog(BUILTIN, files.folder / "styles")
        self.catalog.networks.give(save_tiny(files.folder / "any_style_network.safetensors"))
        self.session = Session(self.catalog, EngineConfig(device="cpu"))
        path = files.folder / "settings.json"
        self.window = MainWindow(self.session, Settings(), lambda settings: settings.save(path))
        self._actions = WindowActions(chance, files, self.catalog, self.session, self.window)
        table = self._actions.table()
        if unknown := set(only) - set(table):
            self.close()
            raise ValueError(f"there are no actions {sorted(unknown)}, only {sorted(table)}")
        chosen = {name: entry for name, entry in table.items() if not only or name in only}
        self._names = list(chosen)
        self._weights = [weight for weight, _ in chosen.values()]
        self._acts = {name: act for name, (_, act) in chosen.items()}
        self.session.problem.connect(lambda problem: self._count(problem))
        freeze_garbage_collector(self.session)
        self.watch = Watch(self.window)
        self._loop = QEventLoop()
        self._next = QTimer(singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._next.timeout.connect(self._go_on)
        self._step = iter(())

    def play(self, actions: int) -> None:
        """Perform the actions inside one event loop, as in the program."""
        self.window.show()
        self._step = self._steps(actions)
        self._next.start(0)
        self._loop.exec()

    def close(self) -> None:
        self.window.closing.leave()
        while self.window.isVisible():  # until all running work has ended
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        self.session.shutdown()
        self.window.deleteLater()
        gc.unfreeze()

    def _go_on(self) -> None:
        """Run the steps up to their next pause."""
        try:
            pause = next(self._step, None)
        except Exception as exc:  # noqa: BLE001  (the report is about just these)
            self._report.faults.append("".join(traceback.format_exception(exc)))
            pause = None
        if pause is None:
            self._loop.quit()
        else:
            self._next.start(pause)

    def _steps(self, actions: int) -> Iterator[int]:
        self.session.open("scene")
        yield from self._until(lambda: self.window.viewport.styled is not None, "the scene")
        yield 1000  # lets the start-up work finish
        begin = time.perf_counter()
        self.watch.start()
        for _ in range(actions):
            name = self._chance.choices(self._names, self._weights)[0]
            self.watch.doing = name
            self._report.done[name] += 1
            self._acts[name]()
            yield self._chance.choice(PAUSES_MS)
        yield 300
        self.watch.stop()
        self._report.seconds = time.perf_counter() - begin
        self._report.gaps = self.watch.gaps
        self._report.waits = self.watch.waits
        self._report.worst_ms = self.watch.worst_ms
        self._report.worst_cpu_ms = self.watch.worst_cpu_ms
        yield from self._check()

    def _until(self, came: Callable[[], bool], what: str) -> Iterator[int]:
        deadline = time.perf_counter() + SLOW_S
        while not came():
            if time.perf_counter() > deadline:
                raise AssertionError(f"{what} did not come within {SLOW_S:.0f} s\n{_threads()}")
            yield 20

    def _check(self) -> Iterator[int]:
        """Check that a picture is now styled as by a fresh engine."""
        yield from self._until(lambda: not self.session._jobs._callbacks, "the end of the jobs")
        self._actions.close_others()
        if self.window.actions_by_key["record"].isChecked():
            self.window.exporter.record()
        style = self._chance.choice([style.key for style in self.catalog.styles if style.builtin])
        config = EngineConfig(style=style, device="cpu", size=192)
        self.session.config = config
        frame = Frame(pixels(640, 480))
        path = self._files.folder / "last.png"
        write_pixels(path, frame.pixels)
        self.session.open(str(path))

        def came() -> bool:
            styled = self.window.viewport.styled
            return (
                styled is not None
                and styled.config == config
                and np.array_equal(styled.source.pixels, frame.pixels)
            )

        yield from self._until(came, "the last picture")
        engine = Engine(self.catalog)
        engine.configure(config)
        expected = engine.process(frame, ProcessMode.SINGLE).frame.pixels
        styled = self.window.viewport.styled
        assert styled is not None
        if not np.array_equal(styled.frame.pixels, expected):
            self._report.faults.append(f"the last picture is not styled as {style}")

    def _count(self, problem: Problem) -> None:
        self._report.problems[problem.summary] += 1


def _threads() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "".join(
        f"{names.get(thread)}:\n{''.join(traceback.format_stack(frame))}"
        for thread, frame in sys._current_frames().items()
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the report; return 1 after a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.random_actions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--actions", type=int, default=3000)
    parser.add_argument("--only", action="append", default=[], help="an action; may be repeated")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("CONFIG", "DATA", "STATE"):  # protects the user's own files
            os.environ[f"XDG_{name}_HOME"] = folder
        for name in ("PICTURES", "VIDEOS"):
            os.environ[f"XDG_{name}_DIR"] = folder
        prepare()
        report = run(options.seed, options.actions, only=options.only, folder=Path(folder))
    sys.stdout.write(f"{report}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
