"""Quality: each figure is right where its value is known, and the command tells what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from app.cli import main
from app.commands.quality import _store
from app.commands.quality_measure import _equals
from app.commands.quality_sheets import sheet
from models.checkpoints import save_checkpoint
from models.network_shape import LITE
from models.precision import Precision
from models.quality.direct import optimise, white_noise
from models.quality.flicker import STEPS, pan, panned_flicker, still_flicker
from models.quality.judge import judge, styler
from models.quality.pictures import beyond, border, clipped, psnr, to_pixels, to_tensor
from models.training.config import TrainingConfig
from models.training.features import Vgg19Features
from models.training.objective import Objective
from models.training.pack import PackTexts, add_lite, write_pack
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.image_utils import load_image, save_image
from utils.tables import markdown

ROOT = Path(__file__).resolve().parent.parent
CPU = torch.device("cpu")
TINY = TrainingConfig(style_size=48, style_scales=(1.0, 0.5), num_residual_blocks=1)
RECIPE = {
    "content_weight": 1.0,
    "style_weight": 2.0,
    "tv_weight": 1e-6,
    "style_size": 48,
    "style_scales": [1.0, 0.5],
}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def objective(vgg_state: dict[str, Tensor]) -> Objective:
    return Objective(TINY, Vgg19Features(vgg_state, "caffe"), to_tensor(painting(), CPU))


@pytest.fixture
def photograph() -> Tensor:
    return to_tensor(picture(96, 72), CPU)


def painting() -> np.ndarray:
    """[48, 48, 3]: stripes, unlike any of the photographs."""
    pixels = np.zeros((48, 48, 3), np.uint8)
    pixels[:, ::6] = (230, 40, 20)
    pixels[::6] = (20, 60, 200)
    return pixels


def state(seed: int = 0, **shape: object) -> dict[str, Tensor]:
    """Weights of a network with one residual block, scaled so that it paints in all of 0-255."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        weights = TransformerNetBaseline(1, **shape).state_dict()  # type: ignore[arg-type]
    weights["deconv3.conv2d.weight"] *= 80
    weights["deconv3.conv2d.bias"] += 128
    return weights


# Flicker


def test_what_passes_frames_on_flickers_as_they_do(photograph: Tensor) -> None:
    assert still_flicker(lambda x: x, photograph, frames=12) == pytest.approx(1)
    assert panned_flicker(lambda x: x, photograph, frames=12) == pytest.approx(1)


def test_what_always_shows_the_same_does_not_flicker(photograph: Tensor) -> None:
    assert still_flicker(lambda x: torch.full_like(x, 77), photograph, frames=12) == 0
    assert panned_flicker(lambda x: torch.full_like(x, 77), photograph, frames=12) == 0


def test_a_filter_that_moves_with_the_scene_flickers_alike_still_and_panned() -> None:
    def blur(x: Tensor) -> Tensor:
        return F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 3, 1)

    scene = to_tensor(picture(192, 160), CPU)
    still = still_flicker(blur, scene)
    assert 0.2 < still < 0.5, "a mean of nine pixels takes two thirds of the noise away"
    assert panned_flicker(blur, scene) == pytest.approx(still, rel=0.03)


