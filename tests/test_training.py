"""Training: it learns, it resumes exactly, and whatever goes wrong costs nothing learned."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from app.cli import main
from app.commands.training_reports import Display
from app.styles import load
from models.checkpoints import load_checkpoint, save_checkpoint
from models.network_shape import LITE, network_shape
from models.training.checkpoint import resume_run, save_run
from models.training.config import TrainingConfig
from models.training.data import Crops, Photographs, find_photographs, load_photographs
from models.training.download import fetch
from models.training.errors import TrainingError
from models.training.features import CHANNELS, LAYERS, Vgg19Features, load_vgg
from models.training.losses import content_loss, gram, style_loss, total_variation
from models.training.objective import Objective
from models.training.pack import PackTexts, write_pack
from models.training.run import Run, fit
from models.training.stability import REACH, disturb, inside, stability_loss
from models.training.trainer import Progress, train
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from utils.image_utils import save_image

CPU = torch.device("cpu")
TINY = TrainingConfig(
    style_size=64, image_size=32, batch_size=2, iterations=6, num_residual_blocks=1
)
FLAGS = ("--style-size", "64", "--image-size", "32", "--batch-size", "2", "--device", "cpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def vgg_state() -> dict[str, Tensor]:
    """Random weights of VGG-19's shapes, scaled so that signals neither die nor explode."""
    generator = torch.Generator().manual_seed(1)
    state = {}
    for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
        weight = torch.randn(cout, cin, 3, 3, generator=generator) * (2 / (9 * cin)) ** 0.5
        state[f"features.{index}.weight"] = weight
        state[f"features.{index}.bias"] = torch.randn(cout, generator=generator) * 0.1
    return state


@pytest.fixture(scope="module")
def vgg_file(tmp_path_factory: pytest.TempPathFactory, vgg_state: dict[str, Tensor]) -> Path:
    path = tmp_path_factory.mktemp("vgg") / "vgg.safetensors"
    save_file(vgg_state, path, {"input": "BGR, 0-255, minus a mean"})
    return path


@pytest.fixture
def features(vgg_state: dict[str, Tensor]) -> Vgg19Features:
    return Vgg19Features(vgg_state, "caffe")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six photographs, one of them in a subfolder."""
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for n in range(6):
        place = tmp_path / "photos" / ("more" if n == 5 else "")
        save_image(place / f"{n}.png", picture(60 + n, 50, seed=n))
    return tmp_path / "photos"


@pytest.fixture
def style_file(tmp_path: Path) -> Path:
    save_image(tmp_path / "Great Wave.png", style())
    return tmp_path / "Great Wave.png"


def style() -> np.ndarray:
    """[48, 64, 3]: stripes, unlike any of the photographs."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, ::6] = (230, 40, 20)
    pixels[::6] = (20, 60, 200)
    return pixels


def photographs(count: int = 6, side: int = TINY.square) -> Photographs:
    pixels = np.stack([picture(side, side, seed=n) for n in range(count)])
    return Photographs(torch.from_numpy(pixels), tuple(f"{n}.png" for n in range(count)))


def tiny_run(features: Vgg19Features, config: TrainingConfig = TINY) -> Run:
    return Run(config, features, photographs(), style(), CPU)


def command(folder: Path, style_file: Path, vgg: Path, out: Path, *more: str) -> list[str]:
    named = ("--style-image", style_file, "--dataset", folder, "--vgg", vgg, "-o", out)
    return ["train", *map(str, named), *FLAGS, *more]


# Losses


def test_a_gram_matrix_holds_the_mean_products_of_channels() -> None:
    features = torch.tensor([[[[1.0, 2.0]], [[3.0, -1.0]]]])  # two channels, two pixels
    assert gram(features).tolist() == [[[2.5, 0.5], [0.5, 5.0]]]


def test_losses_are_zero_at_the_target_and_one_at_nothing() -> None:
    target = torch.rand(2, 8, 4, 4)
    grams = {"relu1_1": gram(target)}
    one = {"relu1_1": gram(target[:1])}
    assert content_loss(target, target) == 0
    assert content_loss(torch.zeros_like(target), target) == 1
    assert style_loss({"relu1_1": gram(target[:1])}, one) == 0
    assert style_loss({"relu1_1": torch.zeros_like(grams["relu1_1"])}, one) == 1


def test_total_variation_sums_the_mean_squares_across_and_down() -> None:
    image = torch.tensor([[[[0.0, 2.0], [0.0, 4.0]]]])
    assert total_variation(image) == (4 + 16) / 2 + (0 + 4) / 2


