"""A process ends with its own status even if a thread of ours is still in C++."""

from __future__ import annotations

import subprocess
import sys

import pytest

HANGING = """
import sys, time, torch
from utils import leaving
leaving.WAIT_S = 0.2
x, w = torch.randn(1, 32, 200, 200), torch.randn(32, 32, 3, 3)
def work():
    while True:
        torch.nn.functional.conv2d(x, w)
leaving.BackgroundThread(work, "busy").start()
time.sleep(0.3)
print("said")
sys.exit(leaving.record_status(3))
"""


@pytest.mark.full
def test_a_thread_that_does_not_end_is_left_behind_without_an_abort():
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "said\n", "")


def test_a_thread_that_ends_soon_is_waited_for():
    text = "import time\nfrom utils.leaving import BackgroundThread\n"
    text += "BackgroundThread(lambda: (time.sleep(0.5), print('done')), 'short').start()\n"
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
