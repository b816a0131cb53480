"""The machine's audio devices through PortAudio; the only module that imports `sounddevice`.

It is imported when sound is first needed: looking for devices takes up to a second.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from app.sound.device import Fill, Heard, Listener, SoundError
from utils.text import printable
from utils.translation.texts import mark, tr

LATENCY_S = 0.1  # requested from a device and compensated: the more, the fewer gaps
MOST_LATENCY_S = 5.0  # a driver that reports more is wrong

NO_PYTHON = mark("Sound needs the package sounddevice: pip install sounddevice")
NO_LIBRARY = mark(
    "Sound needs the library PortAudio; on Debian or Ubuntu: sudo apt-get install libportaudio2"
)
NO_DEVICE = {
    "output": mark("There is no sound output device: connect one"),
    "input": mark("There is no microphone: connect one"),
}
BRIDGE = mark("{fault}, or on Debian and Ubuntu: sudo apt-get install libasound2-plugins")


class PortAudioOutput:
    """The system's playback device; it is playing once constructed.

    One of its threads calls `lost` once when it is unplugged or fails.

    Raises:
        SoundError: If there is none, or it cannot be used.
    """

    silence = ""

    def __init__(self, fill: Fill, lost: Callable[[], None]) -> None:
        self._fill, self._lost, self._closing = fill, lost, False
        self._stream, self.rate, self.channels = _opened("output", self._play, self._finished)

    def close(self) -> None:
        self._closing = True
        _close(self._stream)

    def _play(self, out: Any, _frames: int, times: Any, _status: Any) -> None:
        ahead = times.outputBufferDacTime - times.currentTime
        if not 0 < ahead < MOST_LATENCY_S:  # some drivers do not report it
            ahead = LATENCY_S
        self._fill(out, time.perf_counter() + ahead)

    def _finished(self) -> None:
        if not self._closing:
            self._lost()


class PortAudioInput:
    """The system's microphone, which is recording once constructed, each block to `listener`.

    One of its threads calls `lost` once when it is unplugged or fails.

    Raises:
        SoundError: If there is none, or it cannot be used.
    """

    def __init__(self, listener: Listener, lost: Callable[[], None]) -> None:
        self._listener, self._lost, self._closing = listener, lost, False
        self.rate = 0
        self._stream, self.rate, _ = _opened("input", self._hear, self._finished)

    def close(self) -> None:
        self._closing = True
        _close(self._stream)

    def _hear(self, block: Any, frames: int, times: Any, _status: Any) -> None:
        if not self.rate:  # the first block may come before the stream is returned
            return
        ago = times.currentTime - times.inputBufferAdcTime
        if not 0 < ago < MOST_LATENCY_S:  # some drivers do not report it
            ago = LATENCY_S + frames / self.rate
        self._listener(Heard(np.array(block, np.float32), self.rate, time.perf_counter() - ago))

    def _finished(self) -> None:
        if not self._closing:
            self._lost()


_lock = threading.Lock()
_streams: set[int] = set()  # ids of the open streams


def _opened(
    kind: str, callback: Callable[..., None], finished: Callable[[], None]
) -> tuple[Any, int, int]:
    """Open and start the default device of the kind "output" or "input".

    Return its stream, samples per second, and channels, 1 or 2. For `callback`, see sounddevice.
    The stream calls `finished` when it ends.

    Raises:
        SoundError: If there is none, or it cannot be used.
    """
    with _lock:
        sounddevice = _library()
        try:
            device = sounddevice.query_devices(kind=kind)
        except (sounddevice.PortAudioError, ValueError) as exc:
            said = tr(NO_DEVICE[kind])
            if sys.platform == "linux":
                said = tr(BRIDGE, fault=said)
            raise SoundError(said) from exc
        rate = int(device["default_samplerate"])
        channels = min(2, int(device[f"max_{kind}_channels"]))
        kinds = {"output": sounddevice.OutputStream, "input": sounddevice.InputStream}
        try:
            stream = kinds[kind](
                samplerate=rate,
                channels=channels,
                dtype="float32",
                latency=LATENCY_S,
                callback=callback,
                finished_callback=finished,
            )
            stream.start()
        except (sounddevice.PortAudioError, ValueError) as exc:
            fault = printable(str(exc))
            raise SoundError(tr("The sound device cannot be used: {fault}", fault=fault)) from exc
        _streams.add(id(stream))
        return stream, rate, channels


def _close(stream: Any) -> None:
    with _lock:
        stream.close()
        _streams.discard(id(stream))


def _library() -> Any:
    """Return the package, imported at its first use; look for devices unless one is open.

    Raises:
        SoundError: If the package or the library that it needs is missing.
    """
    known = "sounddevice" in sys.modules
    try:
        sounddevice: Any = importlib.import_module("sounddevice")
        if known and not _streams:
            sounddevice._terminate()
            sounddevice._initialize()
    except ImportError as exc:
        raise SoundError(tr(NO_PYTHON)) from exc
    except OSError as exc:
        raise SoundError(tr(NO_LIBRARY)) from exc
    return sounddevice
