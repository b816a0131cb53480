"""`styleforge quality --strokes` shows strokes in each direction and measures their flicker."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from app.styles import catalog as catalogs
from benchmarks.quality import strokes
from benchmarks.tables.pages import markdown
from tests.benchmarks.quality.conftest import arguments
from tests.benchmarks.quality.test_films import write_film
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

pytestmark = pytest.mark.usefixtures("one_thread")

NOTHING = ("--vgg", None, "--styles-images", None, "--size", None)
CELL = 64  # pixels


def scene() -> np.ndarray:
    """Return a sky above noise, [96, 96, 3]."""
    made = np.full((96, 96, 3), 150, np.uint8)
    made[70:] = np.random.default_rng(0).integers(0, 256, (26, 96, 3))
    return made


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strokes, "FRAMES", 4)


@pytest.mark.usefixtures("short")
def test_each_direction_has_a_column_and_its_flicker(place: Path, capsys) -> None:
    write_pixels(place / "photos" / "0.webp", scene())
    film = write_film(place / "walk.avi", 4)
    more = (*NOTHING, "--photos", place / "photos" / "0.webp", "--flicker-photos", 1)
    more += ("--films", film, "--film-size", 64, "--styles", "candy", "--texture", 1)
    more += ("--strokes-sheet", place / "strokes.png", "--strokes-sizes", "64,96", "--cell", CELL)
    assert main([*arguments(place, *more), "--strokes"]) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    assert report["strokes"]["directions"] == ["follow", "swirl", 45.0]
    assert report["strokes"]["photographs"] == ["0.webp"]
    (candy,) = report["strokes"]["styles"]
    assert [row["network"] for row in candy["scenes"]] == ["full", "lite"]
    for row in candy["scenes"]:
        for kind in ("still", "panned"):
            assert len(row[kind]) == 3
            assert min(row[kind]) > 0.2
    assert [row["film"] for row in candy["films"]] == ["walk.avi"]
    assert len(candy["films"][0]["films"]) == 3
    assert "| style | still, follow | still, swirl | still, 45 degrees |" in markdown(report)
    assert "still, follow" in capsys.readouterr().out
    for size in (64, 96):
        width = read_pixels(place / f"strokes-candy-{size}.png").shape[1]
        assert width > 8 * CELL  # four directions of two networks


def test_each_column_shows_another_direction(place: Path, monkeypatch) -> None:
    write_pixels(place / "photos" / "0.webp", scene())
    sheets: dict[str, tuple[list[str], list[np.ndarray]]] = {}

    def keep(path: Path, columns: list[str], rows: list, cell: int, quality: int) -> None:
        ((_, pictures),) = rows
        sheets[path.name] = columns, pictures

    monkeypatch.setattr(strokes, "save_sheet", keep)
    more = (*NOTHING, "--photos", place / "photos" / "0.webp", "--flicker-photos", 0)
    more += ("--styles", "mosaic", "--strokes-sheet", place / "sheet.png", "--texture", 1)
    more += ("--networks", "full")
    assert main([*arguments(place, *more, "--strokes-sizes", 96), "--strokes"]) == 0
    titles, pictures = sheets["sheet-mosaic-96.png"]
    assert sheets["sheet-96.png"][0] == titles
    assert sheets["sheet-96.png"][1] is pictures
    assert titles == ["Full: none", "Full: follow", "Full: swirl", "Full: 45"]
    for number, one in enumerate(pictures):
        for other in pictures[number + 1 :]:
            changed = np.abs(one.astype(int) - other).mean((1, 2))
            assert changed[:40].mean() > 2 * changed[80:].mean()  # the sky is flat


def test_sheets_show_the_photograph_only_on_request(place: Path) -> None:
    write_pixels(place / "photos" / "0.webp", scene())
    widths = {}
    for flags in ((), ("--originals",)):
        more = (*NOTHING, "--photos", place / "photos" / "0.webp", "--flicker-photos", 0)
        more += ("--styles", "mosaic", "--strokes-sheet", place / "sheet.png", "--cell", CELL)
        more += ("--strokes-sizes", 64)
        assert main([*arguments(place, *more), "--strokes", *flags]) == 0
        widths[flags] = read_pixels(place / "sheet-mosaic-64.png").shape[1]
    assert widths["--originals",] > widths[()] + CELL


def test_paintings_become_styles_with_their_own_strokes(place: Path, monkeypatch, capsys) -> None:
    write_pixels(place / "photos" / "0.webp", scene())
    save_tiny(place / "any_style" / "small.safetensors")
    monkeypatch.setattr(catalogs, "BUILTIN", place / "packs")
    monkeypatch.setattr(catalogs, "user_folder", lambda: place / "user" / "styles")
    write_pixels(place / "flat.png", np.full((60, 80, 3), 90, np.uint8))
    write_pixels(place / "dots.png", picture(80, 60))
    more = (*NOTHING, "--photos", place / "photos" / "0.webp")
    more += ("--strokes-sheet", place / "sheet.png", "--strokes-sizes", 64, "--cell", CELL)
    flags = ("--strokes", "--strokes-paintings", str(place / "flat.png"), str(place / "dots.png"))
    assert main([*arguments(place, *more), *flags]) == 0
    found = json.loads((place / "quality.json").read_text("utf-8"))["strokes"]
    assert [row["painting"] for row in found["paintings"]] == ["flat.png", "dots.png"]
    assert found["paintings"][0]["direction"] == "none"
    assert found["styles"] == []
    assert "flat.png: none" in capsys.readouterr().out
    assert read_pixels(place / "sheet-paintings.png").shape[0] > 2 * 40


@pytest.mark.parametrize(
    "flags",
    [
        ("--strokes-sheet", "a.png"),
        ("--strokes-paintings", "a.png"),
        ("--strokes", "--sheet", "a.png"),
        ("--strokes", "--add"),
    ],
    ids=str,
)
def test_flags_that_strokes_do_not_go_with_are_refused(place: Path, capsys, flags) -> None:
    assert main([*arguments(place, *NOTHING), *flags]) == 1
    assert "--strokes" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["none", "auto", "sideways"])
def test_a_word_that_is_no_direction_to_compare_is_refused(place: Path, capsys, word) -> None:
    flags = ("--strokes", "--strokes-directions", f"follow,{word}")
    assert main([*arguments(place, *NOTHING), *flags]) == 2
    assert "--strokes-directions" in capsys.readouterr().err
