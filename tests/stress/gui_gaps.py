"""Measures how long the GUI thread is unresponsive, and what it was doing."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

from PySide6.QtCore import QObject, Qt, QTimer

BEAT_MS = 5
LONG_MS = 50.0  # longer gaps are visible as a jerk
DEPTH = 4  # number of our functions that name a cause
UNDISTURBED_S = 10.0
HELD_MS = 20.0  # time with the interpreter's lock worth reporting
Functions = list[tuple[CodeType, int]]  # innermost first, with their line numbers
_ROOT = Path(__file__).resolve().parents[2]
_SCHEDSTAT = Path("/proc/thread-self/schedstat")
# Python's audit events that may wait for a disk, another program or a network.
_WAITS = ("open", "os.", "shutil.", "subprocess.", "socket.", "tempfile.")


def most_computed_ms() -> float:
    """Return how long the GUI thread may compute between two beats, in ms on this machine.

    Machines differ, so the limit is the time of five million steps of a loop: 390 ms on a machine
    where the window computed for 140 to 205.
    """

    def loop() -> float:
        began, total = time.thread_time(), 0
        for step in range(1_000_000):
            total += step & 7
        return time.thread_time() - began

    return 5e3 * min(loop() for _ in range(3))


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without a beat, in milliseconds beyond the regular 5.

    Of `wall_ms`, the GUI thread computed for `cpu_ms` and was ready for `queued_ms` while other
    processes or threads had the cores. For the rest, `blocked_ms`, it waited: for a lock, the
    interpreter's lock, a file. `cause` is where it was most of the time.
    """

    wall_ms: float
    cpu_ms: float
    queued_ms: float
    page_faults: int
    doing: str
    cause: str

    @property
    def blocked_ms(self) -> float:
        return max(0.0, self.wall_ms - self.cpu_ms - self.queued_ms)

    def __str__(self) -> str:
        return (
            f"{self.wall_ms:4.0f} ms (computing {self.cpu_ms:.0f}, waiting for a core "
            f"{self.queued_ms:.0f}, blocked {self.blocked_ms:.0f}, {self.page_faults} page faults) "
            f"{self.doing}: {self.cause}"
        )


@dataclass(frozen=True, slots=True)
class Look:
    """A sample of the threads' positions at the time `at`.

    If other threads computed, it is `late_ms` late because one of them held the interpreter's lock.
    """

    at: float
    late_ms: float
    functions: Functions
    others: list[Functions]


