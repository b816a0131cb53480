"""Runs a command with a time limit, and ends it with all its descendants."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernels.jit.errors import BuildError, CachedFailure

TIME_LIMIT = 300.0  # seconds for one build; the network's images took 63 on two cores

_children: set[subprocess.Popen[bytes]] = set()
_stopped = threading.Event()


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, logfile: Path) -> int:
    """Run a command in `folder`, with its output in `logfile`, and return its exit code.

    Raises:
        CachedFailure: If the command takes longer than TIME_LIMIT seconds.
        BuildError: If `stop` was called.
    """
    with logfile.open("wb") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that the compiler ends with its parent
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        _children.add(child)
        try:
            if _stopped.is_set():
                raise BuildError("stopped, because the program is closing")
            code = child.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise CachedFailure(f"build took longer than {TIME_LIMIT:.0f} seconds") from error
        finally:
            _children.discard(child)
            _kill(child)
    if _stopped.is_set():
        raise BuildError("stopped, because the program is closing")
    return code


def stop() -> None:
    """End running builds and allow no others, because the program is closing."""
    _stopped.set()
    for child in tuple(_children):
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        if sys.platform == "win32":
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(child.pid)], capture_output=True, check=False
            )
        else:
            _kill_group(child)
    child.wait()


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    # SIGTERM first: a process that exits on it removes its temporary files.
    try:
        os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            child.poll()  # otherwise an ended process stays in the group
            os.killpg(child.pid, 0)
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all gone
