"""Virtual X screens, bare or with a window manager."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def virtual_screen(width: int, height: int) -> Iterator[dict[str, str]]:
    """Yield the environment for a process that opens windows on a virtual X screen."""
    read, write = os.pipe()
    size = f"{width}x{height}x24"
    server = subprocess.Popen(
        [_program("Xvfb"), "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()
        environment = {k: v for k, v in os.environ.items() if k != "WAYLAND_DISPLAY"}
        yield environment | {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
    finally:
        server.terminate()
        server.wait()


@contextmanager
def managed_screen(width: int, height: int, folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment for a screen with Openbox, without any user settings.

    `folder` must be empty; the manager writes its files there.
    """
    ready = folder / "ready"
    os.mkfifo(ready)
    with virtual_screen(width, height) as environment:
        manager = subprocess.Popen(
            [_program("openbox"), "--sm-disable", "--startup", f"cp /dev/null {ready}"],
            env=environment | {"XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            ready.read_bytes()  # the pipe ends when the manager has started
            yield environment
        finally:
            manager.terminate()
            manager.wait()


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed; `make test` installs it on Debian as root")
    return found
