"""A network camera streams, returns after a loss, and never reveals its login."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from app.errors import StyleForgeError
from app.frame import Frame, FrameSource
from app.sources import address as module
from app.sources import describe, open_source
from app.sources.address import Address, Stream, with_scheme
from app.sources.deadline import Deadline
from app.sources.grabber import FeedLost
from app.sources.video import Video
from tests.helpers.errors import refused
from tests.helpers.fakes import NetworkCamera, no_thread_left, number_of, write_video


@pytest.fixture
def camera() -> Iterator[NetworkCamera]:
    with no_thread_left(), NetworkCamera() as camera:
        yield camera


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.3)
    monkeypatch.setattr("app.sources.grabber.STALL_S", 0.2)


def wait_for(condition: Callable[[], object], seconds: float = 5.0) -> None:
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end, "it did not happen"
        time.sleep(0.005)


def next_frame(source: FrameSource, seconds: float = 3.0) -> Frame:
    frame = source.read(seconds)
    assert frame is not None
    return frame


@pytest.mark.parametrize("path", ["stream.mjpg", "nolength.mjpg", "snapshot.jpg", "moved"])
def test_frames_come_in_order(camera: NetworkCamera, path: str) -> None:
    source = open_source(camera.url(path))
    numbers = [number_of(next_frame(source).pixels) for _ in range(5)]
    assert numbers == sorted(set(numbers))
    assert (source.info.width, source.info.height) == (160, 120)
    assert source.info.title == f"127.0.0.1:{camera.port}/{path}"
    assert source.live
    assert source.status == ""
    source.close()


def test_colors_are_rgb(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    assert next_frame(source).pixels[100, 3].tolist()[0] > 200
    source.close()


def test_a_slow_reader_sees_the_newest_frame(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    ages = []
    for _ in range(5):
        time.sleep(0.2)
        number = number_of(next_frame(source).pixels)
        ages.append(time.perf_counter() - camera.served[number])
    assert np.median(ages) < 0.06  # an interval of 20 ms, on a busy machine
    assert source.dropped > 20
    source.close()


def test_the_frame_rate_is_measured(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    wait_for(lambda: next_frame(source) and source.info.fps)
    assert 25 < source.info.fps < 60
    source.close()


def test_a_change_of_resolution_is_followed(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    next_frame(source)
    camera.size = (320, 200)
    wait_for(lambda: next_frame(source).width == 320)
    assert (source.info.width, source.info.height) == (320, 200)
    source.close()


@pytest.mark.parametrize("path", ["stream.mjpg", "snapshot.jpg"])
def test_a_stream_that_breaks_off_is_taken_up_again(path: str) -> None:
    with no_thread_left(), NetworkCamera() as first:
        source = open_source(first.url(path))
        next_frame(source)
        first.stop()
        wait_for(lambda: source.status)
        assert source.status.startswith("The ")
        assert f"127.0.0.1:{first.port}/{path}" in source.status
        assert source.status.endswith("; trying again.")
        source.read(0)
        assert source.read(0.05) is None
        with NetworkCamera(first.port):
            wait_for(lambda: not source.status)
            assert next_frame(source).width == 160
            source.close()


def test_a_stream_whose_end_was_read_may_still_be_interrupted() -> None:
    with no_thread_left(), NetworkCamera() as camera:
        address = Address.parse(camera.url("stream.mjpg"))
        feed = module.connect(address, Deadline(5.0))
        feed.grab()
        camera.stop()
        with pytest.raises(FeedLost):
            any(feed.grab() for _ in range(1000))
        feed.interrupt()  # as closing does, whatever the grabbing thread has read so far
        feed.close()


def test_a_stream_that_falls_silent_is_noticed(camera: NetworkCamera, hurried: None) -> None:
    source = open_source(camera.url("stream.mjpg"))
    camera.silent.set()
    wait_for(lambda: source.status)
    start = time.perf_counter()
    source.read(0)
    source.read(0.05)
    assert time.perf_counter() - start < 0.15
    wait_for(lambda: "stopped sending" in source.status or "no picture" in source.status)
    camera.silent.clear()
    wait_for(lambda: not source.status)
    source.close()


def test_closing_does_not_wait_for_a_silent_stream(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    camera.silent.set()
    time.sleep(0.1)
    start = time.perf_counter()
    with no_thread_left(0.2):
        source.close()
    assert time.perf_counter() - start < 1.0
    assert not any(thread.name.startswith("grabber") for thread in threading.enumerate())
    source.close()


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("nothing", "the stream 127.0.0.1:PORT/nothing answered 404 Not Found"),
        ("page.html", "is a web page, not a stream"),
        ("private.mjpg", "requires a login"),
        ("silent", "did not answer within 0.3 s"),
    ],
)
def test_an_address_without_a_stream_says_what_is_there(
    camera: NetworkCamera, hurried: None, path: str, fault: str
) -> None:
    with pytest.raises(StyleForgeError) as caught:
        open_source(camera.url(path))
    assert fault.replace("PORT", str(camera.port)) in str(caught.value)


def test_garbage_instead_of_pictures_is_given_up(camera: NetworkCamera, hurried: None) -> None:
    with no_thread_left(), pytest.raises(StyleForgeError, match="sends damaged pictures"):
        open_source(camera.url("garbage.mjpg"))


@pytest.mark.parametrize("scheme", ["http", "rtsp"])
def test_a_closed_door_says_so_at_once(scheme: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.perf_counter()
    with no_thread_left(), pytest.raises(StyleForgeError, match="refused the connection"):
        open_source(f"{scheme}://127.0.0.1:{port}/live")
    assert time.perf_counter() - start < 2


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for scheme in ("http", "rtsp"):
        with refused(StyleForgeError, "unknown", host="cam.invalid"):
            open_source(f"{scheme}://cam.invalid/live")


def test_a_server_that_does_not_speak_the_protocol_is_no_stream(hurried: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = threading.Event()

        def babble() -> None:
            server.settimeout(0.05)
            while not done.is_set():
                with contextlib.suppress(OSError), server.accept()[0] as client:
                    client.settimeout(0.2)
                    client.sendall(b"220 mail.example ESMTP\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        try:
            with pytest.raises(StyleForgeError, match="HTTP response"):
                open_source(f"http://127.0.0.1:{port}/live")
            with pytest.raises(StyleForgeError, match="cannot be played"):
                open_source(f"rtsp://127.0.0.1:{port}/live")
        finally:
            done.set()
            thread.join()


def test_a_login_opens_the_door_and_appears_nowhere(camera: NetworkCamera) -> None:
    url = camera.url("private.mjpg", login="me:s3cret")
    source = open_source(url)
    next_frame(source)
    camera.stop()
    wait_for(lambda: source.status)
    shown = [source.info.title, source.info.note, source.status, describe(url)]
    source.close()
    with pytest.raises(StyleForgeError) as caught:
        open_source(url)
    shown.append(str(caught.value))
    assert not [text for text in shown if "s3cret" in text or "me:" in text or "me@" in text]
    assert "s3cret" not in repr(Address.parse(url))


def test_a_wrong_login_is_told_from_a_missing_one(camera: NetworkCamera) -> None:
    with pytest.raises(StyleForgeError, match="refused the login"):
        open_source(camera.url("private.mjpg", login="me:wrong"))


def test_a_login_with_odd_letters_survives() -> None:
    address = Address.parse("rtsp://us%40er:p%3Ass%2F@[::1]:8554/live?x=1")
    assert (address.user, address.password) == ("us@er", "p:ss/")
    assert address.url == "rtsp://[::1]:8554/live?x=1"
    assert address.with_login == "rtsp://us%40er:p%3Ass%2F@[::1]:8554/live?x=1"
    assert address.title == "[::1]:8554/live"


def test_a_video_file_behind_an_address_plays_as_a_video(tmp_path: Path) -> None:
    write_video(tmp_path / "film.mp4", 30, 50)
    with no_thread_left(), NetworkCamera(files=tmp_path) as camera:
        source = open_source(camera.url("film.mp4"))
        assert isinstance(source, Video)
        assert source.info.duration == pytest.approx(0.6)
        assert number_of(next_frame(source).pixels) == 0
        source.close()


def test_a_pause_holds_a_live_stream(camera: NetworkCamera) -> None:
    source = open_source(camera.url("stream.mjpg"))
    assert isinstance(source, Stream)
    next_frame(source)
    source.pause(True)
    assert source.read(0.1) is None
    source.pause(False)
    number = number_of(next_frame(source).pixels)
    assert time.perf_counter() - camera.served[number] < 0.1
    source.close()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("camera.local/video", "http://camera.local/video"),
        ("http:/camera.local", "http://camera.local"),
        ("RTSP:camera.local/live", "RTSP://camera.local/live"),
        ("http://camera.local", "http://camera.local"),
        ("htp://camera.local", "htp://camera.local"),
    ],
)
def test_an_address_typed_carelessly_is_understood(typed: str, meant: str) -> None:
    assert with_scheme(typed) == meant


def test_letters_no_address_may_hold_are_escaped() -> None:
    address = Address.parse("http://camera.local/k\u00e4se stream?a=b&c=%20")
    assert address.url == "http://camera.local/k%C3%A4se%20stream?a=b&c=%20"