class Clock:
    """The time that the thread which creates it spends."""

    def __init__(self) -> None:
        self._file = _SCHEDSTAT.open("rb", buffering=0) if _SCHEDSTAT.exists() else None

    def read(self) -> tuple[float, float, float, int]:
        """Return seconds of wall time, of CPU time, and of waiting for a core, and page faults."""
        queued = 0.0
        if self._file is not None:
            queued = int(os.pread(self._file.fileno(), 100, 0).split()[1]) / 1e9
        faults = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt
        return time.perf_counter(), time.thread_time(), queued, faults

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Watch(QObject):
    """A timer on the GUI thread that beats every 5 ms, and a thread that samples it every 5 ms.

    `doing` is recorded in every gap that ends while it is set. `gaps` are the gaps whose wall or
    CPU time exceeds LONG_MS; `worst_ms` and `worst_cpu_ms` are the maxima of all. `waits` are our
    functions that touched files on the GUI thread. Without Linux's statistics, waiting for a core
    counts as blocked.
    """

    _active: Watch | None = None  # an audit hook cannot be removed, so one serves all
    _hooked = False

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.doing = ""
        self.gaps: list[Gap] = []
        self.worst_ms = self.worst_cpu_ms = 0.0
        self.waits = Counter[str]()
        self._seen: deque[Look] = deque(maxlen=1000)
        self._collected: deque[tuple[float, float]] = deque(maxlen=100)  # time and duration
        self._ended = threading.Event()
        self._watched = threading.get_ident()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        self._clock = Clock()
        self._last = self._clock.read()
        self._timer = QTimer(self, interval=BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Start measuring; call it once, on the GUI thread."""
        if not Watch._hooked:
            sys.addaudithook(Watch._audit)
            Watch._hooked = True
        Watch._active = self
        gc.callbacks.append(self._note_collection)
        self._last = self._clock.read()
        self._timer.start()
        self._thread.start()

    def stop(self) -> None:
        Watch._active = None
        gc.callbacks.remove(self._note_collection)
        self._timer.stop()
        self._ended.set()
        self._thread.join()
        self._clock.close()

    def _note_collection(self, phase: str, _: dict[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collected.append((now, 0.0))
        elif self._collected:
            begin = self._collected.pop()[0]
            self._collected.append((begin, (now - begin) * 1e3))

    @staticmethod
    def _audit(event: str, arguments: tuple[object, ...]) -> None:
        watch = Watch._active
        if watch is not None and event.startswith(_WAITS):
            watch._note(event, arguments)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if threading.get_ident() != self._watched:
            return
        functions = _functions(sys._getframe(2))
        ours = [code for code, _ in functions if Path(code.co_filename).is_relative_to(_ROOT)]
        if ours and Path(ours[0].co_filename).is_relative_to(_ROOT / "tests"):
            return  # the test's own wait
        self.waits[f"{event} {arguments[:1]} in {_words(functions)}"] += 1

    def _beat(self) -> None:
        last, now = self._last, self._clock.read()
        self._last = now
        wall = (now[0] - last[0]) * 1e3 - BEAT_MS
        cpu, queued = (now[1] - last[1]) * 1e3, (now[2] - last[2]) * 1e3
        self.worst_ms, self.worst_cpu_ms = max(self.worst_ms, wall), max(self.worst_cpu_ms, cpu)
        if max(wall, cpu) > LONG_MS:
            cause = self._cause(last[0], now[0])
            self.gaps.append(Gap(wall, cpu, queued, now[3] - last[3], self.doing, cause))
            self._last = self._clock.read()  # the search for the cause is not the program's time

    def _look(self) -> None:
        own, clock = threading.get_ident(), Clock()
        _, _, queued, _ = clock.read()
        while True:
            begin = time.perf_counter()
            if self._ended.wait(BEAT_MS / 1e3):
                clock.close()
                return
            # A frame that is held while its thread continues keeps a painter alive and destroys it
            # on this thread, which crashes Qt: no other thread may run meanwhile.
            interval = sys.getswitchinterval()
            sys.setswitchinterval(UNDISTURBED_S)
            frames = sys._current_frames()
            functions = _functions(frames.pop(self._watched, None))
            others = [_functions(frame) for thread, frame in frames.items() if thread != own]
            frames.clear()
            sys.setswitchinterval(interval)
            before = queued
            at, _, queued, _ = clock.read()
            late = (at - begin - (queued - before)) * 1e3 - BEAT_MS
            self._seen.append(Look(at, late, functions, others))

    def _cause(self, begin: float, end: float) -> str:
        collected = max((ms for at, ms in list(self._collected) if begin <= at <= end), default=0)
        if collected > HELD_MS:
            return f"Python collected garbage for {collected:.0f} ms"
        looks = [look for look in list(self._seen) if begin <= look.at <= end]
        if not looks:
            return "no other thread ran Python meanwhile"
        places = Counter(_words(look.functions) for look in looks)
        told = "; ".join(f"{n}/{len(looks)} {place}" for place, n in places.most_common(2))
        latest = max(looks, key=lambda look: look.late_ms)
        if latest.late_ms > HELD_MS:
            running = sorted({_words(functions) for functions in latest.others})
            told += f"; lock held for {latest.late_ms:.0f} ms, then at {' | '.join(running)}"
        return told


def _functions(frame: FrameType | None) -> Functions:
    functions = []
    while frame is not None:
        functions.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return functions


def _words(functions: Functions) -> str:
    """Name the innermost function, and our innermost functions that called it."""
    names = [
        f"{Path(code.co_filename).name}:{line} {code.co_name}"
        for code, line in functions
        if Path(code.co_filename).is_relative_to(_ROOT / "app")
    ]
    if not functions:
        return "nowhere"
    code, line = functions[0]
    inner = f"{Path(code.co_filename).name}:{line} {code.co_name}"
    if not names:
        return f"Qt ({inner})"
    return " < ".join([inner, *names[:DEPTH]] if inner != names[0] else names[:DEPTH])
