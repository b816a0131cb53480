"""A camera delivers its newest picture, reports its real mode, and returns when replugged."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from app.errors import StyleForgeError
from app.frame import Frame
from app.sources import camera, open_source
from app.sources.camera import Camera, CameraName, Mode, find_camera, list_cameras, parse_spec
from app.sources.grabber import FeedLost
from tests.helpers.errors import mentions, refused
from tests.helpers.fakes import FakeCamera, no_thread_left, number_of
from utils.opencv import cv2

SMALL = (160, 120)


@pytest.fixture
def device() -> FakeCamera:
    return FakeCamera(size=SMALL)


@pytest.fixture
def source(device: FakeCamera) -> Iterator[Camera]:
    with no_thread_left():
        source = Camera("Eye", Mode(*SMALL, fps=100), device.open)
        yield source
        device.hangs.clear()
        source.close()


def wait_for(condition: Callable[[], object], seconds: float = 3.0) -> None:
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end, "it did not happen"
        time.sleep(0.005)


def next_frame(source: Camera, seconds: float = 2.0) -> Frame:
    frame = source.read(seconds)
    assert frame is not None
    return frame


def test_frames_come_in_order_and_are_read_only(source: Camera) -> None:
    frames = [next_frame(source) for _ in range(5)]
    numbers = [number_of(frame.pixels) for frame in frames]
    assert numbers == sorted(set(numbers))
    assert [f.index for f in frames] == sorted({f.index for f in frames})
    assert not frames[0].pixels.flags.writeable
    assert all(frame.read_ms > 0 for frame in frames)


def test_colors_are_rgb(source: Camera) -> None:
    lower = next_frame(source).pixels[100]
    assert lower[0, 0] > 200 > lower[0, 2]
    assert lower[-1, 2] > 200 > lower[-1, 0]


def test_a_slow_reader_sees_the_newest_frame(source: Camera, device: FakeCamera) -> None:
    ages = []
    for _ in range(5):
        time.sleep(0.2)
        frame = next_frame(source)
        ages.append(time.perf_counter() - device.grabbed[number_of(frame.pixels)])
    assert np.median(ages) < 0.05  # a few intervals of 10 ms on a busy machine
    assert source.dropped > 50


def test_a_read_never_exceeds_its_timeout(source: Camera, device: FakeCamera) -> None:
    device.hangs.set()
    time.sleep(0.05)  # for the frame in flight
    source.read(0)
    for timeout in (0.0, 0.02, 0.1):
        start = time.perf_counter()
        assert source.read(timeout) is None
        assert time.perf_counter() - start < timeout + 0.05


def test_it_asks_for_mjpg_before_the_size() -> None:
    device = FakeCamera(size=(1280, 720), fps=200)
    source = Camera("Eye", Mode(), device.open)
    source.close()
    assert device.asked == [
        (cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG")),
        (cv2.CAP_PROP_FRAME_WIDTH, 1280),
        (cv2.CAP_PROP_FRAME_HEIGHT, 720),
        (cv2.CAP_PROP_FPS, 30.0),
    ]
    assert source.info.note == ""


def test_it_says_what_it_really_got() -> None:
    device = FakeCamera(fps=10, size=SMALL)
    device.format = "YUYV"
    source = Camera("Eye", Mode(), device.open)
    assert (source.info.width, source.info.height, source.info.fps) == (*SMALL, 10)
    assert mentions(source.info.note, "1280x720 MJPG at 30 fps", "160x120 YUYV at 10 fps")
    source.close()


def test_the_frame_rate_is_measured_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeCamera(fps=50, size=SMALL)
    source = Camera("Eye", Mode(*SMALL, fps=100), device.open)
    asked, _ = source._mode
    monkeypatch.setattr(source, "_mode", (asked, Mode(*SMALL, fps=100.0)))
    while source.info.fps in (50, 100):
        next_frame(source)
    assert 30 < source.info.fps < 60
    assert mentions(source.info.note, "100 fps", "160x120")
    source.close()


def test_unplugging_is_noticed_and_replugging_is_too(source: Camera, device: FakeCamera) -> None:
    next_frame(source)
    device.plugged = False
    wait_for(lambda: source.status)
    assert source.status.startswith("The camera 'Eye' ")
    assert "waiting for it" in source.status
    source.read(0)
    assert source.read(0.02) is None
    device.plugged = True
    wait_for(lambda: not source.status)
    assert next_frame(source).pixels.shape == (120, 160, 3)
    wait_for(lambda: device.released == device.opened - 1)


def test_a_camera_that_falls_silent_is_noticed(
    source: Camera, device: FakeCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.sources.grabber.STALL_S", 0.2)
    device.hangs.set()
    wait_for(lambda: source.status)
    assert mentions(source.status, "Eye", "waiting for it")
    device.hangs.clear()
    wait_for(lambda: not source.status)


def test_a_pause_delivers_nothing_and_counts_nothing(source: Camera, device: FakeCamera) -> None:
    next_frame(source)
    source.pause(True)
    dropped = source.dropped
    assert source.read(0.15) is None
    assert source.dropped == dropped
    source.pause(False)
    assert time.perf_counter() - device.grabbed[number_of(next_frame(source).pixels)] < 0.1


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        np.zeros((0, 0, 3), np.uint8),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros(12, np.uint8),
        "no array",
    ],
)
def test_damaged_pictures_are_left_out(garbage: object, device: FakeCamera) -> None:
    source = Camera("Eye", Mode(*SMALL, fps=100), device.open)
    device.pictures = np.zeros((2, 2), np.uint8) if garbage is None else garbage
    if garbage is None:  # gray is a valid picture
        wait_for(lambda: next_frame(source).pixels.shape == (2, 2, 3))
    else:
        time.sleep(0.05)
        source.read(0)
        assert source.read(0.05) is None
    device.pictures = None
    wait_for(lambda: next_frame(source).pixels.shape == (120, 160, 3))
    source.close()


def test_a_change_of_resolution_is_followed(source: Camera, device: FakeCamera) -> None:
    device.size = (80, 60)
    wait_for(lambda: next_frame(source).width == 80)
    assert (source.info.width, source.info.height) == (80, 60)


def test_a_driver_that_hangs_is_left_behind_with_a_sentence(device: FakeCamera) -> None:
    device.hangs.set()
    with no_thread_left():
        start = time.perf_counter()
        with pytest.raises(StyleForgeError, match=r"'Eye' .*0\.2 s"):
            Camera("Eye", Mode(), device.open, open_timeout=0.2)
        assert time.perf_counter() - start < 1.0
        device.hangs.clear()  # the driver returns, and its device is released
    wait_for(lambda: device.opened == device.released == 1)


def test_a_camera_in_use_elsewhere_says_so(device: FakeCamera) -> None:
    device.plugged = False
    with no_thread_left(), pytest.raises(StyleForgeError, match="another program"):
        Camera("Eye", Mode(), device.open)


def test_closing_twice_and_reading_after_it_are_harmless(source: Camera) -> None:
    source.close()
    source.close()
    source.read(0)
    assert source.read(0.01) is None


@pytest.mark.full
def test_memory_does_not_grow_over_three_thousand_frames() -> None:
    device = FakeCamera(fps=100_000, size=(64, 48))
    source = Camera("Eye", Mode(64, 48, 100_000), device.open)
    wait_for(lambda: next_frame(source).index > 200)
    device.grabbed.clear()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    wait_for(lambda: next_frame(source).index > 3300, 20)
    device.grabbed.clear()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    source.close()
    assert grown < 1_000_000


CAMERAS = (CameraName(0, "Front"), CameraName(2, "Back"), CameraName(4, "Back (2)"))


@pytest.mark.parametrize(
    "spec",
    ["camera:two\nlines", f"camera:0@{'9' * 5000}x1", f"camera:0@{'9' * 5000}", "camera:\x1b[2J"],
)
def test_a_camera_asked_for_in_no_possible_way_is_refused_in_one_line(spec: str) -> None:
    which, mode = parse_spec(spec)
    assert mode == Mode()
    with pytest.raises(StyleForgeError, match="there is no camera") as caught:
        find_camera(which, CAMERAS)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_camera_is_found_by_index_and_by_name() -> None:
    assert find_camera("2", CAMERAS).name == "Back"
    assert find_camera("Back (2)", CAMERAS).index == 4
    assert find_camera("", CAMERAS).index == 0


def test_a_camera_that_is_not_there_is_named_with_those_that_are() -> None:
    with refused(StyleForgeError, "7", "0 (Front), 2 (Back)"):
        find_camera("7", CAMERAS)
    with pytest.raises(StyleForgeError, match="no camera 0"):
        find_camera("0", ())


def test_equal_names_are_numbered_and_absent_ones_invented() -> None:
    assert camera._unique({2: "Back", 0: "Front", 4: "Back", 6: ""}, 0) == (
        *CAMERAS,
        CameraName(6, "Camera 6"),
    )


def test_a_replugged_camera_is_found_by_its_name_at_another_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []
    monkeypatch.setattr(camera, "list_cameras", lambda: CAMERAS)
    monkeypatch.setattr(camera.cv2, "VideoCapture", lambda index, backend: tried.append(index))
    camera._capture(CameraName(1, "Back"))
    assert tried == [2]
    with refused(FeedLost, "unplugged", name="Side"):
        camera._capture(CameraName(1, "Side"))


@pytest.mark.parametrize(
    ("spec", "index", "mode"),
    [
        ("camera:2", 2, Mode()),
        ("camera:", 0, Mode()),
        ("camera:Back (2)@640x480", 4, Mode(640, 480)),
        ("camera:0@1920x1080@60", 0, Mode(1920, 1080, 60)),
        ("camera:0@15", 0, Mode(fps=15)),
    ],
)
def test_a_spec_names_camera_size_and_rate(
    spec: str, index: int, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = FakeCamera(size=SMALL)
    opened = []
    monkeypatch.setattr(camera, "list_cameras", lambda: CAMERAS)
    monkeypatch.setattr(
        camera, "_capture", lambda found: (opened.append(found.index), device.open())[1]
    )
    source = open_source(spec)
    source.close()
    assert opened == [index]
    asked = dict(device.asked)
    assert asked[cv2.CAP_PROP_FRAME_WIDTH] == mode.width
    assert asked[cv2.CAP_PROP_FRAME_HEIGHT] == mode.height
    assert asked[cv2.CAP_PROP_FPS] == mode.fps


def test_listing_the_cameras_of_this_machine_works() -> None:
    assert all(isinstance(found, CameraName) and found.name for found in list_cameras())
