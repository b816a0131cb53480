"""The machine's devices for sound, through PortAudio; the only module that imports `sounddevice`.

It is imported when sound is first wanted: looking for devices takes up to a second.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from app.sound.device import Fill, Heard, Listener, SoundError
from utils.text import printable

LATENCY_S = 0.1  # of a device, which is told and counted in: the more, the fewer gaps
MOST_LATENCY_S = 5.0  # what a driver tells beyond that is wrong

NO_PYTHON = "Sound needs the package sounddevice: pip install sounddevice"
NO_LIBRARY = (
    "Sound needs the library PortAudio; on Debian or Ubuntu: sudo apt-get install libportaudio2"
)
NO_DEVICE = "There is no {what}: connect one"
BRIDGE = ", or on Debian and Ubuntu: sudo apt-get install libasound2-plugins"


class PortAudioOutput:
    """The device that the system plays sound on; it is playing once constructed.

    Args:
        fill: Fills its blocks.
        lost: Called once on a thread of the device's when it is unplugged or fails.

    Raises:
        SoundError: There is none, or it cannot be used.
    """

    silence = ""

    def __init__(self, fill: Fill, lost: Callable[[], None]) -> None:
        sounddevice = _library()
        self._fill, self._lost, self._closing = fill, lost, False
        about = _default(sounddevice, "output")
        self.rate = int(about["default_samplerate"])
        self.channels = min(2, int(about["max_output_channels"]))
        self._stream: Any = _started(
            sounddevice,
            sounddevice.OutputStream,
            samplerate=self.rate,
            channels=self.channels,
            callback=self._play,
            finished_callback=self._finished,
        )

    def close(self) -> None:
        """End it."""
        self._closing = True
        self._stream.close()

    def _play(self, out: Any, _frames: int, times: Any, _status: Any) -> None:
        ahead = times.outputBufferDacTime - times.currentTime
        if not 0 < ahead < MOST_LATENCY_S:  # some drivers do not tell
            ahead = LATENCY_S
        self._fill(out, time.perf_counter() + ahead)

    def _finished(self) -> None:
        if not self._closing:
            self._lost()


class PortAudioInput:
    """The microphone that the system hears with; it hears once constructed.

    Args:
        listener: Called with every block.
        lost: Called once on a thread of the device's when it is unplugged or fails.

    Raises:
        SoundError: There is none, or it cannot be used.
    """

    def __init__(self, listener: Listener, lost: Callable[[], None]) -> None:
        sounddevice = _library()
        self._listener, self._lost, self._closing = listener, lost, False
        about = _default(sounddevice, "input")
        self.rate = int(about["default_samplerate"])
        self._stream: Any = _started(
            sounddevice,
            sounddevice.InputStream,
            samplerate=self.rate,
            channels=min(2, int(about["max_input_channels"])),
            callback=self._hear,
            finished_callback=self._finished,
        )

    def close(self) -> None:
        """End it."""
        self._closing = True
        self._stream.close()

    def _hear(self, block: Any, frames: int, times: Any, _status: Any) -> None:
        ago = times.currentTime - times.inputBufferAdcTime
        if not 0 < ago < MOST_LATENCY_S:  # some drivers do not tell
            ago = LATENCY_S + frames / self.rate
        self._listener(Heard(np.array(block, np.float32), self.rate, time.perf_counter() - ago))

    def _finished(self) -> None:
        if not self._closing:
            self._lost()


def _library() -> Any:
    """The package, imported when it is first used.

    Raises:
        SoundError: It, or the library that it needs, is not there.
    """
    try:
        return importlib.import_module("sounddevice")
    except ImportError as exc:
        raise SoundError(NO_PYTHON) from exc
    except OSError as exc:
        raise SoundError(NO_LIBRARY) from exc


def _default(sounddevice: Any, kind: str) -> Any:
    """What is known of the default device, as `sounddevice.query_devices` has it.

    Raises:
        SoundError: There is none.
    """
    try:
        return sounddevice.query_devices(kind=kind)
    except (sounddevice.PortAudioError, ValueError) as exc:
        what = "device that plays sound" if kind == "output" else "microphone"
        hint = BRIDGE if sys.platform == "linux" else ""
        raise SoundError(NO_DEVICE.format(what=what) + hint) from exc


def _started(sounddevice: Any, stream: Callable[..., Any], **options: Any) -> Any:
    try:
        made = stream(dtype="float32", latency=LATENCY_S, **options)
        made.start()
    except (sounddevice.PortAudioError, ValueError) as exc:
        fault = printable(str(exc))
        raise SoundError(f"The device for sound cannot be used: {fault}") from exc
    return made
