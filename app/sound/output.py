"""The output for a film's sound: the machine's device, or silence that keeps its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from app.sound import portaudio
from app.sound.device import Fill, Output, SoundError
from utils.leaving import WAIT_S, BackgroundThread

RATE = 48_000
BLOCK = 1024  # samples


class SilentOutput:
    """An output that requests samples like a device and discards them.

    If no device plays, films still keep the time of their sound, and it can be recorded. `silence`
    says why nothing is heard; `rate` is in samples per second, `channels` 1 or 2.
    """

    def __init__(self, fill: Fill, silence: str, rate: int = RATE, channels: int = 2) -> None:
        self.silence, self.rate, self.channels = silence, rate, channels
        self._fill, self._closed = fill, threading.Event()
        self._thread = BackgroundThread(self._run, "silent output")
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(WAIT_S)

    def _run(self) -> None:
        out = np.zeros((BLOCK, self.channels), np.float32)
        due = time.perf_counter()
        while not self._closed.wait(max(due - time.perf_counter(), 0.0)):
            due = max(due, time.perf_counter() - 1.0)  # the machine may have slept
            self._fill(out, due)
            due += BLOCK / self.rate


def open_output(fill: Fill, lost: Callable[[], None]) -> Output:
    """Open the system's playback device, or a silent one that tells why.

    One of its threads calls `lost` once when it is unplugged or fails.
    """
    try:
        return portaudio.PortAudioOutput(fill, lost)
    except SoundError as exc:
        return SilentOutput(fill, str(exc))