def test_a_grid_that_stays_with_the_sensor_counts_as_flicker_only_when_panned() -> None:
    def grid(x: Tensor) -> Tensor:
        return x + 20 * (torch.arange(x.shape[3]) % 4 == 0)

    scene = to_tensor(picture(192, 160) // 2 + 60, CPU)
    assert still_flicker(grid, scene, frames=12) == pytest.approx(1)
    assert panned_flicker(grid, scene, frames=12) > 2


def test_flicker_does_not_depend_on_how_many_frames_are_styled_at_once(photograph: Tensor) -> None:
    def halved(x: Tensor) -> Tensor:
        return x / 2

    # Noise is drawn batch by batch, in the order of the frames either way.
    for flicker in (still_flicker, panned_flicker):
        one, three = (flicker(halved, photograph, frames=7, batch=n) for n in (7, 3))
        assert one == pytest.approx(three, rel=0.02)


def test_frames_are_what_a_camera_could_have_sent(photograph: Tensor) -> None:
    def watch(x: Tensor) -> Tensor:
        assert torch.equal(x, x.round())
        assert 0 <= float(x.min()) <= float(x.max()) <= 255
        deviations.append(float((x - photograph).std()))
        return x

    deviations: list[float] = []
    still_flicker(watch, photograph, frames=6, sigma=2)
    assert deviations == [pytest.approx(2, rel=0.1)]


def test_a_pan_moves_by_its_steps_and_turns_back_at_the_edge() -> None:
    places = pan(60, 20, 30)
    moves = {(abs(b[0] - a[0]), abs(b[1] - a[1])) for a, b in pairwise(places)}
    assert set(STEPS) <= moves
    assert all(down <= 3 and right <= 3 for down, right in moves)
    assert {0 <= down <= 20 and 0 <= right <= 30 for down, right in places} == {True}
    assert max(down for down, _ in places) > 15


@pytest.mark.parametrize(
    ("size", "options", "says"),
    [
        ((96, 72), {"frames": 1}, "needs 2 frames or more, not 1"),
        ((96, 72), {"sigma": 0.01, "frames": 3}, "rounds to nothing"),
        ((96, 20), {}, "24x24 or more, not 96x20"),
    ],
)
def test_flicker_that_cannot_be_told_is_refused(size, options, says) -> None:
    with pytest.raises(ValueError, match=says):
        panned_flicker(lambda x: x, to_tensor(picture(*size), CPU), **options)


# Single pictures


def test_clipped_pixels_are_those_at_the_ends_of_the_range_as_seen() -> None:
    grey = torch.full((1, 3, 2, 5), 128.0)
    grey[0, 0, 0, 0] = 255.4  # seen as 255, and beyond it
    grey[0, 1, 0, 1] = 0.3  # seen as 0, and within
    grey[0, 2, 1, 2] = -40
    assert clipped(grey) == pytest.approx(0.3)
    assert beyond(grey) == pytest.approx(0.2)


def test_a_dark_frame_shows_in_the_border_and_texture_does_not() -> None:
    generator = torch.Generator().manual_seed(0)
    plain = 128 + 10 * torch.randn(1, 3, 96, 96, generator=generator)
    framed = plain.clone()
    framed[..., :4, :] -= 30
    framed[..., -4:, :] -= 30
    framed[..., :, :4] -= 30
    framed[..., :, -4:] -= 30
    unframed, dark = border(plain), border(framed)
    assert abs(unframed.step) < 1
    assert unframed.edge == pytest.approx(unframed.within, rel=0.3)
    assert dark.step == pytest.approx(unframed.step - 30, abs=0.5)
    assert dark.edge > 5 * unframed.edge
    assert dark.within == unframed.within
    with pytest.raises(ValueError, match="not 40x96"):
        border(plain[..., :40])


def test_psnr_is_that_of_pictures_within_range() -> None:
    grey = torch.full((1, 3, 4, 4), 100.0)
    assert psnr(grey + 1, grey) == pytest.approx(48.13, abs=0.01)
    assert psnr(grey + 200, grey + 400) == float("inf"), "both are white"


def test_pixels_survive_the_way_to_a_tensor_and_back() -> None:
    pixels = picture(20, 16)
    assert np.array_equal(to_pixels(to_tensor(pixels, CPU)), pixels)


# The objective, of networks and of direct optimisation


def test_direct_optimisation_goes_down_and_tells_what_it_took(objective, photograph) -> None:
    with torch.no_grad():
        before = float(objective(photograph, photograph)[0])
    told: list[int] = []
    few, more = optimise(objective, photograph, (2, 6), lambda: told.append(1))
    assert before > few.terms[0] > more.terms[0] > 0
    assert (few.iterations, more.iterations, len(told)) == (2, 6, 6)
    assert 6 < more.evaluations <= 6 * 3
    with torch.no_grad():
        assert float(objective(more.picture, photograph)[0]) == pytest.approx(more.terms[0])
    assert 0 <= float(more.picture.min()) <= float(more.picture.max()) <= 255
    assert more.path[:3] == few.path
    assert [more.path[n] for n in (0, 2, 6)] == pytest.approx(
        [before, few.terms[0], more.terms[0]], rel=1e-4
    )


def test_direct_optimisation_begins_with_noise_where_that_is_asked_for(objective, photograph):
    start = white_noise(photograph)
    assert torch.equal(start, white_noise(photograph))
    assert 120 < start.mean() < 135
    assert 0 <= start.min() < 5 < 250 < start.max() <= 255
    (reached,) = optimise(objective, photograph, (3,), start=start)
    with torch.no_grad():
        assert reached.path[0] == pytest.approx(float(objective(start, photograph)[0]))
    assert reached.path[3] < reached.path[0]
    assert reached.path[0] > optimise(objective, photograph, (1,))[0].path[0]


def test_direct_optimisation_is_content_with_what_cannot_be_better() -> None:
    photograph = torch.full((1, 3, 8, 8), 100.0)

    def objective(pixels: Tensor, photograph: Tensor) -> Tensor:
        loss = (pixels - photograph).square().mean()
        return torch.stack((loss, loss, loss, loss))

    (reached,) = optimise(objective, photograph, (5,))
    assert (reached.iterations, reached.terms[0]) == (0, 0)


def test_a_network_is_judged_by_the_objective_of_its_picture(objective, photograph) -> None:
    network, remarks = styler(state(), "baseline", Precision.fp32, CPU)
    assert not remarks
    picture = network(photograph)
    figures = judge(objective, photograph, picture)
    total, content, style, tv = objective(picture, photograph).tolist()
    assert figures.objective == pytest.approx(total)
    assert total == pytest.approx(content + 2 * style + 1e-6 * tv, rel=1e-4)
    assert (figures.content, figures.style, figures.tv) == pytest.approx((content, style, tv))
    assert figures.psnr == float("inf")
    half, _ = styler(state(), "baseline", Precision.bf16, CPU)
    assert 20 < judge(objective, photograph, half(photograph), picture).psnr < 80


@pytest.mark.gpu
def test_a_gpu_measures_what_the_cpu_does(vgg_state, photograph) -> None:
    cuda = torch.device("cuda:0")
    reached = []
    for device in (CPU, cuda):
        features = Vgg19Features(vgg_state, "caffe").to(device)
        objective = Objective(TINY, features, to_tensor(painting(), device))
        (stands,) = optimise(objective, photograph.to(device), (5,))
        network, _ = styler(state(), "fused", Precision.fp32, device)
        figures = judge(objective, photograph.to(device), network(photograph.to(device)))
        flickers = (f(network, photograph.to(device)) for f in (still_flicker, panned_flicker))
        reached.append((stands.terms[0], figures.objective, *flickers))
    assert reached[0] == pytest.approx(reached[1], rel=0.05)


# Sheets


def test_a_sheet_shows_every_picture_whole() -> None:
    red, green = np.zeros((2, 30, 60, 3), np.uint8)
    red[:], green[:] = (200, 0, 0), (0, 200, 0)
    tall = np.ascontiguousarray(green.swapaxes(0, 1))
    page = sheet(["A", "B"], [("one", [red, green]), ("two", [tall, red])], 60)
    for colour, pixels in (((200, 0, 0), 2 * 30 * 60), ((0, 200, 0), 2 * 30 * 60)):
        assert int((page == colour).all(2).sum()) == pixels


# The command


@pytest.fixture
def place(tmp_path: Path, vgg_file: Path) -> Path:
    """Two styles, one with a lite network; what they are measured with; `before` has both without
    the stability term."""
    for folder in ("before", "paintings", "photos"):
        (tmp_path / folder).mkdir()
    for seed, key in enumerate(("candy", "mosaic")):
        write_pack(
            tmp_path / "packs" / key,
            PackTexts(key.title()),
            state(seed),
            picture(64, 64),
            {**RECIPE, "stability_weight": 0.5},
        )
        save_image(tmp_path / "paintings" / f"{key}.png", painting())
        save_checkpoint(tmp_path / "before" / f"{key}.safetensors", state(seed + 2))
    lite = state(5, widths=LITE.widths, end_kernel=LITE.end_kernel)
    add_lite(tmp_path / "packs" / "candy", lite, {})
    for n in range(3):
        save_image(tmp_path / "photos" / f"{n}.webp", picture(60 + n, 50, seed=n))
    (tmp_path / "held.txt").write_text("# kept out of training\n2.webp\n\n0.webp\n")
    shutil.copy(vgg_file, tmp_path / "vgg.safetensors")
    return tmp_path


def arguments(place: Path, *more: object) -> list[str]:
    named = {
        "--photos": place / "photos",
        "--packs": place / "packs",
        "--styles-images": place / "paintings",
        "--vgg": place / "vgg.safetensors",
        "--json": place / "quality.json",
        "--size": 80,
        "--device": "cpu",
    }
    for flag, value in zip(more[::2], more[1::2], strict=True):
        named[str(flag)] = value  # type: ignore[assignment]
    flat = [word for pair in named.items() if pair[1] is not None for word in pair]
    return ["quality", *map(str, flat)]


def test_quality_measures_every_style_size_and_precision(place: Path, capsys) -> None:
    more = ("--only", place / "held.txt", "--sheet", place / "sheet.png", "--flicker-photos", 1)
    more += ("--precisions", "fp32,bf16", "--lbfgs", "1,2", "--without", place / "before")
    assert main(arguments(place, *more)) == 0
    report = json.loads((place / "quality.json").read_text("utf-8"))
    assert report["machine"]["cpu"]
    quality = report["quality"]
    assert [photograph["name"] for photograph in quality["photographs"]] == ["2.webp", "0.webp"]
    assert quality["photographs"][0]["measured"] == [80, 65]
    assert quality["photographs"][0]["original"] == [62, 50]
    candy, mosaic = quality["styles"]
    assert candy["recipe"] == RECIPE
    assert [(row["network"], row["precision"]) for row in candy["networks"]] == [
        ("full", "FP32"),
        ("full", "BF16"),
        ("lite", "FP32"),
        ("lite", "BF16"),
    ]
    assert mosaic["networks"][-1]["not_run"] == "the pack has no lite network"
    for row in candy["networks"]:
        assert row["objective"] > 0
        assert row["still"] > 0
        assert row["panned"] > 0
        assert len(row["each"]) == 2
        assert (row["psnr_min"] is None) == (row["precision"] == "FP32")
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
        "BF16 dB",
        "from noise",
        "still, without",
        "Not run: Mosaic, lite",
    ):
        assert words in table
    assert table.splitlines()[0] in capsys.readouterr().out
    for name in ("sheet.png", "sheet-candy.png", "sheet-mosaic.png"):
        assert load_image(place / name).shape[1] > 3 * 256


