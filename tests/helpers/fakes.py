"""Stand-ins: numbered pictures and videos, a camera, a network camera, an engine."""

from __future__ import annotations

import base64
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.process_mode import ProcessMode
from app.engine.result import Comparison, LatencyStats, RunInfo, StyledFrame, Timings
from app.frame import Frame
from models.transformer_net import ALL_VARIANTS
from tests.helpers import threads
from tests.helpers.again import written_again
from utils.opencv import cv2

BITS = 12


def numbered(number: int, width: int = 160, height: int = 120) -> NDArray[np.uint8]:
    """Return a picture [height, width, 3] that encodes `number` (below 4096).

    Black and white bars in the upper half survive any codec; `number_of` reads them back. The lower
    half is a gradient, red at the left and blue at the right.
    """
    ramp = np.linspace(0, 255, width)
    picture = np.empty((height, width, 3), np.uint8)
    picture[..., 0], picture[..., 1], picture[..., 2] = 255 - ramp, 90, ramp
    for bit in range(BITS):
        left, right = bit * width // BITS, (bit + 1) * width // BITS
        picture[: height // 2, left:right] = 255 if number >> bit & 1 else 0
    return picture


def number_of(pixels: NDArray[np.uint8]) -> int:
    """Return the number in a picture made by `numbered`, at any size."""
    height, width = pixels.shape[:2]
    bars = [pixels[height // 4, int((bit + 0.5) * width / BITS)] for bit in range(BITS)]
    return sum(1 << bit for bit, color in enumerate(bars) if int(color.sum()) > 3 * 128)


@written_again
def write_video(
    path: Path,
    frames: int = 50,
    fps: float = 25.0,
    size: tuple[int, int] = (160, 120),
    codec: str = "mp4v",
) -> Path:
    """Write a video of numbered pictures, counted from 0."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, size)
    assert writer.isOpened()
    for number in range(frames):
        writer.write(numbered(number, *size)[..., ::-1].copy())
    writer.release()
    return path


@contextmanager
def no_thread_left(within: float = 3.0) -> Iterator[None]:
    """Check that threads started in the block end no more than `within` seconds after it."""
    before = threads.running()
    yield
    left = threads.stray(before, within)
    assert not left, f"still running: {', '.join(left)}"


class FakeCamera:
    """A camera that can be unplugged, slow, stubborn about its format, or broken.

    A Camera calls `open` to open the device. The attributes may change at any time.
    """

    def __init__(self, fps: float = 100.0, size: tuple[int, int] = (1280, 720)) -> None:
        self.fps = fps
        self.size: tuple[int, int] = size  # the only supported one
        self.format: str = "MJPG"  # the only supported one
        self.obeys = False  # whether it accepts a requested size
        self.exposure = -1.0  # V4L2's value for a camera without this control
        self.automatic = 3.0  # V4L2's code for automatic exposure
        self.plugged = True
        self.pictures: object = None  # delivered instead of numbered pictures
        self.hangs = threading.Event()  # while set, opening and grabbing wait
        self.opened = 0
        self.released = 0
        self.asked: list[tuple[int, float]] = []
        self.number = 0
        self.grabbed: dict[int, float] = {}  # number -> perf_counter() at the grab

    def open(self) -> FakeCapture:
        self.wait_while_hanging()
        self.opened += 1
        return FakeCapture(self)

    def wait_while_hanging(self) -> None:
        while self.hangs.is_set():
            time.sleep(0.01)


class FakeCapture:
    """One opening of a FakeCamera; answers as cv2.VideoCapture does."""

    def __init__(self, camera: FakeCamera) -> None:
        self._camera = camera
        self._next = time.perf_counter()

    def isOpened(self) -> bool:
        return self._camera.plugged

    def set(self, propId: int, value: float, /) -> bool:
        self._camera.asked.append((propId, value))
        if self._camera.obeys and propId == cv2.CAP_PROP_FRAME_WIDTH:
            self._camera.size = int(value), self._camera.size[1]
        elif self._camera.obeys and propId == cv2.CAP_PROP_FRAME_HEIGHT:
            self._camera.size = self._camera.size[0], int(value)
        elif propId == cv2.CAP_PROP_EXPOSURE:
            self._camera.exposure = value
        elif propId == cv2.CAP_PROP_AUTO_EXPOSURE:
            self._camera.automatic = value
        return True

    def get(self, propId: int, /) -> float:
        code = cv2.VideoWriter.fourcc(*self._camera.format)
        return {
            cv2.CAP_PROP_FRAME_WIDTH: self._camera.size[0],
            cv2.CAP_PROP_FRAME_HEIGHT: self._camera.size[1],
            cv2.CAP_PROP_FPS: self._camera.fps,
            cv2.CAP_PROP_FOURCC: code,
            cv2.CAP_PROP_EXPOSURE: self._camera.exposure,
            cv2.CAP_PROP_AUTO_EXPOSURE: self._camera.automatic,
        }[propId]

    def grab(self) -> bool:
        camera = self._camera
        camera.wait_while_hanging()
        self._next = max(self._next + 1 / camera.fps, time.perf_counter())
        time.sleep(max(self._next - time.perf_counter(), 0))
        camera.number = (camera.number + 1) % (1 << BITS)
        camera.grabbed[camera.number] = time.perf_counter()
        return camera.plugged

    def retrieve(self) -> tuple[bool, object]:
        pictures = self._camera.pictures
        if pictures is not None:
            return True, pictures
        return True, numbered(self._camera.number, *self._camera.size)[..., ::-1].copy()

    def release(self) -> None:
        self._camera.released += 1


class NetworkCamera:
    """A small web server on loopback that behaves like network cameras; a context manager.

    It serves /stream.mjpg, /nolength.mjpg (parts without a length), /snapshot.jpg, /page.html,
    /private.mjpg (login: me, s3cret), /garbage.mjpg (parts that are not JPEG), /moved (redirects to
    the stream), /silent (accepts, never answers), and `files` by name. Everything else is 404.
    """

    def __init__(self, port: int = 0, fps: float = 50.0, files: Path | None = None) -> None:
        self.fps = fps
        self.size: tuple[int, int] = (160, 120)
        self.files = files
        self.silent = threading.Event()  # while set, connections stay open but send nothing
        self.stopped = threading.Event()
        self.number = 0
        self.served: dict[int, float] = {}  # number -> perf_counter() when sent
        camera = self

        class Handler(_Handler):
            world = camera

        self._server = _Server(("127.0.0.1", port), Handler)
        self.port = int(self._server.server_port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def url(self, path: str, login: str = "") -> str:
        return f"http://{login}{'@' if login else ''}127.0.0.1:{self.port}/{path}"

    def __enter__(self) -> NetworkCamera:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Break every connection and free the port; may be called twice."""
        if not self.stopped.is_set():
            self.stopped.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def jpeg(self) -> bytes:
        self.number = (self.number + 1) % (1 << BITS)
        self.served[self.number] = time.perf_counter()
        good, data = cv2.imencode(".jpg", numbered(self.number, *self.size)[..., ::-1])
        assert good
        return data.tobytes()


class _Server(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = False  # closing the server waits for them


class _Handler(BaseHTTPRequestHandler):
    world: NetworkCamera

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        try:
            if name == "private.mjpg" and not self._knows_the_login():
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="camera"')
                self.end_headers()
            elif name.endswith(".mjpg"):
                self._stream(name)
            elif name == "snapshot.jpg":
                self._answer("image/jpeg", self.world.jpeg())
            elif name == "page.html":
                self._answer("text/html; charset=utf-8", b"<!doctype html><title>Camera</title>")
            elif name == "moved":
                self.send_response(302)
                self.send_header("Location", "/stream.mjpg")
                self.end_headers()
            elif name == "silent":
                self.world.stopped.wait()
            elif self.world.files is not None and (self.world.files / name).is_file():
                self._answer("video/mp4", (self.world.files / name).read_bytes())
            else:
                self.send_error(404)
        except ConnectionError:
            return  # the client closed the connection

    def _knows_the_login(self) -> bool:
        wanted = "Basic " + base64.b64encode(b"me:s3cret").decode()
        return self.headers.get("Authorization") == wanted

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, name: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", 'multipart/x-mixed-replace; boundary="--edge"')
        self.end_headers()
        due = time.perf_counter()
        while not self.world.stopped.is_set():
            if not self.world.silent.is_set():
                part = b"no picture at all" if name == "garbage.mjpg" else self.world.jpeg()
                length = "" if name == "nolength.mjpg" else f"Content-Length: {len(part)}\r\n"
                head = f"--edge\r\nContent-Type: image/jpeg\r\n{length}\r\n"
                self.wfile.write(head.encode() + part + b"\r\n")
            due = max(due + 1 / self.world.fps, time.perf_counter())
            self.world.stopped.wait(due - time.perf_counter())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class Negative:
    """An engine without a network: it returns the negative of a frame, in every config."""

    def __init__(self) -> None:
        self.config: EngineConfig | None = None

    def apart(self) -> Negative:
        return Negative()

    def configure(self, config: EngineConfig) -> None:
        self.config = config

    def begin(self, *_: object) -> None:
        """Do nothing: frames do not overlap."""

    def infer(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> Frame:
        return frame

    def finish(self, frame: Frame, newest: EngineConfig | None = None) -> StyledFrame:
        return self.process(frame)

    def finish_again(self, *_: object) -> None:
        """Return nothing: `finish` makes every result."""

    def move(self, *_: object) -> None:
        """Move no painting."""

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        config = self.config
        assert config is not None
        negative = frame.with_pixels(255 - frame.pixels)
        comparison = Comparison(
            negative, negative, "Fused", LatencyStats(80.0, 90.0), LatencyStats(50.0, 60.0),
            0.01, 90.0, "largest 0.5", True, 9, (48, 32), config.precision,
            frame_ms=(82.0, 49.0),
        )  # fmt: skip
        return StyledFrame(
            negative,
            frame,
            config,
            Timings(1.0, 1.0, 5.0, 1.0),
            (48, 32),
            RunInfo(
                ALL_VARIANTS[config.kernels].title,
                config.precision,
                "CPU",
                ("no CUDA device",),
                config.style.title(),
            ),
            comparison if config.compare else None,
        )

    def set_overhead(self, overhead_ms: float) -> None:
        pass

    def evict(self, key: str) -> None:
        pass

    def reset_history(self) -> None:
        pass

    def leave_picture(self) -> None:
        pass

    def take_picture(self) -> None:
        pass

    def compile_kernels(self, compiling: bool) -> None:
        pass

    def hold(self, held: bool) -> None:
        pass

    def time_layers(self, on: bool) -> None:
        pass

    def report_gpu_failures(self, on_failure: Callable[[str], object]) -> None:
        pass

    def try_gpu_again(self) -> None:
        pass

    def tune(self) -> None:
        pass
