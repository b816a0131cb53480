"""`styleforge quality` measures everything requested and names what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch

from app.cli import main
from app.commands.quality import command as quality
from app.sources.scene import render
from benchmarks.quality.contact_sheet import make_sheet
from benchmarks.quality.report_file import store_report
from benchmarks.quality.textures import textured
from benchmarks.tables.pages import markdown
from models.evaluation.flicker import panned_flicker, still_flicker
from models.evaluation.image_metrics import to_tensor
from models.vit_checkpoints import save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.benchmarks.quality.conftest import RECIPE, arguments
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[4]


pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_sheet_shows_every_picture_whole() -> None:
    red, green = np.zeros((2, 30, 60, 3), np.uint8)
    red[:], green[:] = (200, 0, 0), (0, 200, 0)
    tall = np.ascontiguousarray(green.swapaxes(0, 1))
    page = make_sheet(["A", "B"], [("one", [red, green]), ("two", [tall, red])], 60)
    for color, pixels in (((200, 0, 0), 2 * 30 * 60), ((0, 200, 0), 2 * 30 * 60)):
        assert int((page == color).all(2).sum()) == pixels


@pytest.mark.full
def test_quality_measures_every_style_and_size(place: Path, capsys) -> None:
    more = ("--only", place / "held.txt", "--sheet", place / "sheet.png", "--flicker-photos", 1)
    more += ("--precisions", "fp32", "--lbfgs", "1,2", "--without", place / "before")
    assert main(arguments(place, *more)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    assert report["machine"]["cpu"]
    quality = report["quality"]
    assert [photograph["name"] for photograph in quality["photographs"]] == ["2.webp", "0.webp"]
    assert quality["photographs"][0]["measured"] == [80, 65]
    assert quality["photographs"][0]["original"] == [62, 50]
    candy, mosaic = quality["styles"]
    assert candy["recipe"] == RECIPE
    assert [row["network"] for row in candy["networks"]] == ["full", "lite"]
    assert "no lite network" in mosaic["networks"][-1]["not_run"]
    for row in candy["networks"]:
        assert row["objective"] > 0
        assert row["still"] > 0
        assert row["panned"] > 0
        assert len(row["each"]) == 2
    assert [row["iterations"] for row in candy["direct"]] == [1, 2]
    for start in ("direct", "from_noise"):
        assert candy[start][0]["objective"] > candy[start][1]["objective"]
    assert candy["from_noise"][0]["objective"] > candy["direct"][0]["objective"]
    assert all("equals_from_noise" in row for row in candy["networks"])
    assert candy["without"]["still"] > 0
    table = markdown(report)
    for words in (
        "2 photographs with a long side of 80 px, enlarged from 60: 2, 0",
        "L-BFGS 2",
        "from noise",
        "still, without",
        "Not run: Mosaic, lite",
    ):
        assert words in table
    assert table.splitlines()[0] in capsys.readouterr().out
    for name in ("sheet.png", "sheet-candy.png", "sheet-mosaic.png"):
        assert read_pixels(place / name).shape[1] > 3 * 256


@pytest.mark.full
def test_quality_measures_every_precision_beside_fp32(place: Path) -> None:
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--styles", "candy")
    assert main(arguments(place, *quick, "--precisions", "fp32,bf16")) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    (candy,) = report["quality"]["styles"]
    assert [(row["network"], row["precision"]) for row in candy["networks"]] == [
        ("full", "FP32"),
        ("full", "BF16"),
        ("lite", "FP32"),
        ("lite", "BF16"),
    ]
    for row in candy["networks"]:
        assert row["objective"] > 0
        assert (row["psnr_min"] is None) == (row["precision"] == "FP32")
    assert "BF16 dB" in markdown(report)


@pytest.mark.full
def test_any_style_networks_stand_beside_the_trained_ones(place: Path) -> None:
    config = VitConfig(32, 2, 48, 2, 2, 16, (8, 12, 16))
    torch.manual_seed(0)
    network = StyleForgeTransformer(config).requires_grad_(False)
    save_vit(place / "any.safetensors", config, network.state_dict())
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 1, "--precisions", "fp32")
    more = ("--any-style", place / "any.safetensors", "--sheet", place / "sheet.png")
    assert main(arguments(place, *quick, *more)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    candy, mosaic = report["quality"]["styles"]
    assert [row["network"] for row in candy["networks"]] == ["full", "lite", "custom"]
    trained, given = candy["networks"][0], candy["networks"][2]
    assert given["style"] > 0
    assert given["style"] != trained["style"]
    assert given["panned"] > 0
    digest = sha256((place / "any.safetensors").read_bytes()).hexdigest()
    assert report["quality"]["any_style"] == {"any.safetensors": digest}
    header = "| style | style term, full | style term, custom | still, full | still, custom |"
    table = markdown(report)
    assert header in table
    means = next(line for line in table.splitlines() if line.startswith("| mean |"))
    both = [fmean(style["networks"][n]["style"] for style in (candy, mosaic)) for n in (0, 2)]
    assert [float(cell) for cell in means.split("|")[2:4]] == pytest.approx(both, rel=1e-2)


@pytest.mark.full
def test_flicker_is_measured_with_texture_as_well(place: Path) -> None:
    sky = np.full((60, 80, 3), 128, np.uint8)
    write_pixels(place / "photos" / "0.webp", sky)
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 1, "--precisions", "fp32")
    assert main(arguments(place, *quick, "--styles", "candy", "--texture", 1)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    (candy,) = report["quality"]["styles"]
    full = candy["networks"][0]
    for name in ("still", "panned"):
        assert full[f"{name}_textured"] > 0
        assert full[f"{name}_textured"] != full[name]
    table = markdown(report)
    assert "| still | still, textured | still, lite |" in table
    assert "texture of 100%" in table


@pytest.mark.full
def test_texture_is_judged_on_sheets_and_in_figures(place: Path, capsys) -> None:
    """Most of the photograph is sky, the rest noise; the objective is not measured."""
    rng = np.random.default_rng(0)
    scene = np.full((160, 160, 3), 150, np.uint8)
    scene[120:] = rng.integers(0, 256, (40, 160, 3))
    write_pixels(place / "photos" / "0.webp", scene)
    more = ("--photos", place / "photos" / "0.webp", "--packs", place / "packs", "--size", 80)
    more += ("--precisions", "fp32", "--flicker-photos", 1, "--device", "cpu")
    more += ("--json", place / "quality.json", "--texture-sheet", place / "texture.png")
    assert main([*map(str, ("quality", *more, "--texture-sizes", "120,160"))]) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    candy, mosaic = report["quality"]["styles"]
    assert [(row["size"], row["network"]) for row in candy["texture"]] == [
        *((120, "full"), (120, "lite")),
        *((160, "full"), (160, "lite")),
    ]
    assert [row["network"] for row in mosaic["texture"]] == ["full", "full"]
    for row in (*candy["texture"], *mosaic["texture"]):
        assert [each["amount"] for each in row["changed"]] == [0.25, 0.5, 0.75, 1.0]
        flat = [each["flat"] for each in row["changed"]]
        assert flat == sorted(flat)
        assert all(each["flat"] > 1.2 * each["structured"] for each in row["changed"])
        assert row["still"] > 0
        assert row["panned"] > 0
    for name in ("candy-120", "candy-160", "mosaic-120"):
        page = read_pixels(place / f"texture-{name}.png")
        assert page.shape[1] > (11 if "candy" in name else 6) * 120
    assert "| style | texture in streams | still, full | still, lite |" in markdown(report)
    assert "Sheets of texture in" in capsys.readouterr().out


def test_texture_that_follows_the_scene_is_no_flicker() -> None:
    """A network that copies its input leaves the flicker of the frames themselves."""
    scene = to_tensor(render(2.0, 256, 144), torch.device("cpu"))
    for meter in (still_flicker, panned_flicker):
        plain = meter(lambda x: x, scene, frames=6)
        assert meter(textured(lambda x: x, 0.5), scene, frames=6) == pytest.approx(plain, rel=0.1)


def test_without_a_file_to_store_in_the_table_is_printed(place: Path, capsys) -> None:
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--precisions", "fp32")
    assert main(arguments(place, *quick, "--json", None, "--styles", "candy")) == 0
    out = capsys.readouterr().out
    assert "| style | full | lite |" in out
    assert "- flicker: --flicker-photos N" in out
    assert not (place / "quality.json").exists()


@pytest.mark.full
def test_without_flags_the_scene_is_measured_and_what_is_not_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr(quality, "SCENE", 144)
    monkeypatch.setattr(quality, "style_keys", lambda folder, wanted: ["candy"])
    assert main(["quality"]) == 0
    out = capsys.readouterr().out
    for words in (
        "1 photograph with a long side of 144 px: built-in scene",
        "| style | clipped | frame |",
        "| Candy |",
        "| style | still | still, lite | panned | panned, lite |",
        "Not measured:",
        "- photographs, only the built-in scene: --photos FOLDER",
        "--vgg FILE --styles-images FOLDER",
        "--precisions fp32,fp16,bf16",
        "--without FOLDER",
    ):
        assert words in out
    assert "L-BFGS optimizes" not in out


@pytest.mark.full
def test_a_style_is_added_to_a_report_that_was_made_alike(place: Path, capsys) -> None:
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--precisions", "fp32")
    assert main(arguments(place, *quick, "--styles", "mosaic")) == 0
    add = [*arguments(place, *quick, "--styles", "candy"), "--add"]
    assert main(add) == 0
    report = place / "quality.json"
    stored = json.loads(report.read_text("utf-8"))
    assert [style["key"] for style in stored["quality"]["styles"]] == ["candy", "mosaic"]
    assert {name.split("/")[0] for name in stored["weights"]} == {"candy", "mosaic"}
    kept = report.read_bytes()
    assert main([*add, "--size", "96"]) == 1
    assert "another size" in capsys.readouterr().err
    assert report.read_bytes() == kept
    report.write_text("[1]")
    assert main(add) == 1
    assert mentions(capsys.readouterr().err, "quality.json", "report")


@pytest.mark.full
def test_a_report_to_add_to_begins_with_the_first_style_added(place: Path) -> None:
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--precisions", "fp32")
    assert main([*arguments(place, *quick, "--styles", "candy"), "--add"]) == 0
    styles = json.loads((place / "quality.json").read_text("utf-8"))["quality"]["styles"]
    assert [style["key"] for style in styles] == ["candy"]


def test_runs_that_add_to_one_report_at_the_same_time_lose_no_style(tmp_path: Path) -> None:
    same = {
        "machine": {"gpu": "", "cpu": "", "threads": 1},
        "versions": {"torch": "", "cuda": "", "cudnn": ""},
    }
    keys = [f"style_{n}" for n in range(8)]

    def add(key: str) -> None:
        quality = {"size": 96, "styles": [{"key": key}]}
        store_report(tmp_path / "report.json", {**same, "quality": quality}, add=True)

    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(add, keys))
    styles = json.loads((tmp_path / "report.json").read_text("utf-8"))["quality"]["styles"]
    assert sorted(style["key"] for style in styles) == keys


@pytest.mark.full
def test_mixes_begin_with_one_style_and_end_with_the_other(place: Path) -> None:
    mixing = ("--mix-sheet", place / "mix.png", "--pairs", "candy:mosaic,mosaic:candy")
    nothing = ("--json", None, "--vgg", None, "--styles-images", None)
    only = ("--photos", place / "photos" / "1.webp", "--size", 384)
    assert main(arguments(place, *mixing, *nothing, *only)) == 0
    page = read_pixels(place / "mix.png").astype(int)
    height = (page.shape[0] - 34 - 2 * 8) // 2  # below the header: two rows and their gaps
    above, below = page[34 : 34 + height], page[34 + height + 8 : 34 + 2 * height + 8]
    left = page.shape[1] - 5 * 384 - 4 * 8
    first, last = slice(left, left + 384), slice(-384, None)
    assert np.abs(above[:, first] - below[:, last]).max() == 0
    assert np.abs(above[:, last] - below[:, first]).max() == 0
    assert np.abs(above[:, first] - above[:, last]).mean() > 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--vgg", None), "needs --vgg"),
        (("--vgg", "none.safetensors"), "'none.safetensors' does not exist"),
        (("--styles-images", None), "needs --styles-images"),
        (("--styles-images", "photos"), "contains no painting for the style 'candy'"),
        (("--styles", "udnie"), "there is no style 'udnie'"),
        (("--packs", "nowhere"), "the folder of styles 'nowhere' does not exist"),
        (("--packs", "photos"), "contains no style"),
        (("--photos", "nothing.jpg"), "'nothing.jpg' does not exist"),
        (("--photos", "held.txt"), "'held.txt' is not a picture but a text file"),
        (("--photos", None, "--only", "held.txt"), "--only names some of the photographs in"),
        (("--only", "other.txt"), "is missing from --photos: 9.webp"),
        (("--only", "none.txt"), "the list 'none.txt' cannot be read"),
        (("--sheet", "sheet.gif"), "'sheet.gif' must end in .png"),
        (("--json", "nowhere/q.json"), "the folder 'nowhere' does not exist"),
        (("--json", "photos"), "'photos' is a folder"),
        (("--pairs", "candy:mosaic"), "--mix-sheet and --pairs need each other"),
        (("--without", "photos"), "contains no 'candy' trained without the stability term"),
        (("--without", "packs"), "with the stability term, at a stability weight of 0.5"),
        (("--any-style", "candy.safetensors"), "'candy.safetensors' does not exist"),
        (
            ("--any-style", "any.safetensors", "--styles-images", None, "--vgg", None),
            "--any-style needs the paintings",
        ),
        (("--device", "cuda:77"), "there is no device 'cuda:77'"),
    ],
)
def test_what_cannot_be_measured_is_told_before(place, monkeypatch, capsys, more, says) -> None:
    monkeypatch.chdir(place)
    (place / "other.txt").write_text("9.webp\n")
    assert main(arguments(place, *more)) == 1
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 2
    assert not (place / "quality.json").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--size", "20"), "64 to 4096"),
        (("--lbfgs", "0,5"), "a number of iterations"),
        (("--networks", "tiny"), "'tiny' is not one of full, lite"),
        (("--pairs", "candy"), "'candy' is not a pair"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong(place, capsys, more, says) -> None:
    assert main(arguments(place, *more)) == 2
    assert says in capsys.readouterr().err


def test_a_pack_that_does_not_say_its_recipe_is_refused(place: Path, capsys) -> None:
    path = place / "packs" / "mosaic" / "style.toml"
    path.write_text(path.read_text("utf-8").replace("style_scales", "scales"), "utf-8")
    assert main(arguments(place)) == 1
    assert mentions(capsys.readouterr().err, "mosaic/style.toml", "does not say")


def test_a_photograph_too_narrow_for_its_size_is_refused(place: Path, capsys) -> None:
    write_pixels(place / "photos" / "strip.png", picture(300, 60))
    assert main(arguments(place)) == 1
    assert mentions(capsys.readouterr().err, "strip.png", "too narrow", "--size 80")


@pytest.mark.full
def test_the_command_needs_only_what_training_needs() -> None:
    check = (
        "import sys, app.commands.quality.command; "
        "sys.exit(bool({'PySide6', 'cv2', 'psutil'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_a_style_of_a_picture_is_refused_with_the_reason(place: Path, capsys) -> None:
    path = place / "packs" / "mosaic" / "style.toml"
    path.write_text('family = "any-style"\n' + path.read_text("utf-8"), "utf-8")
    assert main(arguments(place)) == 1
    said = capsys.readouterr().err
    assert "a single style" in said
    assert "any-style network" in said