def test_a_network_is_compared_with_the_iterations_that_reach_as_far() -> None:
    paths = [(9.0, 5.0, 3.0, 2.0), (9.0, 4.0, 2.0, 1.0), (9.0, 8.0, 7.0, 6.0)]
    assert _equals([3.0, 3.0, 6.5], paths) == 2
    assert _equals([1.0, 0.5, 9.0], paths) is None, "two of three are out of reach"
    assert _equals([9.0], paths[:1]) == 0


def test_a_style_is_added_to_a_report_that_was_made_alike(place: Path, capsys) -> None:
    quick = ("--lbfgs-photos", 0, "--flicker-photos", 0, "--precisions", "fp32")
    assert main(arguments(place, *quick, "--styles", "mosaic")) == 0
    add = [*arguments(place, *quick, "--styles", "candy"), "--add"]
    assert main(add) == 0
    report = place / "quality.json"
    styles = json.loads(report.read_text("utf-8"))["quality"]["styles"]
    assert [style["key"] for style in styles] == ["candy", "mosaic"]
    kept = report.read_bytes()
    assert main([*add, "--size", "96"]) == 1
    assert "was measured with another size" in capsys.readouterr().err
    assert report.read_bytes() == kept
    report.write_text("[1]")
    assert main(add) == 1
    assert "'quality.json' is not a report of quality" in capsys.readouterr().err


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
        _store(tmp_path / "report.json", {**same, "quality": quality}, add=True)

    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(add, keys))
    styles = json.loads((tmp_path / "report.json").read_text("utf-8"))["quality"]["styles"]
    assert sorted(style["key"] for style in styles) == keys


