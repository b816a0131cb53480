"""A line on stdin stops a command, however its process was started."""

from __future__ import annotations

import subprocess
import sys

import pytest

WAITS = """
import signal, sys, time
if sys.argv[1] == "ignored":  # as a shell without job control does in the background
    signal.signal(signal.SIGINT, signal.SIG_IGN)
from app.processes.stop_signal import interrupt_on_stdin
try:
    interrupt_on_stdin()
    print("ready", flush=True)
    for _ in range(1000):  # the interruption does not end a sleep
        time.sleep(0.01)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("before", ["default", "ignored"])
@pytest.mark.parametrize("line", ["stop\n", ""], ids=["a line", "the end"])
def test_a_command_stops_at_the_first_line_or_the_end_of_stdin(before, line):
    command = [sys.executable, "-c", WAITS, before]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write(line)
        process.stdin.close()
        assert process.stdout.read() == "stopped\n"
    assert process.returncode == 0
