"""The program's interface to audio devices, which request samples or deliver them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import StyleForgeError

Samples = NDArray[np.float32]  # [samples, channels], -1 to 1


class SoundError(StyleForgeError):
    """Raised if there is no audio device, or it cannot be used; the message tells what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """A piece of sound.

    Attributes:
        samples: [samples, channels], -1 to 1; never written to again.
        rate: Samples per second.
        at: When its first sample is heard, as `time.perf_counter()`.
    """

    samples: Samples
    rate: int
    at: float


# Fills [samples, channels] that are heard from the given `time.perf_counter()` on. Called on the
# device's thread, which must not wait.
Fill = Callable[[Samples, float], None]
Listener = Callable[[Heard], None]  # called on the device's thread, which must not wait


class Output(Protocol):
    """An open device that plays 1 or 2 channels at `rate` samples per second.

    `silence` is why nothing is heard, as a sentence; "" for a real device.
    """

    rate: int
    channels: int
    silence: str

    def close(self) -> None:
        """Close it; it requests no samples after that."""
        ...


class Input(Protocol):
    """An open microphone."""

    def close(self) -> None:
        """Close it; it delivers nothing after that."""
        ...
