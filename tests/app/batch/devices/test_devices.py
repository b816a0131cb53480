"""Several devices of a machine share a run: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
import torch

from app.batch.devices.choice import devices_of
from app.batch.devices.crew import Crew, CrewError
from app.batch.devices.messages import Answer, Ended
from app.batch.error import StylizeError
from app.cli import main
from tests.app.commands.conftest import STYLE
from tests.conftest import picture
from tests.helpers.crew_worker import answers
from tests.helpers.errors import mentions
from tests.helpers.films import Look, packets_of, times_of, write_film
from utils.images.writing import write_pixels

EVERY_TEN = Look(options=(("crf", "1"), ("g", "10"), ("sc_threshold", "0")))


def shared(*arguments: object) -> int:
    flags = ("--style", STYLE, "--device", "cpu,cpu", "--kernels", "baseline")
    return main(["stylize", *map(str, arguments), *flags])


def alone(*arguments: object) -> int:
    flags = ("--style", STYLE, "--device", "cpu", "--kernels", "baseline")
    return main(["stylize", *map(str, arguments), *flags])


def test_a_list_names_devices_and_all_is_every_gpu(monkeypatch):
    assert devices_of("auto") == ["auto"]
    assert devices_of("cpu, cpu") == ["cpu", "cpu"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert devices_of("all") == ["cuda:0", "cuda:1", "cuda:2"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert devices_of("all") == ["auto"]


def test_a_device_that_is_not_there_or_is_named_twice_is_refused(monkeypatch):
    with pytest.raises(StylizeError, match="no device 'cuda:99'"):
        devices_of("cpu,cuda:99")
    where = "app.batch.devices.choice.painting_device"
    monkeypatch.setattr(where, lambda name: torch.device("cuda:0"))
    with pytest.raises(StylizeError, match="--device lists cuda:0 twice"):
        devices_of("cuda,cuda:0")


@pytest.mark.full
def test_pictures_of_two_processes_are_those_of_one(style, tmp_path, capsys):
    album = tmp_path / "album"
    album.mkdir()
    for number in range(9):
        write_pixels(album / f"{number}.png", picture(24 + 8 * (number % 3), 16, seed=number))
    (album / "bad.png").write_bytes(b"no picture")
    one, two = tmp_path / "one", tmp_path / "two"
    assert alone(album, "-o", one, "-q") == 1
    capsys.readouterr()
    manifest = tmp_path / "manifest.json"
    assert shared(album, "-o", two, "--progress", "json", "--manifest", manifest) == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [event for event in events if event["event"] == "picture"]
    assert [event["number"] for event in told] == list(range(1, 11))
    assert Counter(event["state"] for event in told) == {"done": 9, "failed": 1}
    assert "bad.png" in next(event["error"] for event in told if event["error"])
    assert (events[-1]["done"], events[-1]["failed"]) == (9, 1)
    names = sorted(path.name for path in one.iterdir())
    assert sorted(path.name for path in two.iterdir()) == names
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)
    entries = json.loads(manifest.read_text())["entries"]
    assert Counter(entry["state"] for entry in entries) == {"done": 9, "failed": 1}


@pytest.mark.full
def test_a_film_of_two_processes_has_every_frame_and_its_sound(style, tmp_path, capsys):
    times = [1001 * number for number in range(120)]
    film = write_film(tmp_path / "film.mp4", times, look=EVERY_TEN, sound="aac")
    out, report = tmp_path / "out.mp4", tmp_path / "report.json"
    flags = ("--texture", "0", "--size", "32", "--report", report)
    assert shared(film, "-o", out, *flags) == 0
    assert times_of(out) == times_of(film)
    assert packets_of(out, "audio") == packets_of(film, "audio")
    (said,) = json.loads(report.read_text())
    assert (said["frames"], said["resumed"], said["faults"]) == (120, 0, [])
    assert "on one device" not in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize(
    ("look", "why"),
    [
        (("--texture", "0.3"), "texture follows the scene"),
        (("--texture", "0", "--smoothing", "0.5"), "smoothing needs the frame before"),
    ],
)
def test_a_film_whose_frames_depend_on_those_before_is_of_one_device(
    style, tmp_path, capsys, look, why
):
    film = write_film(tmp_path / "film.mp4", range(0, 5005, 1001))
    assert shared(film, "-o", tmp_path / "out.mp4", "--size", "32", *look) == 0
    assert mentions(capsys.readouterr().err, "film.mp4", "one device", why)
    assert len(times_of(tmp_path / "out.mp4")) == 5


def test_consecutive_pictures_that_are_smoothed_are_for_one_device(style, photo, tmp_path, capsys):
    assert shared(photo, "-o", tmp_path / "out.png", "--smoothing", "0.5") == 1
    assert "--smoothing needs one device" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_what_a_killed_process_has_not_answered_goes_to_the_others():
    losses: list[str] = []
    tasks = [(number, number + 0.5) for number in range(12)]
    with Crew(("a", "b"), answers, ("dies", "slow"), losses.append) as crew:
        assert crew.ready() == ["dies", "slow"]
        said = list(crew.run("work", tasks))
    answered = [message.item for message in said if isinstance(message, Answer)]
    assert Counter(answered) == Counter(item for task in tasks for item in task)
    (loss,) = losses
    assert mentions(loss, "for a ", "signal 9")


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_whose_processes_all_die_ends_with_a_sentence():
    with Crew(("a",), answers, ("dies",), lambda text: None) as crew:
        crew.ready()
        with pytest.raises(CrewError, match="all devices ended"):
            list(crew.run("work", [(1,), (2,), (3,)]))


@pytest.mark.full
def test_the_process_that_is_idle_takes_what_comes_next():
    with Crew(("a", "b"), answers, ("slow", "quick"), lambda text: None) as crew:
        crew.ready()
        said = list(crew.run("work", [(number,) for number in range(12)]))
    by = Counter(message.value for message in said if isinstance(message, Answer))
    assert by["quick"] > by["slow"]
    assert by.total() == 12
    assert sum(message.value for message in said if isinstance(message, Ended)) == 12


@pytest.mark.full
def test_a_device_that_cannot_be_used_ends_the_run_before_it_begins():
    with (
        Crew(("a", "b"), answers, ("quick", "refuses"), lambda text: None) as crew,
        pytest.raises(CrewError, match="device is not there"),
    ):
        crew.ready()
