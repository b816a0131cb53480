"""`styleforge camera` styles a stream for other programs until it is stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from app.commands.camera import stream
from app.commands.camera.reporters import make_reporter
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import ADVICE
from app.frame import Frame
from app.sources import open_source
from app.sources.camera import CameraName
from app.styles.catalog import Catalog
from app.virtual_camera import sender
from tests.app.commands.conftest import STYLE
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.fakes import number_of, write_video
from tests.helpers.virtual_cameras import NAME, FakeBackend, FakeCameras, FakeReaders, fake_cameras
from utils.images.writing import write_pixels
from utils.opencv import cv2

ROOT = Path(__file__).resolve().parents[3]
SIZE = (160, 120)
LOOK = ("--network-size", "64", "--network", "full", "--texture", "0", "--device", "cpu")


@pytest.fixture
def cameras() -> Iterator[FakeCameras]:
    with fake_cameras() as cameras:
        yield cameras


@pytest.fixture
def film(tmp_path) -> Path:
    return write_video(tmp_path / "film.mp4", frames=12, size=SIZE)


def different(device: FakeBackend) -> list[np.ndarray]:
    """Return each distinct picture sent to the camera, without the black ones before the first."""
    sent = {frame.tobytes(): frame for frame in device.pictures() if frame.any()}
    return list(sent.values())


def stop_once(cameras: FakeCameras, done: Callable[[FakeBackend], bool]) -> None:
    """Press Ctrl+C once `done` accepts the device."""
    stopped = False

    def look(device: FakeBackend) -> None:
        nonlocal stopped
        if not stopped and done(device):
            stopped = True
            signal.raise_signal(signal.SIGINT)

    cameras.before_send = look


def camera(source: object, *arguments: object, style: str = STYLE) -> int:
    given = ["--source", source, "--style", style, "--size", "160x120", *LOOK, *arguments]
    return main(["camera", *map(str, given)])


def styled_frames(film: Path, **config: object) -> set[bytes]:
    engine = Engine(Catalog.default())
    chosen = {"style": STYLE, "size": 64, "network": "full", "texture": 0.0, "device": "cpu"}
    engine.configure(EngineConfig(**chosen | config))  # type: ignore[arg-type]
    video = cv2.VideoCapture(str(film))
    made: set[bytes] = set()
    while (read := video.read())[0]:
        pixels = np.ascontiguousarray(np.asarray(read[1], np.uint8)[..., ::-1])
        made.add(engine.process(Frame(pixels)).frame.pixels.tobytes())
    return made


def test_the_camera_gets_what_the_engine_makes_of_the_frames(style, film, cameras, capsys):
    stop_once(cameras, lambda device: len(different(device)) > 3)
    assert camera(film, "--strength", "0.7", "--no-fluid") == 130
    (device,) = cameras.opened
    assert device.closed.is_set()
    sent = {frame.tobytes() for frame in different(device)}
    assert len(sent) > 3
    assert sent <= styled_frames(film, strength=0.7)
    err = capsys.readouterr().err
    assert f"Virtual camera: {NAME}, 160x120, 30 fps" in err
    assert err.splitlines()[-1] == f"Stopped after {len(device.frames)} pictures."


def test_size_rate_format_and_device_are_chosen_with_flags(style, film, cameras):
    stop_once(cameras, lambda device: len(device.frames) > 2)
    chosen = ("--size", "320x180", "--rate", "25", "--format", "nv12", "--camera", "/dev/video5")
    assert camera(film, *chosen) == 130
    asked = cameras.opened[0].asked
    assert (asked["width"], asked["height"], asked["fps"]) == (320, 180, 25)
    assert asked["fourcc"].to_bytes(4, "little") == b"NV12"
    assert asked["device"] == "/dev/video5"
    assert cameras.opened[0].frames[0].size == 320 * 180 * 3 // 2


@pytest.mark.full
def test_a_mix_is_streamed_as_it_is_mixed(style, film, cameras, tmp_path):
    stop_once(cameras, lambda device: len(different(device)) > 1)
    assert camera(film, "--mix", "mosaic:0.5", "--no-fluid", style="candy") == 130
    sent = {frame.tobytes() for frame in different(cameras.opened[0])}
    assert sent <= styled_frames(film, style="candy", mix="mosaic", mix_amount=0.5)


def test_json_lines_tell_what_was_opened_and_how_fast_it_is(style, film, cameras, capsys):
    stop_once(cameras, lambda device: len(different(device)) > 3)
    assert camera(film, "--progress", "json", "--size", "320x240") == 130
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    opened = [event for event in events if event["event"] == "camera"]
    assert opened[0] == {
        "event": "camera",
        "state": "sending",
        "device": NAME,
        "width": 320,
        "height": 240,
        "rate": 30,
        "format": "auto",
        "fitting": None,
    }
    assert mentions(opened[-1]["fitting"], "160x120", "320x240")
    rates = [event for event in events if event["event"] == "rate"]
    assert rates
    assert rates[-1]["sent"] <= len(cameras.opened[0].frames)
    assert "CPU" in rates[-1]["running"]


def test_quiet_says_nothing_but_that_it_was_stopped(style, film, cameras, capsys):
    stop_once(cameras, lambda device: len(different(device)) > 0)
    assert camera(film, "--quiet") == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"\nStopped after {len(cameras.opened[0].frames)} pictures.\n"


def test_names_that_look_like_markup_stay_as_they_are_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # makes the stream count as a terminal
    reporter = make_reporter("line", quiet=False)
    with reporter.waiting("Opening 'a[b].mp4' ..."):
        pass
    with reporter:
        reporter.rate(12.34, 7, "Candy [b] 60 %, CPU")
    err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "Opening 'a[b].mp4' ..." in err
    assert mentions(err, "12.3 frames/s styled", "7 sent", "Candy [b] 60 %", "CPU")


@pytest.mark.full
def test_the_pictures_of_a_folder_follow_each_other(style, cameras, tmp_path):
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        (tmp_path / "folder").mkdir(exist_ok=True)
        write_pixels(tmp_path / "folder" / f"{name}.png", picture(*SIZE, seed))
    stop_once(cameras, lambda device: len(different(device)) > 2)
    assert camera(tmp_path / "folder", "--seconds", "1") == 130


def test_while_no_program_reads_the_source_stands_still(style, film, cameras, monkeypatch):
    monkeypatch.setattr(sender, "GRACE_S", 0.0)
    readers = FakeReaders(False)
    monkeypatch.setattr(sender, "readers_of", lambda camera: readers)
    pauses: list[bool] = []
    reads = count(1)

    def watched(spec):
        source = open_source(spec)
        pause, read = source.pause, source.read

        def stop_in_time(timeout: float = 0.02) -> Frame | None:
            if next(reads) == 1000:  # a source that is never paused would be read forever
                signal.raise_signal(signal.SIGINT)
            return read(timeout)

        def note(paused: bool) -> None:
            pauses.append(paused)
            pause(paused)
            readers.reading = paused  # a program starts reading once the source is paused

        source.pause = note  # type: ignore[method-assign]
        source.read = stop_in_time  # type: ignore[method-assign]
        return source

    monkeypatch.setattr("app.commands.camera.command.open_source", watched)
    stop_once(cameras, lambda device: len(different(device)) > 0 and True in pauses)
    assert camera(film) == 130
    assert True in pauses
    assert pauses[pauses.index(True) + 1] is False


def test_without_a_camera_the_command_says_so_and_reads_no_source(style, film, cameras, capsys):
    cameras.fault = "nothing is here"
    assert camera(tmp := film.parent / "missing.mp4") == 1
    err = capsys.readouterr().err
    assert "virtual camera" in err
    assert tmp.name not in err
    assert len(err.splitlines()) == 2


def test_a_source_that_cannot_be_opened_closes_the_camera(style, cameras, tmp_path, capsys):
    assert camera(tmp_path / "missing.mp4") == 1
    assert "missing.mp4" in capsys.readouterr().err
    assert cameras.opened[0].closed.is_set()


@pytest.mark.parametrize("device", ["", "/dev/video3"])
def test_the_virtual_camera_is_refused_as_its_own_source(
    style, cameras, device, capsys, monkeypatch
):
    listed = (CameraName(3, NAME), CameraName(4, "Webcam"))
    monkeypatch.setattr("app.commands.camera.command.list_cameras", lambda: listed)
    assert camera("camera:", "--camera", device) == 1
    said = f"styleforge: the camera '{NAME}' is the virtual camera itself; name another one with"
    assert capsys.readouterr().err.splitlines()[-2] == f"{said} --source"
    assert cameras.opened[0].closed.is_set()


def test_a_camera_that_fails_ends_the_command_with_its_reason(style, film, cameras, capsys):
    def fail(device: FakeBackend) -> None:
        if len(different(device)) > 0:
            raise RuntimeError("the device is gone")

    cameras.before_send = fail
    assert camera(film) == 1
    error, advice = capsys.readouterr().err.splitlines()[-2:]
    assert mentions(error, "styleforge:", NAME, "the device is gone")
    assert advice == ADVICE["StreamError"]


def test_a_frame_that_fails_ends_the_command(style, film, cameras, monkeypatch, capsys):
    def fails(*_: object) -> None:
        raise MemoryError("there is not enough memory")

    monkeypatch.setattr(Engine, "infer", fails)
    assert camera(film) == 1
    assert "not enough memory" in capsys.readouterr().err
    assert cameras.opened[0].closed.is_set()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--size", "1281x720"], "even numbers"),
        (["--rate", "0"], "1 to 120"),
        (["--format", "jpeg"], "nv12"),
        (["--mix", "candy:2"], "0 to 1"),
    ],
)
def test_a_wrong_flag_is_told_and_nothing_is_opened(flags, says, cameras, capsys):
    assert main(["camera", *flags]) == 2
    assert says in capsys.readouterr().err
    assert not cameras.opened


def test_a_precision_that_the_cpu_does_not_offer_is_refused_and_nothing_is_opened(
    style, film, cameras, capsys
):
    assert camera(film, "--precision", "fp16") == 1
    assert "FP16 is slower" in capsys.readouterr().err
    assert not cameras.opened


def test_large_frames_are_styled_in_about_the_cameras_size(style, cameras, tmp_path, monkeypatch):
    big = write_video(tmp_path / "big.mp4", frames=4, size=(640, 480))
    sizes: set[tuple[int, int]] = set()
    taken = stream.LatestValue.take

    def note(latest):
        if (styled := taken(latest)) is not None:
            sizes.add((styled.frame.width, styled.frame.height))
        return styled

    monkeypatch.setattr(stream.LatestValue, "take", note)
    stop_once(cameras, lambda device: len(different(device)) > 1)
    assert camera(big) == 130
    assert sizes == {(160, 120)}


PROGRAM = """
import sys
import pyvirtualcam.camera
from app.cli import main

class Backend:
    def __init__(self, **asked): self.asked = asked
    def send(self, frame): pass
    def close(self): print("closed", flush=True)
    def device(self): return "x"
    def native_fourcc(self): return None

pyvirtualcam.camera.BACKENDS.clear()
pyvirtualcam.register_backend("fake", Backend)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT as a POSIX shell does")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_process_with_its_status(style, film, number):
    pytest.importorskip("pyvirtualcam")
    command = ["camera", "--source", str(film), "--style", STYLE, *LOOK, "--progress", "json"]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "rate":
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.splitlines()[-1] == "closed"
    assert err.splitlines()[-1].startswith("Stopped after ")


def test_the_numbers_of_the_film_survive_the_stream(style, film, cameras):
    stop_once(cameras, lambda device: len(different(device)) > 3)
    assert camera(film, "--strength", "0") == 130
    numbers = [number_of(frame) for frame in different(cameras.opened[0])]
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(range(12))
