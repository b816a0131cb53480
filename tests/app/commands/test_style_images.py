"""`stylize --style-image` uses pictures as styles, and `styles add-picture` saves them."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
import torch

from app.cli import main
from app.commands.stylize.style_images import StyleImage, style_image
from app.styles.catalog import user_folder
from models.families.any_style import AnyStyleNetwork
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from tests.helpers.errors import mentions
from utils.images.metadata import read_metadata
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels


@pytest.fixture
def network(tmp_path):
    return save_tiny(tmp_path / "net.safetensors")


@pytest.fixture
def paintings(tmp_path):
    made = [tmp_path / "red.png", tmp_path / "blue_sea.jpg"]
    for channel, path in zip((0, 2), made, strict=True):
        pixels = picture(96, 72, channel)
        pixels[..., channel] = 250
        write_pixels(path, pixels)
    return made


def painted(photo, out, *flags: object) -> int:
    return main(["stylize", str(photo), "-o", str(out), "--device", "cpu", *map(str, flags)])


def test_a_picture_is_painted_in_the_style_of_another(photo, network, paintings, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert painted(photo, out, "--style-image", paintings[0], "--style-network", network) == 0
    shared = AnyStyleNetwork.load(network)
    code = shared.encode(read_pixels(paintings[0])).values
    x = torch.tensor(read_pixels(photo)).permute(2, 0, 1)[None].float()
    with torch.inference_mode():
        y = shared.module().stylize(x, code)[0].clamp(0, 255) + 0.5
    expected = y.to(torch.uint8).permute(1, 2, 0).numpy()
    assert np.abs(read_pixels(out).astype(int) - expected).max() <= 1
    about = read_metadata(out)
    name = f"Any style (custom, {shared.digest[:12]})"
    assert (about["Style"], about["Network"]) == ("Red", name)
    assert f"({name}, Fused, FP32, CPU" in capsys.readouterr().err
    assert not user_folder().exists()


@pytest.mark.parametrize(
    ("shares", "label"),
    [
        (("", ":0.4"), "Red 60 %, Blue Sea 40 %"),
        ((":0.7", ""), "Red 70 %, Blue Sea 30 %"),
        (("", ""), "Red 50 %, Blue Sea 50 %"),
        ((":0.2", ":0.6"), "Red 25 %, Blue Sea 75 %"),
        ((":0", ":0"), "Red 50 %, Blue Sea 50 %"),
    ],
)
def test_two_style_pictures_are_mixed_by_their_shares(
    photo, network, paintings, tmp_path, shares, label
):
    out = tmp_path / "out.png"
    flags = [f"--style-image={path}{share}" for path, share in zip(paintings, shares, strict=True)]
    assert painted(photo, out, *flags, "--style-network", network) == 0
    assert read_metadata(out)["Style"] == label


def test_a_style_picture_is_mixed_with_a_style_of_the_gallery(photo, network, paintings, tmp_path):
    red, blue = paintings
    assert main(["styles", "add-picture", str(blue), "--network", str(network)]) == 0
    out = tmp_path / "out.png"
    flags = ("--style-image", red, "--style-network", network, "--mix", "blue_sea:0.3")
    assert painted(photo, out, *flags) == 0
    assert read_metadata(out)["Style"] == "Red 70 %, Blue Sea 30 %"


@pytest.mark.parametrize(
    ("shares", "mix", "label"),
    [
        pytest.param(
            (":0.5", ":0.3", ":0.2"),
            (),
            "Red 50 %, Blue Sea 30 %, Green 20 %",
            marks=pytest.mark.full,
        ),
        (("", ":0.4", ""), (), "Red 30 %, Blue Sea 40 %, Green 30 %"),
        pytest.param(
            (":0.5", ":0.5", ":1"),
            (),
            "Red 25 %, Blue Sea 25 %, Green 50 %",
            marks=pytest.mark.full,
        ),
        pytest.param(
            ("", ""), ("kept:0.2",), "Red 40 %, Blue Sea 40 %, Kept 20 %", marks=pytest.mark.full
        ),
        (("",), ("kept:0.2", "more"), "Red 40 %, Kept 20 %, More 40 %"),
    ],
)
def test_up_to_four_styles_of_pictures_are_mixed(
    photo, network, paintings, tmp_path, shares, mix, label
):
    write_pixels(tmp_path / "green.png", picture(96, 72, 9))
    for title in ("Kept", "More"):
        add = ["styles", "add-picture", str(paintings[0]), "--network", str(network)]
        assert main([*add, "--title", title]) == 0
    pictures = (*paintings, tmp_path / "green.png")
    flags = [f"--style-image={path}{share}" for path, share in zip(pictures, shares, strict=False)]
    out = tmp_path / "out.png"
    more = [f"--mix={each}" for each in mix]
    assert painted(photo, out, *flags, *more, "--style-network", network) == 0
    assert read_metadata(out)["Style"] == label


def test_styles_of_the_gallery_are_mixed_by_repeating_the_flag(photo, network, tmp_path):
    for name, seed in (("a", 1), ("b", 2), ("c", 3)):
        write_pixels(tmp_path / f"{name}.png", picture(60, 40, seed))
        add = ["styles", "add-picture", str(tmp_path / f"{name}.png"), "--network", str(network)]
        assert main(add) == 0
    out = tmp_path / "out.png"
    assert painted(photo, out, "--style", "a", "--mix", "b:0.5", "--mix", "c:0.2") == 0
    assert read_metadata(out)["Style"] == "A 30 %, B 50 %, C 20 %"


def test_pictures_added_to_the_gallery_are_styles_as_others(
    photo, network, paintings, tmp_path, capsys
):
    command = ["styles", "add-picture", *map(str, paintings), "--network", str(network)]
    assert main(command) == 0
    assert mentions(capsys.readouterr().out, "Blue Sea", "blue_sea")
    network.unlink()
    out = tmp_path / "out.png"
    assert painted(photo, out, "--style", "red", "--mix", "blue_sea:0.25", "--strokes", "bold") == 0
    assert read_metadata(out)["Style"] == "Red 75 %, Blue Sea 25 %"
    assert main(["styles", "remove", "red", "blue_sea"]) == 0
    assert list(user_folder().iterdir()) == []


def test_without_a_network_one_sentence_says_so(photo, paintings, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("app.styles.catalog.BUILTIN", tmp_path / "none" / "styles")
    for command in (
        ["stylize", str(photo), "-o", str(tmp_path / "o.png"), "--style-image", str(paintings[0])],
        ["styles", "add-picture", str(paintings[0])],
    ):
        assert main(command) == 1
        err = capsys.readouterr().err
        assert "none is installed" in err
        assert err.count("\n") == 2


def test_a_bad_style_picture_is_told_before_anything_is_done(photo, network, tmp_path, capsys):
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"\xff\xd8\xff and no more")
    out = tmp_path / "o.png"
    for wrong in (bad, tmp_path, tmp_path / "missing.png"):
        assert painted(photo, out, "--style-image", wrong, "--style-network", network) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 2
        assert wrong.name in err
    assert not out.exists()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--style-network", "NET"), "--style-network needs --style-image"),
        (
            ("--style-image", "RED:0.4"),
            "'red.png' is the only style picture, so it cannot have a share",
        ),
        (("--style-image", "RED") * 5, "at most 4 styles can be mixed, not 5"),
        ((*("--style-image", "RED") * 4, "--mix", "candy"), "at most 4 styles can be mixed"),
        (("--mix", "udnie:0.7", "--mix", "wave:0.6"), "add up to at most 1, not 1.3"),
        (("--mix", "udnie:0.2", "--mix", "udnie:0.3"), "'udnie' is in the mix twice"),
        (
            ("--mix", "udnie:0.2", "--mix", "mosaic:0.3", "--mix", "scream:0.1"),
            "at most 3 of this kind can be",
        ),
        (("--style-image", "RED", "--style-network", "RED"), "'red.png' is not a safetensors"),
        (
            ("--style-image", "RED", "--style-network", "NET", "--mix", "candy"),
            "Red and Candy cannot be mixed",
        ),
        (("--style", "candy", "--style-image", "RED"), "not allowed with argument"),
        (("--style-image", "RED:1.5"), "the share of a style picture must be from 0 to 1"),
    ],
)
def test_flags_that_do_not_fit_are_one_sentence(
    photo, network, paintings, tmp_path, capsys, monkeypatch, flags, sentence
):
    monkeypatch.chdir(tmp_path)
    given = [flag.replace("RED", "red.png").replace("NET", "net.safetensors") for flag in flags]
    assert painted(photo, tmp_path / "o.png", *given) != 0
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "o.png").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.jpg", StyleImage(Path("a.jpg"))),
        ("a.jpg:0.4", StyleImage(Path("a.jpg"), 0.4)),
        ("c:d.jpg", StyleImage(Path("c:d.jpg"))),
        ("c:d.jpg:1", StyleImage(Path("c:d.jpg"), 1.0)),
    ],
)
def test_a_style_picture_is_written_as_a_file_and_its_share(text, expected):
    assert style_image(text) == expected


@pytest.mark.parametrize("text", ["", ":0.4", "a.jpg:2", "a.jpg:-1", "a.jpg:nan"])
def test_another_writing_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        style_image(text)


def test_a_file_whose_name_ends_like_a_share_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "poster:0.5"
    Path(name).write_bytes(b"")
    assert style_image(name) == StyleImage(Path(name))


def test_bench_says_that_it_times_networks_of_a_single_style(network, paintings, capsys):
    assert main(["styles", "add-picture", str(paintings[0]), "--network", str(network)]) == 0
    capsys.readouterr()
    assert main(["bench", "--style", "red", "--device", "cpu"]) == 1
    assert "Red is a code" in capsys.readouterr().err
