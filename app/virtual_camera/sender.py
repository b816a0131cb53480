"""A thread that sends pictures to a virtual camera at its rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from app.virtual_camera.choice import CameraChoice
from app.virtual_camera.device import open_camera, readers_of
from app.virtual_camera.fitting import Pixels, fitted, fitting_text
from app.virtual_camera.formats import FORMATS
from utils.leaving import WAIT_S, BackgroundThread
from utils.translation.texts import tr

GRACE_S = 2.0  # without a reader before sending pauses; a program may open a camera twice
WAKE_S = 0.1  # between checks for a reader while paused


class State(Enum):
    """The state of a virtual camera."""

    SENDING = "sending"
    PAUSED = "paused"  # while no program reads it
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """The status of a virtual camera; str() returns it as a clause.

    `fitting` is how pictures are fitted, "" if they have its size; `fault` is why it failed.
    """

    state: State
    device: str
    choice: CameraChoice
    fitting: str = ""
    fault: str = ""

    def __str__(self) -> str:
        if self.state is State.FAILED:
            return tr("{device} failed: {fault}", device=self.device, fault=self.fault)
        if self.state is State.PAUSED:
            return tr("paused, since no program reads {device}", device=self.device)
        said = tr(
            "{device}, {size}, {rate} fps",
            device=self.device,
            size=self.choice.size,
            rate=self.choice.rate,
        )
        return f"{said}; {self.fitting}" if self.fitting else said


class VirtualCamera:
    """A camera that shows the newest picture repeatedly at its rate; first a black one.

    Open once constructed. It sends nothing while no program reads, if that is known. A camera that
    fails is closed. Its thread calls `changed` with every new status; it must not call `close`.

    Raises:
        VirtualCameraError: If the camera cannot be opened.
    """

    def __init__(
        self, choice: CameraChoice, changed: Callable[[CameraStatus], object] = lambda _: None
    ) -> None:
        self.choice = choice
        self._changed = changed
        self._camera = open_camera(choice)
        self._readers = None if choice.always else readers_of(self._camera)
        self._status = CameraStatus(State.SENDING, self._camera.device, choice)
        self._lock = threading.Lock()
        self._newest: Pixels | None = np.zeros((choice.height, choice.width, 3), np.uint8)
        self._fitting = ""
        self._sent = 0
        self._stopped = threading.Event()
        self._thread = BackgroundThread(self._run, "virtual camera")
        self._thread.start()

    @property
    def status(self) -> CameraStatus:
        return self._status

    @property
    def sent(self) -> int:
        """How many pictures were sent, including repeated ones."""
        return self._sent

    def show(self, pixels: Pixels) -> None:
        """Show a picture, [H, W, 3] uint8 RGB, replacing one not sent yet; does not wait.

        It is not copied, so the caller must not write to it afterwards.
        """
        with self._lock:
            self._newest = pixels

    def close(self) -> None:
        """Stop and release the camera; may be called twice."""
        self._stopped.set()
        self._thread.join(WAIT_S)

    def _run(self) -> None:
        interval = 1 / self.choice.rate
        due = self._read_at = time.perf_counter()
        picture = self._next_picture()
        assert picture is not None
        self._changed(self._status)
        try:
            while not self._stopped.wait(max(0.0, due - time.perf_counter())):
                now = time.perf_counter()
                if self._nobody_reads(now):
                    self._tell(State.PAUSED)
                    due = now + WAKE_S
                    continue
                if (newer := self._next_picture()) is not None:
                    picture = newer
                self._tell(State.SENDING)
                self._camera.send(picture)
                self._sent += 1
                # Missed pictures are not made up for.
                due = max(due + interval, time.perf_counter())
        except (RuntimeError, ValueError, OSError) as exc:
            self._tell(State.FAILED, str(exc))
        finally:
            if self._readers is not None:
                self._readers.close()
            self._camera.close()

    def _nobody_reads(self, now: float) -> bool:
        """Return whether no program has read for a while; False if that is unknown."""
        if self._readers is None or self._readers.reading is not False:
            self._read_at = now
            return False
        return now - self._read_at >= GRACE_S

    def _next_picture(self) -> Pixels | None:
        """Return the newest picture in the camera's format; None if it was already sent."""
        with self._lock:
            pixels, self._newest = self._newest, None
        if pixels is None:
            return None
        width, height, fit = self.choice.width, self.choice.height, self.choice.fit
        rows, columns = pixels.shape[:2]
        self._fitting = fitting_text(columns, rows, width, height, fit)
        return FORMATS[self.choice.format].convert(fitted(pixels, width, height, fit))

    def _tell(self, state: State, fault: str = "") -> None:
        device = self._status.device
        status = CameraStatus(state, device, self.choice, self._fitting, fault)
        if status != self._status:
            self._status = status
            self._changed(status)