def test_the_style_picture_itself_has_no_style_loss_at_any_scale(features: Vgg19Features) -> None:
    config = TrainingConfig(style_size=64, image_size=32, style_scales=(1.0, 0.5))
    image = torch.tensor(style()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        objective = Objective(config, features, image)
        _, content, loss, _ = objective(image, image).tolist()
        other = objective(image.flip(1), image).tolist()[2]
    assert content == 0
    assert loss < 1e-9 < other


def test_a_style_picture_too_flat_for_its_smallest_scale_is_refused(
    features: Vgg19Features,
) -> None:
    config = TrainingConfig(style_size=64, image_size=32, style_scales=(1.0, 0.5))
    with pytest.raises(TrainingError, match=r"short side is 10 pixels .* needs 16"):
        Objective(config, features, torch.zeros(1, 3, 20, 64))


# The judging network


def test_one_network_in_either_input_convention_sees_the_same(vgg_state: dict[str, Tensor]) -> None:
    caffe = Vgg19Features(vgg_state, "caffe")
    images = torch.rand(1, 3, 32, 32) * 255
    first = torch.nn.functional.conv2d(
        images[:, [2, 1, 0]] - torch.tensor([103.939, 116.779, 123.68])[None, :, None, None],
        vgg_state["features.0.weight"],
        vgg_state["features.0.bias"],
        padding=1,
    ).relu()
    torch.testing.assert_close(caffe(images)["relu1_1"], first, rtol=1e-4, atol=1e-3)

    normalised = Vgg19Features(vgg_state, "torchvision")
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    second = torch.nn.functional.conv2d(
        (images / 255 - mean[:, None, None]) / deviation[:, None, None],
        vgg_state["features.0.weight"],
        vgg_state["features.0.bias"],
        padding=1,
    ).relu()
    torch.testing.assert_close(normalised(images)["relu1_1"], second, rtol=1e-4, atol=1e-4)


def test_features_have_the_published_shapes_and_no_gradients(features: Vgg19Features) -> None:
    seen = features(torch.rand(2, 3, 32, 48))
    assert list(seen) == list(LAYERS.values())
    assert seen["relu1_2"].shape == (2, 64, 32, 48)
    assert seen["relu2_1"].shape == (2, 128, 16, 24)
    assert seen["relu3_4"].shape == (2, 256, 8, 12)
    assert list(features(torch.rand(1, 3, 32, 32), "relu2_1"))[-1] == "relu2_1"
    assert not any(p.requires_grad for p in features.parameters())


@pytest.mark.parametrize("said", ["BGR, 0-255", "RGB / 255, normalised"])
def test_a_safetensors_file_says_which_input_it_wants(
    tmp_path: Path, vgg_state: dict[str, Tensor], said: str
) -> None:
    save_file(vgg_state, tmp_path / "v.safetensors", {"input": said})
    expected = Vgg19Features(vgg_state, "caffe" if said.startswith("BGR") else "torchvision")
    assert torch.equal(load_vgg(tmp_path / "v.safetensors").mean, expected.mean)


def test_a_torch_file_is_read_once_its_input_is_told(
    tmp_path: Path, vgg_state: dict[str, Tensor]
) -> None:
    path = tmp_path / "vgg.pth"
    torch.save(vgg_state, path)
    with pytest.raises(TrainingError, match=r"does not say .* --vgg-input caffe or torchvision"):
        load_vgg(path)
    assert load_vgg(path, "torchvision")(torch.rand(1, 3, 32, 32))["relu3_4"].isfinite().all()


def test_what_is_not_vgg_is_told_in_a_sentence(
    tmp_path: Path, vgg_state: dict[str, Tensor], vgg_file: Path
) -> None:
    def told(path: Path) -> str:
        with pytest.raises(TrainingError) as caught:
            load_vgg(path, "caffe")
        return str(caught.value)

    assert "does not exist" in told(tmp_path / "absent.pth")
    page = tmp_path / "page.pth"
    page.write_text("<!doctype html><html>404</html>")
    assert told(page) == "'page.pth' is not a file of weights"
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(vgg_file.read_bytes()[:5000])
    assert "'cut.safetensors' is a damaged safetensors file" in told(cut)
    listed = tmp_path / "list.pth"
    torch.save([1, 2], listed)
    assert "holds no table of weights" in told(listed)
    partial_state = {k: v for k, v in vgg_state.items() if k != "features.16.bias"}
    save_file(partial_state, tmp_path / "partial.safetensors")
    assert told(tmp_path / "partial.safetensors").endswith("of another shape: features.16.bias")
    save_file(vgg_state | {"features.0.bias": torch.full((64,), torch.nan)}, tmp_path / "nan.st")
    assert "not finite" in told(tmp_path / "nan.st")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Not to stderr."""

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_download_is_checked_and_kept(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    data = bytes(range(256)) * 9000
    (tmp_path / "served" / "vgg.pth").write_bytes(data)
    cache = tmp_path / "cache"
    seen: list[tuple[int, int]] = []
    with serving(tmp_path / "served") as server:
        address = f"{server}/vgg.pth"
        with pytest.raises(TrainingError, match="checksum is wrong"):
            fetch(address, cache, "00000000")
        assert list(cache.iterdir()) == []
        path = fetch(address, cache, sha256(data).hexdigest()[:8], lambda *at: seen.append(at))
        with pytest.raises(TrainingError, match=r"vgg2\.pth \(.*\); pass .* with --vgg"):
            fetch(f"{server}/vgg2.pth", cache, "")
    assert path.read_bytes() == data
    assert seen[-1] == (len(data), len(data))
    assert fetch(address, cache, "unasked") == path  # no server any more: it comes from the cache
    with pytest.raises(TrainingError, match=r"could not be downloaded .* with --vgg"):
        fetch(f"{server}/other.pth", cache, "")


# Photographs


def test_every_photograph_comes_once_before_any_comes_again() -> None:
    pixels = torch.arange(5, dtype=torch.uint8)[:, None, None, None].expand(5, 36, 36, 3)
    crops = Crops(Photographs(pixels, tuple("abcde")), 32, 2, seed=3, device=CPU)
    seen = [int(value) for step in range(10) for value in crops(step)[:, 0, 0, 0]]
    epochs = [seen[n : n + 5] for n in range(0, 20, 5)]
    assert all(sorted(epoch) == [0, 1, 2, 3, 4] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_a_crop_is_a_window_of_its_photograph_mirrored_or_not() -> None:
    source = photographs(1)
    crops = Crops(source, 32, 4, seed=0, device=CPU)
    whole = source.pixels[0].permute(2, 0, 1).float()
    windows = [
        window
        for top in range(TINY.square - 31)
        for left in range(TINY.square - 31)
        for window in [whole[:, top : top + 32, left : left + 32]]
    ]
    mirrored = [window.flip(2) for window in windows]
    batches = torch.cat([crops(step) for step in range(8)])
    assert batches.is_contiguous(memory_format=torch.channels_last)
    assert batches.dtype == torch.float32
    plain = sum(any(torch.equal(crop, w) for w in windows) for crop in batches)
    flipped = sum(any(torch.equal(crop, w) for w in mirrored) for crop in batches)
    assert plain + flipped == 32
    assert 6 < plain < 26


def test_the_crops_of_a_step_depend_on_seed_and_step_alone() -> None:
    def batch(seed: int, step: int) -> Tensor:
        return Crops(photographs(), 32, 2, seed, CPU)(step)

    assert torch.equal(batch(1, 7), batch(1, 7))
    assert not torch.equal(batch(1, 7), batch(2, 7))
    assert not torch.equal(batch(1, 7), batch(1, 8))


def test_a_corrupt_photograph_is_skipped_and_named(folder: Path) -> None:
    (folder / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (folder / "notes.txt").write_text("not a picture, nor called one")
    loaded = load_photographs(find_photographs(folder), 36, limit=100)
    assert loaded.names == ("0.png", "2.png", "3.png", "4.png", "5.png")
    assert len(loaded.skipped) == 1
    assert "1.png" in loaded.skipped[0]
    assert loaded.pixels.shape == (5, 36, 36, 3)
    expected = load_photographs([folder / "2.png"], 36, limit=1).pixels[0]
    assert torch.equal(loaded.pixels[1], expected)


@pytest.mark.parametrize("margin", [0, 4])
def test_a_photograph_of_one_colour_is_skipped_for_it_would_end_the_run(
    folder: Path, features: Vgg19Features, margin: int
) -> None:
    wall = np.full((TINY.square, TINY.square, 3), (250, 240, 200), np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, wall.shape, np.uint8)
    noise[margin : TINY.square - margin, margin : TINY.square - margin] = (250, 240, 200)
    save_image(folder / "7.png", noise)  # some crops of it show the wall alone
    paths = find_photographs(folder)
    loaded = load_photographs(paths, TINY.square, limit=100)
    assert loaded.skipped == ("'7.png' is of one colour",)
    assert len(loaded) == 6

    pixels = torch.from_numpy(np.stack([wall, picture(TINY.square, TINY.square)]))
    deep = replace(TINY, num_residual_blocks=5)
    run = Run(deep, features, Photographs(pixels, ("a", "b")), style(), CPU)
    run.step()
    gradients = [p.grad for p in run.network.parameters() if p.grad is not None]
    harm = not bool(torch.nn.utils.get_total_norm(gradients).isfinite())
    assert harm, "such photographs do no harm; there is no need to skip them"


def test_a_folder_without_photographs_is_told_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="does not exist"):
        find_photographs(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match="holds no photographs"):
        find_photographs(tmp_path / "empty")
    (tmp_path / "empty" / "a.jpg").write_bytes(b"nothing")
    with pytest.raises(TrainingError, match=r"none of the 1 photographs can be used: 'a.jpg'"):
        load_photographs(find_photographs(tmp_path / "empty"), 36, limit=10)


def test_photographs_can_be_left_out_by_name_or_path(folder: Path) -> None:
    kept = find_photographs(folder, ["0.png", "more/5.png"])
    assert [path.name for path in kept] == ["1.png", "2.png", "3.png", "4.png"]
    with pytest.raises(TrainingError, match=r"not in .*: 9\.png"):
        find_photographs(folder, ["9.png"])
    with pytest.raises(TrainingError, match="every photograph"):
        find_photographs(folder, [f"{n}.png" for n in range(6)])


def test_of_a_large_folder_a_seeded_draw_is_kept(folder: Path) -> None:
    paths = find_photographs(folder)
    first, again = (load_photographs(paths, 36, limit=3, seed=1) for _ in range(2))
    assert len(first) == 3
    assert first.names == again.names
    draws = {load_photographs(paths, 36, limit=3, seed=s).names for s in range(5)}
    assert len(draws) > 1


# The run


def test_the_learning_rate_is_held_and_then_falls_to_a_tenth() -> None:
    config = TrainingConfig(iterations=100, lr=1e-3)
    assert config.learning_rate(0) == config.learning_rate(60) == 1e-3
    assert config.learning_rate(80) == pytest.approx(5.5e-4)
    assert config.learning_rate(100) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lr": float("nan")}, "lr should be more than 0 and at most 1, not nan"),
        ({"batch_size": 0}, "batch_size should be 1 or more, not 0"),
        ({"image_size": 50}, "image_size should be a multiple of 4 from 32 on, not 50"),
        ({"style_weight": -1.0}, "style_weight should be 0 or more"),
        ({"style_scales": (1.0, 0.01)}, "leave at least 16 pixels"),
        ({"precision": "int8"}, "fp32 or bf16"),
    ],
)
def test_a_recipe_out_of_range_is_refused_by_name(changes: dict, told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        TrainingConfig(**changes)


def test_epochs_are_counted_in_whole_batches() -> None:
    assert TrainingConfig(batch_size=8).for_epochs(2, 1001) == 251


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_makes_the_loss_fall(
    features: Vgg19Features, tmp_path: Path, precision: str
) -> None:
    config = TrainingConfig(
        style_size=64, image_size=64, batch_size=1, iterations=40, lr=5e-3, precision=precision
    )
    run = Run(config, features, photographs(side=config.square), style(), CPU)
    seen = list(train(run, tmp_path / "run.pt", preview=lambda: picture(50, 42), preview_seconds=0))
    first, last = seen[:8], seen[-8:]
    assert sum(p.loss for p in last) < 0.97 * sum(p.loss for p in first)
    assert sum(p.style for p in last) < 0.85 * sum(p.style for p in first)
    assert [p.iteration for p in seen] == list(range(1, 41))
    assert seen[-1].seconds_left == 0
    assert seen[-1].preview is not None
    assert seen[-1].preview.shape == (42, 50, 3)
    assert all(p.per_second > 0 for p in seen)


@pytest.mark.gpu
def test_training_on_a_gpu_makes_the_loss_fall_and_resumes(
    features: Vgg19Features, tmp_path: Path
) -> None:
    config = TrainingConfig(
        style_size=64, image_size=64, batch_size=4, iterations=60, lr=5e-3, precision="bf16"
    )

    def fresh() -> Run:
        source = photographs(side=config.square)
        return Run(config, features, source, style(), torch.device("cuda"))

    run = fresh()
    half = list(train(run, tmp_path / "run.pt", stop=lambda: run.iteration == 40))
    assert [p.iteration for p in half] == [20, 40]
    other = fresh()
    resume_run(tmp_path / "run.pt", other)
    rest = list(train(other, tmp_path / "run.pt"))
    assert [p.iteration for p in rest] == [60]
    assert rest[-1].style < half[0].style
    assert other.healthy()


def test_a_resumed_run_ends_bit_equal_to_one_never_stopped(
    features: Vgg19Features, tmp_path: Path
) -> None:
    whole = tiny_run(features)
    for _ in train(whole, tmp_path / "whole.pt"):
        pass

    half = tiny_run(features)
    for _ in train(half, tmp_path / "half.pt", stop=lambda: half.iteration == 3):
        pass
    assert half.iteration == 3
    other = tiny_run(features)
    resume_run(tmp_path / "half.pt", other)
    losses = [p.loss for p in train(other, tmp_path / "half.pt")]

    assert len(losses) == 3
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, other.network.state_dict()[name]), name


def test_a_run_begins_from_given_weights(features: Vgg19Features) -> None:
    given = {k: v + 1 for k, v in tiny_run(features).network.state_dict().items()}
    run = Run(TINY, features, photographs(), style(), CPU, given)
    assert all(torch.equal(v, given[k]) for k, v in run.network.state_dict().items())


def test_the_same_seed_begins_the_same_and_leaves_the_generator_of_others_alone(
    features: Vgg19Features,
) -> None:
    torch.manual_seed(5)
    first = tiny_run(features).network.state_dict()
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))
    again = tiny_run(features).network.state_dict()
    assert all(torch.equal(v, again[k]) for k, v in first.items())


def test_a_run_is_not_resumed_with_other_settings(features: Vgg19Features, tmp_path: Path) -> None:
    for _ in train(tiny_run(features), tmp_path / "run.pt", stop=lambda: False):
        pass
    other = TrainingConfig(
        style_size=32, image_size=32, batch_size=2, iterations=6, num_residual_blocks=1, lr=0.01
    )
    with pytest.raises(TrainingError) as caught:
        resume_run(tmp_path / "run.pt", tiny_run(features, other))
    assert "style size 64 rather than 32" in str(caught.value)
    assert "lr 0.001 rather than 0.01" in str(caught.value)
    assert "another" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"<html>", b"PK\x03\x04 cut short"])
def test_a_damaged_checkpoint_is_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(TrainingError, match="is not a training checkpoint, or is damaged"):
        resume_run(tmp_path / "run.pt", tiny_run(features))
    torch.save({"conv": torch.ones(1)}, tmp_path / "weights.pt")
    with pytest.raises(TrainingError, match="is not a training checkpoint"):
        resume_run(tmp_path / "weights.pt", tiny_run(features))


@pytest.mark.parametrize(
    "damage",
    [
        {"network": {}},
        {"optimizer": {}},
        {"identity": "{"},
        {"identity": "[1]"},
        {"identity": None},
        {"iteration": -1},
        {"iteration": 7},
        {"iteration": "6"},
        {"seconds": None},
        {"seconds": float("nan")},
    ],
    ids=str,
)
def test_a_checkpoint_with_nonsense_in_it_is_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, damage: dict[str, object]
) -> None:
    run = tiny_run(features)
    run.step()
    save_run(tmp_path / "run.pt", run)
    state = torch.load(tmp_path / "run.pt", weights_only=True)
    torch.save(state | damage, tmp_path / "run.pt")
    with pytest.raises(TrainingError, match=r"'.*run\.pt' is .*damaged"):
        resume_run(tmp_path / "run.pt", tiny_run(features))


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_state(
    features: Vgg19Features, tmp_path: Path
) -> None:
    run = tiny_run(features)
    steps = train(run, tmp_path / "run.pt", checkpoint_interval=2)
    assert [next(steps).iteration, next(steps).iteration] == [1, 2]
    good = {k: v.clone() for k, v in run.network.state_dict().items()}
    next(steps)
    next(run.network.parameters()).data[0] = torch.nan
    with pytest.raises(TrainingError) as caught:
        next(steps)
    assert "stopped at iteration 4: the loss is no longer a finite number" in str(caught.value)
    assert "iteration 2 are kept" in str(caught.value)
    assert all(torch.equal(v, good[k]) for k, v in run.network.state_dict().items())
    fresh = tiny_run(features)
    resume_run(tmp_path / "run.pt", fresh)
    assert fresh.iteration == 2
    assert all(torch.equal(v, good[k]) for k, v in fresh.network.state_dict().items())


def test_a_run_that_breaks_at_once_says_that_nothing_was_learned(
    features: Vgg19Features, tmp_path: Path
) -> None:
    bad = {k: v + torch.nan for k, v in tiny_run(features).network.state_dict().items()}
    run = Run(TINY, features, photographs(), style(), CPU, bad)
    with pytest.raises(TrainingError, match=r"nothing was learned yet; try a smaller --lr"):
        next(train(run, tmp_path / "run.pt"))
    assert not (tmp_path / "run.pt").exists()


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file may grow beyond `limit` bytes, as on a disk that is almost full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_leaves_the_checkpoint_before(
    features: Vgg19Features, tmp_path: Path
) -> None:
    run = tiny_run(features)
    steps = train(run, tmp_path / "run.pt", checkpoint_interval=2)
    for progress in steps:
        if progress.iteration == 3:
            break
    with (
        small_files(100_000),
        pytest.raises(TrainingError, match=r"iteration 4 could not be written \(File too large\)"),
    ):
        next(steps)
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]
    fresh = tiny_run(features)
    resume_run(tmp_path / "run.pt", fresh)
    assert fresh.iteration == 2


# The pack


def test_a_pack_survives_any_text(tmp_path: Path, features: Vgg19Features) -> None:
    state = tiny_run(features).network.state_dict()
    odd = 'quote " backslash \\ tab \t line \n bell \x07 del \x7f é 🎨'
    facts = {"flag": True, "share": 1e-6, "scales": (1.0, 0.5), "count": 3, "note": odd}
    write_pack(tmp_path / "odd", PackTexts(odd, odd, ""), state, picture(), facts)
    spec = tomllib.loads((tmp_path / "odd" / "style.toml").read_text("utf-8"))
    assert spec["title"] == spec["credit"] == spec["training"]["note"] == odd
    assert spec["training"] == {**facts, "scales": [1.0, 0.5]}


def test_a_full_disk_leaves_the_older_pack_alone(tmp_path: Path, features: Vgg19Features) -> None:
    state = tiny_run(features).network.state_dict()
    target = tmp_path / "packs" / "wave"
    write_pack(target, PackTexts("Old"), state, picture(), {})
    with small_files(50_000), pytest.raises(TrainingError, match=r"'.*wave' could not be written"):
        write_pack(target, PackTexts("New"), state, picture(), {})
    assert load(target).title == "Old"
    assert [path.name for path in target.parent.iterdir()] == ["wave"]
    write_pack(target, PackTexts("New"), state, picture(), {})
    assert load(target).title == "New"
    assert [path.name for path in target.parent.iterdir()] == ["wave"]


# The command


def test_the_command_makes_a_pack_the_program_reads(
    folder: Path,
    style_file: Path,
    vgg_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "3.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (tmp_path / "left_out.txt").write_text("# held out\n\n4.png\n")
    out = tmp_path / "packs"
    more = ("--exclude", str(tmp_path / "left_out.txt"), "--credit", "Hokusai", "--epochs", "2")
    assert main(command(folder, style_file, vgg_file, out, *more, "--style-scales", "1,0.5")) == 0
    said = capsys.readouterr().out
    assert "Skipped 1: '3.png'" in said
    assert "4/4  loss" in said
    assert [path.name for path in out.iterdir()] == ["great_wave"]
    pack = load(out / "great_wave")
    assert (pack.title, pack.credit) == ("Great Wave", "Hokusai")
    assert pack.sha256 == sha256(pack.weights.read_bytes()).hexdigest()
    assert pack.thumbnail is not None
    TransformerNetBaseline().load_state_dict(load_checkpoint(pack.weights))
    training = tomllib.loads((out / "great_wave" / "style.toml").read_text("utf-8"))["training"]
    assert training["iterations"] == 4  # two epochs of four photographs, two a batch
    assert training["style_scales"] == [1.0, 0.5]
    assert training["photographs"] == 4
    assert training["final_loss"] > 0
    assert "--style-image 'Great Wave.png'" in training["command"]
    assert str(tmp_path) not in training["command"]

    again = command(folder, style_file, vgg_file, out, "--iterations", "1")
    assert main(again) == 1
    assert "great_wave' exists; choose another --name" in capsys.readouterr().err
    assert main([*again, "--overwrite", "--init", str(pack.weights)]) == 0
    weights = tmp_path / "alone.safetensors"
    assert main(command(folder, style_file, vgg_file, weights, "--iterations", "1")) == 0
    TransformerNetBaseline().load_state_dict(load_checkpoint(weights))


Change = Callable[[list[str]], list[str]]


def swapped(flag: str, value: str) -> Change:
    def change(argv: list[str]) -> list[str]:
        place = argv.index(flag) + 1
        return [*argv[:place], value, *argv[place + 1 :]]

    return change


def added(*more: str) -> Change:
    return lambda argv: [*argv, *more]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (swapped("--style-image", "absent.png"), "'absent.png' does not exist"),
        (swapped("--style-image", __file__), "is not a picture"),
        (swapped("--dataset", "absent"), "the folder of photographs 'absent' does not exist"),
        (swapped("--vgg", "absent.pth"), "the VGG-19 file 'absent.pth' does not exist"),
        (swapped("-o", "style.pth"), "weights are written as .safetensors, not 'style.pth'"),
        (swapped("-o", __file__), "is a file; -o takes a folder or a .safetensors file"),
        (swapped("--device", "cuda:99"), "there is no device 'cuda:99'"),
        (swapped("-o", f"{__file__}/out"), "nothing can be written to"),
        (added("--seed", str(1 << 63)), "seed should be 0 or more, in 63 bits"),
        (added("--name", "../up"), "--name should be lower-case letters"),
        (added("--resume"), "there is no run to resume"),
        (added("--exclude", "absent.txt"), "the list 'absent.txt' cannot be read"),
        (added("--init", "absent.pth"), "absent.pth"),
        (added("--lr", "0"), "lr should be more than 0 and at most 1, not 0.0"),
        (added("--checkpoint-interval", "0"), "the checkpoint interval should be 1 or more"),
        (added("--cache-photos", "0"), "should be 1 or more, not 0"),
        (added("--preview", "absent.png"), "'absent.png' does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    folder: Path,
    style_file: Path,
    vgg_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    told: str,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(change(command(folder, style_file, vgg_file, Path("out")))) == 1
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert list((tmp_path / "here").iterdir()) == []


def test_a_folder_that_is_no_pack_is_never_replaced(
    folder: Path,
    style_file: Path,
    vgg_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = tmp_path / "out" / "great_wave" / "diary.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert main(command(folder, style_file, vgg_file, tmp_path / "out", "--overwrite")) == 1
    assert "exists and is not a style pack" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_ctrl_c_keeps_what_was_learned_and_resume_goes_on(
    folder: Path,
    style_file: Path,
    vgg_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    argv = command(folder, style_file, vgg_file, out, "--iterations", "40", "--json-progress")
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "progress" and events[-1]["iteration"] == 3:
            process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert errors == ""
    assert process.returncode == 130
    assert {"loading", "note", "progress"} <= {event["event"] for event in events}
    stopped = events[-1]["text"]
    assert "with --resume goes on" in stopped
    last = events[-2]["iteration"]
    assert 3 <= last < 40
    assert (out / "great_wave.preview.png").is_file()

    assert main(argv) == 1
    assert "holds an unfinished run; pass --resume" in capsys.readouterr().err
    assert main([*argv, "--resume"]) == 0
    resumed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    iterations = [e["iteration"] for e in resumed if e["event"] == "progress"]
    assert iterations == list(range(last + 1, 41))
    assert resumed[-1]["event"] == "finished"
    assert [path.name for path in out.iterdir()] == ["great_wave"]


def test_the_display_shows_loss_pace_and_preview(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    progress = Progress(50, 100, 0.5, 0.1, 20.0, 0.7, 12.3, 65.0, picture(), 0)
    with Display() as display:
        display.loading("Photographs", 3, 10)
        display.progress(progress, tmp_path / "[odd] name.png")
        display.finished(tmp_path / "pack", 3725)
    said = capsys.readouterr().out.replace("\n", "")
    assert "50/100  loss 0.700 (content 0.500, style 0.100)  12.3 it/s, 1:05 left" in said
    assert "[odd] name.png" in said
    assert "after 1:02:05 of training" in said


def test_a_picture_is_fitted_by_its_long_side() -> None:
    assert fit(picture(40, 20), 64).shape == (32, 64, 3)
    assert fit(picture(64, 20), 64).shape == (20, 64, 3)


# Steadiness, lite networks, teachers


def test_a_disturbed_frame_is_the_same_scene_a_moment_later():
    windows = torch.from_numpy(np.stack([picture(80, 64, seed) for seed in range(3)]))
    windows = windows.permute(0, 3, 1, 2).float()
    later = disturb(windows, 7, 3)
    assert later.frames.shape == inside(windows).shape == (3, 3, 64 - 2 * REACH, 80 - 2 * REACH)
    top, left = later.down + REACH, later.right + REACH
    same = windows[..., top : top + 56, left : left + 72]
    assert 0.1 < (later.frames - same).abs().mean() < 15
    assert 0 <= later.frames.min() <= later.frames.max() <= 255
    assert torch.equal(disturb(windows, 7, 3).frames, later.frames)
    places = {(d.down, d.right) for d in (disturb(windows, 7, step) for step in range(60))}
    assert len(places) > 30
    assert {down for down, _ in places} == set(range(-REACH, REACH + 1))


def test_stability_is_nought_for_what_moves_with_the_picture_and_large_for_what_does_not():
    windows = torch.from_numpy(picture(80, 64))[None].permute(0, 3, 1, 2).float()
    moved = windows[..., 7 : 7 + 56, 1 : 1 + 72]  # down 3, left 3
    assert stability_loss(inside(windows), moved, 3, -3) == 0
    assert stability_loss(inside(windows), moved, 0, 0) > 0.01
    assert stability_loss(inside(windows), moved.flip(-1), 3, -3) > 0.1


def test_the_stability_term_is_learned(features: Vgg19Features, tmp_path: Path) -> None:
    config = replace(TINY, image_size=64, iterations=30, lr=3e-3, stability_weight=20.0)
    run = Run(config, features, photographs(side=config.square), style(), CPU)
    seen = list(train(run, tmp_path / "run.pt"))
    assert all(p.stability > 0 for p in seen)
    assert sum(p.stability for p in seen[-8:]) < 0.7 * sum(p.stability for p in seen[:8])


def test_a_pupil_comes_nearer_to_its_teacher(features: Vgg19Features, tmp_path: Path) -> None:
    teacher = TransformerNetBaseline(1)
    state = teacher.state_dict()
    state["deconv3.conv2d.weight"].mul_(100)
    state["deconv3.conv2d.bias"].fill_(120)
    config = replace(
        TINY, iterations=30, lr=3e-3, style_weight=0, teacher_weight=1.0, widths=(8, 16, 16)
    )
    run = Run(config, features, photographs(side=config.square), style(), CPU, teacher=teacher)
    seen = list(train(run, tmp_path / "run.pt"))
    assert sum(p.teacher for p in seen[-8:]) < 0.8 * sum(p.teacher for p in seen[:8])


def test_a_lite_network_goes_beside_the_full_one(
    folder: Path, style_file: Path, vgg_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "styles"
    named = ("--name", "sketch", "--iterations", "2")
    full = command(folder, style_file, vgg_file, out, *named)
    assert main(full) == 0
    before = (out / "sketch" / "weights.safetensors").read_bytes()
    teacher = ("--teacher", str(out / "sketch" / "weights.safetensors"), "--teacher-weight", "1")
    lite = [*full, "--network", "lite", *teacher, "--stability-weight", "2"]
    assert main(lite) == 0
    pack = out / "sketch"
    assert (pack / "weights.safetensors").read_bytes() == before
    assert network_shape(load_checkpoint(pack / "lite.safetensors")) == LITE
    spec = tomllib.loads((pack / "style.toml").read_text("utf-8"))
    assert spec["lite_weights"] == "lite.safetensors"
    assert spec["lite_sha256"] == sha256((pack / "lite.safetensors").read_bytes()).hexdigest()
    assert spec["training"]["widths"] == [32, 64, 128]
    assert spec["lite_training"]["widths"] == [16, 32, 48]
    assert spec["lite_training"]["final_stability"] > 0
    assert "--network lite" in spec["lite_training"]["command"]
    assert [p.name for p in out.iterdir()] == ["sketch"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--teacher-weight", "1"), "needs a --teacher"),
        (("--teacher", "{weights}"), "needs a --teacher-weight above 0"),
        (("--init", "{weights}", "--network", "lite"), "is not a lite network"),
        (("--stability-weight", "-1"), "stability_weight should be 0 or more"),
        (("--init-share", "0.5"), "needs an --init"),
        (("--init", "{weights}", "--init-share", "1"), "from 0 to less than 1"),
    ],
)
def test_contradictions_are_told_in_a_sentence(
    more, sentence, folder: Path, style_file: Path, vgg_file: Path, tmp_path: Path, capsys
) -> None:
    weights = tmp_path / "full.safetensors"
    save_checkpoint(weights, TransformerNetBaseline(1).state_dict())
    more = [word.format(weights=weights) for word in more]
    assert main(command(folder, style_file, vgg_file, tmp_path / "out", *more)) != 0
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_a_share_of_the_first_weights_stays_in_the_result(
    folder: Path, style_file: Path, vgg_file: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    first, whole, half = (tmp_path / f"{name}.safetensors" for name in ("first", "whole", "half"))
    save_checkpoint(first, TransformerNetBaseline(1).state_dict())
    more = ("--iterations", "2", "--lr", "0.01", "--init", str(first))
    assert main(command(folder, style_file, vgg_file, whole, *more)) == 0
    assert main(command(folder, style_file, vgg_file, half, *more, "--init-share", "0.25")) == 0
    before, after, between = (load_checkpoint(path) for path in (first, whole, half))
    for name, value in between.items():
        assert torch.allclose(value, 0.25 * before[name] + 0.75 * after[name], atol=2e-3)
    assert any(not torch.allclose(between[name], after[name], atol=2e-3) for name in after)
