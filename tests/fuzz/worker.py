"""The process that lets the program read one case after another, under limits, and judges it."""

from __future__ import annotations

import faulthandler
import os
import random
import re
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from app.errors import StyleForgeError
from models.checkpoints import CheckpointError
from models.training.errors import TrainingError
from tests.fuzz.case import MARKER, Broken, Target
from tests.fuzz.judging import fault
from utils.images.opening import ImageError

OWN_ERRORS = (StyleForgeError, CheckpointError, ImageError, TrainingError)
MADE = "made"  # sent when a case is in its folder, before the program reads it
# Messages that libtiff in Pillow, and libjpeg and libpng in OpenCV, always write to the terminal.
# libtiff's begin with the name of a function or of the file.
CHATTER = re.compile(
    r"^([A-Z_]\w+|tempfile\.tif|libpng (warning|error)|Corrupt JPEG data): .*\.?\n"
    r"|^(Apparently should be \d+,\d+\.+|Premature end of JPEG file"
    r"|Invalid SOS parameters for sequential JPEG)\n",
    re.MULTILINE,
)
LONGEST = 20_000  # characters in an outcome's details
HANGING = signal.SIGUSR1  # requests the stacks of all threads in the log


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended.

    `finding` is empty if all is well, else a word or two. `details` is for a person; findings with
    the same `cause` are the same fault.
    """

    finding: str = ""
    details: str = ""
    cause: str = ""
    refused: bool = False  # as expected, with a sentence


def work(target: Target, seed: int, pipe: Connection, log: Path) -> None:
    """Receive pairs (number, folder) from `pipe` until it closes; send MADE and an Outcome each.

    Printed output goes to `log` and is a finding.
    """
    os.setsid()  # allows killing it together with its child processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine handles Ctrl+C
    with log.open("wb", buffering=0) as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    for name in ("CONFIG", "DATA", "STATE"):  # protects the user's files
        os.environ[f"XDG_{name}_HOME"] = str(log.with_name(f"home-{name.lower()}"))
    faulthandler.enable()
    faulthandler.register(HANGING)
    # every time, not only once; ignored warnings stay ignored
    warnings.simplefilter("always", append=True)
    torch.set_num_threads(1)
    target.prepare()
    _limit_memory(2 * target.memory)
    while True:
        try:
            number, folder = pipe.recv()
        except EOFError:
            return
        pipe.send(_one(target, f"{target.name}/{seed}/{number}", Path(folder), pipe, log))


def _one(target: Target, seed: str, folder: Path, pipe: Connection, log: Path) -> Outcome:
    folder.mkdir(parents=True)
    os.chdir(folder)
    case = target.make(random.Random(seed))
    case.lay(folder)
    os.ftruncate(2, 0)
    os.lseek(2, 0, os.SEEK_SET)
    pipe.send(MADE)
    threads = set(threading.enumerate())
    _begin_peak()
    before, start = _memory("VmRSS"), time.monotonic()
    try:
        said = list(target.run(folder))
    except OWN_ERRORS as exc:
        said = [str(exc)]
    except Broken as exc:
        return Outcome("wrong", str(exc), _without_figures(str(exc)))
    except Exception as exc:  # noqa: BLE001  (whatever else comes is what is looked for)
        return Outcome("exception", traceback.format_exc()[:LONGEST], _place(exc))
    if (folder / MARKER).exists():
        return Outcome("code", "code of the file was run", "code")
    for sentence in said:
        if why := fault(sentence, case.named):
            cause = f"{_without_figures(why)}: {_without_figures(sentence)[:25]}"
            return Outcome("message", f"{why}: {sentence[:2000]!a}", cause)
    if left := _left(threads, start + 0.9 * target.seconds):
        return Outcome("threads", f"still running: {left}", left)
    sys.stdout.flush()
    sys.stderr.flush()
    if printed := CHATTER.sub("", log.read_text("utf-8", "replace")):
        return Outcome("printed", printed[:LONGEST], _without_figures(printed)[:200])
    if (taken := _memory("VmHWM") - before) > target.memory:
        return Outcome("memory", f"{taken >> 20} MB were taken", "memory")
    os.chdir("/")
    shutil.rmtree(folder)
    return Outcome(refused=bool(said))


def _left(before: set[threading.Thread], until: float) -> str:
    """Return the names of threads started since `before` that still run at the time `until`."""

    def begun() -> list[threading.Thread]:
        threads = set(threading.enumerate()) - before
        # Qt's own threads stay in their pool; Python sees them as dummies.
        return [t for t in threads if not isinstance(t, threading._DummyThread)]

    for thread in begun():
        thread.join(max(until - time.monotonic(), 0.01))
    return ", ".join(sorted(thread.name for thread in begun()))


def _place(exc: BaseException) -> str:
    """Return the type of an exception and where it was raised."""
    frames = traceback.extract_tb(exc.__traceback__)
    others = ("/tests/", "/site-packages/")
    ours = [frame for frame in frames if not any(part in frame.filename for part in others)]
    last = (ours or frames)[-1]
    return f"{type(exc).__name__} in {Path(last.filename).name}:{last.name}"


def _without_figures(text: str) -> str:
    """Remove the parts of `text` that differ from case to case."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|\d+|\S*/\S*", "_", text[:1000])


def _limit_memory(more: int) -> None:
    """Limit this process to `more` bytes of further mappings; without /proc there is no limit."""
    if size := _memory("VmSize"):
        resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _begin_peak() -> None:
    """Reset the peak memory, VmHWM."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    """Return a value from /proc/self/status in bytes; 0 if it does not exist."""
    if sys.platform != "linux":
        return 0
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) << 10 if found else 0