def test_mixes_begin_with_one_style_and_end_with_the_other(place: Path) -> None:
    mixing = ("--mix-sheet", place / "mix.png", "--pairs", "candy:mosaic,mosaic:candy")
    nothing = ("--json", None, "--vgg", None, "--styles-images", None)
    only = ("--photos", place / "photos" / "1.webp", "--size", 384)
    assert main(arguments(place, *mixing, *nothing, *only)) == 0
    page = load_image(place / "mix.png").astype(int)
    height = (page.shape[0] - 34 - 2 * 8) // 2  # below the head, two rows and their gaps
    above, below = page[34 : 34 + height], page[34 + height + 8 : 34 + 2 * height + 8]
    left = page.shape[1] - 5 * 384 - 4 * 8
    first, last = slice(left, left + 384), slice(-384, None)
    assert np.abs(above[:, first] - below[:, last]).max() == 0
    assert np.abs(above[:, last] - below[:, first]).max() == 0
    assert np.abs(above[:, first] - above[:, last]).mean() > 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--json", None), "pass --json, --sheet or --mix-sheet"),
        (("--vgg", None), "needs --vgg"),
        (("--vgg", "none.safetensors"), "'none.safetensors' does not exist"),
        (("--styles-images", None), "needs --styles-images"),
        (("--styles-images", "photos"), "holds no painting for the style 'candy'"),
        (("--styles", "udnie"), "there is no style 'udnie'"),
        (("--packs", "nowhere"), "the folder of styles 'nowhere' does not exist"),
        (("--packs", "photos"), "holds no style"),
        (("--photos", "nothing.jpg"), "'nothing.jpg' does not exist"),
        (("--photos", "held.txt"), "'held.txt' is not a picture but a text file"),
        (("--only", "other.txt"), "is not among --photos: 9.webp"),
        (("--only", "none.txt"), "the list 'none.txt' cannot be read"),
        (("--sheet", "sheet.gif"), "'sheet.gif' should end in .png"),
        (("--json", "nowhere/q.json"), "the folder 'nowhere' does not exist"),
        (("--json", "photos"), "'photos' is a folder"),
        (("--pairs", "candy:mosaic"), "--mix-sheet and --pairs go together"),
        (("--without", "photos"), "holds no 'candy' trained without the stability term"),
        (("--without", "packs"), "with the stability term, at a stability weight of 0.5"),
        (("--device", "cuda:77"), "there is no device 'cuda:77'"),
    ],
)
def test_what_cannot_be_measured_is_told_before(place, monkeypatch, capsys, more, says) -> None:
    monkeypatch.chdir(place)
    (place / "other.txt").write_text("9.webp\n")
    assert main(arguments(place, *more)) == 1
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert not (place / "quality.json").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--size", "20"), "64 to 4096"),
        (("--lbfgs", "0,5"), "a number of iterations"),
        (("--networks", "tiny"), "'tiny' is none of full, lite"),
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
    assert "'mosaic/style.toml' does not say what" in capsys.readouterr().err


def test_a_photograph_too_narrow_for_its_size_is_refused(place: Path, capsys) -> None:
    save_image(place / "photos" / "strip.png", picture(300, 60))
    assert main(arguments(place)) == 1
    assert "'strip.png' is too narrow: at --size 80" in capsys.readouterr().err


def test_the_command_needs_only_what_training_needs() -> None:
    check = (
        "import sys, app.commands.quality; "
        "sys.exit(bool({'PySide6', 'cv2', 'psutil'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False)
    assert done.returncode == 0
