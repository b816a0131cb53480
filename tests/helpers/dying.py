"""Runs the program and kills it just before a chosen file operation.

`python -m tests.helpers.dying FOLDER MARK N train ...` runs `python -m app train ...` until its
N-th operation (opening for writing, renaming, linking, deleting) under FOLDER, counted from the
first one on a path that contains MARK.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.chmod")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def die_at(folder: str, mark: str, number: int) -> None:
    """Kill this process at that operation with SIGKILL, so that nothing is cleaned up."""
    done = 0

    def hear(event: str, args: tuple[Any, ...]) -> None:
        nonlocal done
        if event == "open":
            if not (isinstance(args[2], int) and args[2] & WRITES):
                return
        elif event not in CHANGES:
            return
        path = os.fspath(args[0]) if isinstance(args[0], str | os.PathLike) else ""
        if str(path).startswith(folder) and (done or mark in str(path)):
            done += 1
            if done == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


if __name__ == "__main__":
    die_at(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    from app.cli import main

    sys.exit(main(sys.argv[4:]))
