"""A virtual camera that records its frames: a backend for pyvirtualcam's own interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

NAME = "Test Camera"


class FakeBackend:
    """One opened camera.

    Attributes:
        asked: The keyword arguments of the call that opened it.
        frames: The frames sent to it, flat as backends receive them.
        closed: Set once it is closed.
    """

    def __init__(self, cameras: FakeCameras, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.frames: list[NDArray[np.uint8]] = []
        self.closed = threading.Event()
        self._cameras = cameras

    def send(self, frame: NDArray[np.uint8]) -> None:
        assert frame.ndim == 1
        assert frame.flags.c_contiguous
        self._cameras.before_send(self)
        self.frames.append(frame.copy())

    def pictures(self) -> list[NDArray[np.uint8]]:
        """Return the frames as [H, W, 3] RGB; the camera must use the automatic format."""
        height, width = self.asked["height"], self.asked["width"]
        return [frame.reshape(height, width, 3) for frame in self.frames]

    def device(self) -> str:
        return self.asked["device"] or NAME

    def native_fourcc(self) -> None:
        return None

    def close(self) -> None:
        assert not self.closed.is_set(), "a backend is closed exactly once"
        self.closed.set()


class FakeCameras:
    """The cameras of a machine.

    Attributes:
        opened: The opened cameras, in order.
        fault: The error message when opening a camera; "" if opening succeeds.
        before_send: Called with the backend just before it receives a frame.
    """

    def __init__(self) -> None:
        self.opened: list[FakeBackend] = []
        self.fault = ""
        self.before_send: Callable[[FakeBackend], object] = lambda _: None

    def open(self, **asked: Any) -> FakeBackend:
        if self.fault:
            raise RuntimeError(self.fault)
        if self.opened and not self.opened[-1].closed.is_set():
            raise RuntimeError("virtual camera is in use")
        self.opened.append(FakeBackend(self, asked))
        return self.opened[-1]


class FakeReaders:
    """The programs that read from a camera, as set by a test."""

    def __init__(self, reading: bool | None = True) -> None:
        self.reading = reading
        self.closed = False

    def close(self) -> None:
        self.closed = True


@contextmanager
def fake_cameras() -> Iterator[FakeCameras]:
    """Replace all backends of pyvirtualcam by the test's."""
    library = pytest.importorskip("pyvirtualcam")
    cameras = FakeCameras()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library.camera, "BACKENDS", {})
        library.register_backend("fake", cameras.open)
        yield cameras
