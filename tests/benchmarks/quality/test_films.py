"""`styleforge quality --films` measures real video files in each style."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from benchmarks.tables.pages import markdown
from tests.benchmarks.quality.conftest import arguments
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.opencv import cv2

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--precisions", "fp32", "--networks", "full")


def write_film(path: Path, frames: int = 8, size: tuple[int, int] = (96, 64)) -> Path:
    """Write a film of a camera moving over a noisy scene, with a cut after five frames."""
    width, height = size
    rng = np.random.default_rng(0)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, size)
    assert writer.isOpened()
    for number in range(frames):
        wide = picture(2 * width, 2 * height, seed=3 if number < 5 else 8)
        view = wide[number : number + height, 2 * number : 2 * number + width]
        noisy = np.clip(view + rng.normal(0, 3, view.shape), 0, 255).astype(np.uint8)
        writer.write(noisy[..., ::-1].copy())
    writer.release()
    return path


@pytest.mark.full
def test_films_are_measured_with_every_smoothing(place: Path, capsys) -> None:
    film = write_film(place / "walk.avi")
    more = (*QUICK, "--films", film, "--film-size", 64, "--smoothing", "1,0")
    assert main(arguments(place, *more)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    quality = report["quality"]
    assert quality["films"] == {
        "files": ["walk.avi"],
        "frames": 60,
        "size": 64,
        "smoothing": [0.0, 1.0],
    }
    for style in quality["styles"]:
        (row,) = style["films"]
        assert row["film"] == "walk.avi"
        assert row["compared"] + row["cuts"] == 7
        assert row["source"] > 0.5
        none, full = row["levels"]
        assert 0 < full < 0.8 * none
        assert row["ratios"] == [none / row["source"], full / row["source"]]
    table = markdown(report)
    assert "| style | films, smoothing 0 | films, smoothing 1 |" in table
    assert mentions(table, "64 px at most", "60 frames", "walk")
    assert "*Films*" in table
    assert "films, smoothing 1" in capsys.readouterr().out


@pytest.mark.full
def test_only_the_first_frames_are_measured(place: Path) -> None:
    film = write_film(place / "walk.avi")
    more = ("--films", film, "--film-frames", 3, "--smoothing", "0", "--styles", "candy")
    assert main(arguments(place, *QUICK, *more)) == 0
    (style,) = json.loads((place / "quality.json").read_text("utf-8"))["quality"]["styles"]
    assert style["films"][0]["compared"] == 2


@pytest.mark.full
def test_films_alone_need_no_photographs(place: Path, capsys) -> None:
    film = write_film(place / "walk.avi")
    nothing = ("--photos", None, "--vgg", None, "--styles-images", None, "--size", None)
    more = (*nothing, "--films", film, "--film-frames", 3, "--smoothing", "0,0.5")
    assert main(arguments(place, *more)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    assert report["quality"]["photographs"] == []
    assert [style["films"][0]["compared"] for style in report["quality"]["styles"]] == [2, 2]
    table = markdown(report).rstrip().split("\n\n")
    assert table[-1].count("\n") == 4  # a header, a rule, two styles and their mean
    assert "--photos FOLDER" in capsys.readouterr().out


def test_a_sheet_of_films_alone_is_refused(place: Path, capsys) -> None:
    film = write_film(place / "walk.avi", 3)
    more = ("--photos", None, "--films", film, "--sheet", place / "sheet.png")
    assert main(arguments(place, *more)) == 1
    assert mentions(capsys.readouterr().err, "--any-style", "photographs")


def test_without_films_the_flag_is_named(place: Path, capsys) -> None:
    assert main(arguments(place, *QUICK, "--styles", "candy")) == 0
    assert "--films FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing.mp4", "'nothing.mp4' is not a video that can be played"),
        ("held.txt", "'held.txt' is not a video that can be played"),
        ("short.avi", "the film 'short.avi' has fewer than two frames to compare"),
        ("flat.avi", "the film 'flat.avi' is too narrow: at a size of 64"),
    ],
)
def test_a_film_that_cannot_be_measured_is_told_before(place: Path, capsys, name, says) -> None:
    write_film(place / "short.avi", 1)
    write_film(place / "flat.avi", 3, (160, 40))
    more = ("--films", place / name, "--film-size", 64)
    assert main(arguments(place, *QUICK, *more)) == 1
    assert says in capsys.readouterr().err
    assert not (place / "quality.json").exists()


def test_a_smoothing_beyond_its_range_is_told(place: Path, capsys) -> None:
    assert main(arguments(place, "--smoothing", "0,1.5")) == 2
    assert "the smoothing" in capsys.readouterr().err


@pytest.mark.full
def test_moved_paintings_are_compared_with_repeated_and_blended_ones(place: Path, capsys) -> None:
    film = write_film(place / "walk.avi", frames=28)
    nothing = ("--photos", None, "--vgg", None, "--styles-images", None, "--size", None)
    sheet = place / "fluid.png"
    more = (*nothing, "--films", film, "--film-frames", 28, "--film-size", 96)
    more += ("--styles", "candy", "--fluid-sheet", sheet)
    assert main([*arguments(place, *more), "--fluid"]) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    fluid = report["fluid"]
    assert fluid["films"] == ["walk.avi", "scene"]
    (style,) = fluid["styles"]
    rows = style["films"]
    assert [(row["film"], row["rate"]) for row in rows] == [
        (film, rate) for film in ("walk.avi", "scene") for rate in (3, 5, 8, 12)
    ]
    for row in rows:
        assert set(row["difference"]) == {"repeated", "blended", "moved"}
        assert set(row["flicker"]) == {"painted", "repeated", "blended", "moved"}
    panned = {row["rate"]: row["difference"] for row in rows if row["film"] == "walk.avi"}
    assert panned[12]["moved"] < 0.9 * panned[12]["repeated"]
    assert "| style | film | paintings a second | difference, repeated" in markdown(report)
    assert "difference, moved" in capsys.readouterr().out
    assert sorted(path.name for path in place.glob("fluid-*")) == [
        "fluid-candy-scene.png",
        "fluid-candy-walk.png",
    ]


@pytest.mark.parametrize(
    "flags",
    [("--fluid-sheet", "a.png"), ("--fluid", "--sheet", "a.png"), ("--fluid", "--add")],
    ids=str,
)
def test_flags_that_fluid_streams_do_not_go_with_are_refused(place: Path, capsys, flags) -> None:
    nothing = ("--photos", None, "--vgg", None, "--styles-images", None, "--size", None)
    assert main([*arguments(place, *nothing), *flags]) == 1
    assert "--fluid" in capsys.readouterr().err
