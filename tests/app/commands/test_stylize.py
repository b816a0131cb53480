"""`stylize` produces the picture that its flags describe and reports its changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.batch import batch_engine, limits
from app.cli import main
from models.checkpoints import save_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_bf16, set_bf16_gains
from tests.helpers.there import there
from utils.images.metadata import read_metadata
from utils.images.reading import read_picture, read_pixels
from utils.images.writing import write_pixels
from utils.opencv import cv2


def test_one_picture_becomes_one_file_of_its_own_size(style, photo, tmp_path, capsys):
    out = tmp_path / "new" / "result.webp"
    assert stylized(photo, "-o", out) == 0
    assert read_pixels(out).shape == (26, 37, 3)
    assert not np.array_equal(read_pixels(out), read_pixels(photo))
    about = read_metadata(out)
    assert about["Style"] == "Sketch"
    assert about["Network size"] == "37x26"
    assert "Fused, FP32, CPU" in capsys.readouterr().err


def test_two_styles_are_mixed_and_the_result_names_both(style, photo, tmp_path, capsys):
    other = TransformerNetBaseline(num_residual_blocks=1).state_dict()
    other["deconv3.conv2d.bias"] += 100
    save_checkpoint(tmp_path / "wash.safetensors", other, {})
    assert main(["styles", "add", str(tmp_path / "wash.safetensors")]) == 0
    out = tmp_path / "mixed.png"
    assert stylized(photo, "-o", out, "--mix", "wash:0.3", "--size", "32") == 0
    assert read_metadata(out)["Style"] == "Sketch 70 %, Wash 30 %"
    assert mentions(capsys.readouterr().err, "Sketch 70 %", "Wash 30 %", "Fused, FP32, CPU")
    plain = tmp_path / "plain.png"
    assert stylized(photo, "-o", plain, "--size", "32") == 0
    assert not np.array_equal(read_pixels(out), read_pixels(plain))


def test_a_second_style_that_is_not_there_is_told_before_anything_is_done(style, photo, capsys):
    assert stylized(photo, "-o", photo.with_name("x.png"), "--mix", "cundy") == 1
    assert mentions(capsys.readouterr().err, "no style 'cundy'", "candy")
    assert not photo.with_name("x.png").exists()


@pytest.mark.parametrize(("strokes", "size"), [("fine", "48x34"), ("bold", "19x16")])
def test_strokes_are_said_in_words(style, photo, tmp_path, strokes, size):
    out = tmp_path / "out.png"
    assert stylized(photo, "-o", out, "--strokes", strokes, "--size", "32") == 0
    about = read_metadata(out)
    assert (about["Strokes"], about["Network size"]) == (strokes.title(), size)
    assert read_pixels(out).shape == (26, 37, 3)


def test_a_small_result_is_sharpened_or_not(photo, tmp_path):
    made = []
    for how in ("guided", "smooth"):
        out = tmp_path / f"{how}.png"
        small = ("--upsampling", how, "--size", "18")
        assert stylized(photo, "-o", out, *small, style="candy") == 0
        made.append((read_pixels(out), read_metadata(out)["Upsampling"]))
    assert [words for _, words in made] == ["Keep fine detail", "Smooth"]
    assert not np.array_equal(made[0][0], made[1][0])


def test_a_style_without_a_lite_network_says_so(style, photo, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert stylized(photo, "-o", out, "--network", "lite") == 0
    assert mentions(capsys.readouterr().err, "Sketch", "no lite network")
    assert read_metadata(out)["Network"] == "Full"


def test_the_frames_of_a_video_are_steadied_in_their_order(style, tmp_path):
    rng = np.random.default_rng(1)
    frames = tmp_path / "frames"
    frames.mkdir()
    for n in range(6):
        noisy = np.clip(picture(40, 32) + rng.normal(0, 5, (32, 40, 3)), 0, 255)
        write_pixels(frames / f"{n}.png", noisy.astype(np.uint8))

    def change(smoothing):
        out = tmp_path / smoothing
        assert stylized(frames, "-o", out, "--smoothing", smoothing) == 0
        made = [read_pixels(path).astype(int) for path in sorted(out.iterdir())]
        return np.abs(made[-1] - made[-2]).mean()

    assert change("1") < 0.5 * change("0")


def cut_out(path: Path) -> np.ndarray:
    """Write a picture that is transparent on the left, half so in the middle.

    Return its alpha, [26, 37].
    """
    alpha = np.full((26, 37), 255, np.uint8)
    alpha[:, :12], alpha[:, 12:20] = 0, 128
    Image.fromarray(np.dstack([picture(37, 26), alpha])).save(path, lossless=True)
    return alpha


@pytest.mark.parametrize(
    ("name", "saved"), [("a.png", "a.png"), ("a.webp", "a.webp"), ("a.tif", "a.tif")]
)
def test_transparency_is_kept_where_the_format_has_it(style, tmp_path, capsys, name, saved):
    alpha = cut_out(tmp_path / name)
    assert stylized(tmp_path / name, "-o", tmp_path / "out") == 0
    assert "transparent" not in capsys.readouterr().err
    with Image.open(tmp_path / "out" / saved) as made:
        assert made.mode == "RGBA"
        assert np.array_equal(np.asarray(made)[..., 3], alpha)


def test_a_jpeg_drops_transparency_and_says_so(style, tmp_path, capsys):
    cut_out(tmp_path / "a.png")
    assert stylized(tmp_path / "a.png", "-o", tmp_path / "out.jpg") == 0
    assert mentions(capsys.readouterr().err, "a.png:", "became white", "JPEG")
    with Image.open(tmp_path / "out.jpg") as made:
        assert made.mode == "RGB"


def deep_picture(path: Path) -> None:
    cv2.imwrite(str(path), picture(37, 26).astype(np.uint16) * 257 + np.uint16(100))


@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
def test_sixteen_bits_per_channel_stay_sixteen(style, tmp_path, capsys, name):
    deep_picture(tmp_path / name)
    assert stylized(tmp_path / name, "-o", tmp_path / "out") == 0
    assert "became" not in capsys.readouterr().err
    made = read_picture(tmp_path / "out" / name)
    assert made.bits == 16
    assert np.count_nonzero(there(made.deep) % 257) > there(made.deep).size // 2
    assert read_metadata(tmp_path / "out" / name)["Style"] == "Sketch"
    assert stylized(tmp_path / name, "-o", tmp_path / "same", "--strength", "0") == 0
    same = read_picture(tmp_path / "same" / name)
    assert np.array_equal(there(same.deep), there(read_picture(tmp_path / name).deep))


def test_where_sixteen_bits_become_eight_it_is_said_once(style, tmp_path, capsys):
    deep_picture(tmp_path / "deep.png")
    deep_picture(tmp_path / "deep.ppm")
    assert stylized(tmp_path / "deep.png", "-o", tmp_path / "out.jpg") == 0
    assert stylized(tmp_path / "deep.ppm", "-o", tmp_path / "out.png") == 0
    err = capsys.readouterr().err
    for name in ("deep.png", "deep.ppm"):
        assert err.count(f"{name}: its 16 bits") == 1
    assert read_picture(tmp_path / "out.png").bits == 8


def test_larger_pictures_are_reduced_to_a_long_side_and_smaller_ones_are_not(
    style, photo, tmp_path
):
    assert stylized(photo, "-o", tmp_path / "small.png", "--long-side", "20") == 0
    assert read_pixels(tmp_path / "small.png").shape == (14, 20, 3)
    assert read_metadata(tmp_path / "small.png")["Network size"] == "20x16"
    assert stylized(photo, "-o", tmp_path / "whole.png", "--long-side", "40") == 0
    assert read_pixels(tmp_path / "whole.png").shape == (26, 37, 3)


def test_the_depth_of_results_can_be_chosen(style, photo, tmp_path):
    deep_picture(tmp_path / "deep.png")
    assert stylized(tmp_path / "deep.png", "-o", tmp_path / "eight.png", "--depth", "8") == 0
    assert read_picture(tmp_path / "eight.png").bits == 8
    assert stylized(photo, "-o", tmp_path / "sixteen.tif", "--depth", "16") == 0
    assert stylized(photo, "-o", tmp_path / "plain.tif") == 0
    fine, plain = (read_picture(tmp_path / f"{name}.tif") for name in ("sixteen", "plain"))
    assert (fine.bits, plain.bits) == (16, 8)
    assert np.abs(fine.pixels.astype(int) - plain.pixels).max() <= 1
    assert stylized(photo, "-o", tmp_path / "out", "--depth", "12") == 2


def test_unknown_styles_and_devices_are_refused_before_any_work(style, photo, tmp_path, capsys):
    assert stylized(photo, "-o", tmp_path / "out", style="skecth") == 1
    assert "did you mean sketch" in capsys.readouterr().err
    assert main(["stylize", str(photo), "-o", "x", "--style", style, "--device", "cuda:9"]) == 1
    assert "no device 'cuda:9'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--precision", "fp16"], "FP16 is slower"),
        (["--precision", "int8", "--dry-run"], "INT8 needs a GPU"),
        (["--precision", "amp", "--device", "cpu,cpu"], "AMP is slower"),
    ],
)
def test_a_precision_that_the_cpu_does_not_offer_is_refused_before_any_work(
    style, photo, tmp_path, capsys, flags, says
):
    out = tmp_path / "out"
    given = ["stylize", str(photo), "-o", str(out), "--style", style, "--device", "cpu", *flags]
    assert main(given) == 1
    assert says in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("faster", [False, True])
def test_bf16_is_refused_on_the_cpu_unless_it_is_faster(
    style, photo, tmp_path, capsys, monkeypatch, native_kernels, faster
):
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 1.2 if faster else 0.8)
    out = tmp_path / "out.png"
    assert stylized(photo, "-o", out, "--precision", "bf16") == (0 if faster else 1)
    assert ("BF16, CPU" if faster else "not faster in BF16") in capsys.readouterr().err
    assert out.exists() is faster


def test_a_large_picture_is_worked_on_smaller_and_says_so(
    style, photo, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(limits, "MAX_SIZE", 24)
    assert stylized(photo, "-o", tmp_path / "out") == 0
    assert mentions(capsys.readouterr().err, "37x26", "24x17")
    assert read_pixels(tmp_path / "out" / "photo.png").shape == (26, 37, 3)
    for size in ("32", "full"):
        assert stylized(photo, "-o", tmp_path / size, "--size", size) == 0
        assert "is large" not in capsys.readouterr().err
    assert read_metadata(tmp_path / "full" / "photo.png")["Network size"] == "37x26"


def test_where_memory_is_short_a_picture_is_computed_in_bands_and_says_so(
    style, photo, tmp_path, capsys, monkeypatch
):
    assert stylized(photo, "-o", tmp_path / "whole") == 0
    assert "in bands" not in capsys.readouterr().err
    monkeypatch.setattr(batch_engine, "free_bytes", lambda device: 1000 * 37 * 26)
    assert stylized(photo, "-o", tmp_path / "bands") == 0
    told = capsys.readouterr().err
    assert mentions(told, "photo.png", "bands of rows")
    whole, bands = (read_pixels(tmp_path / name / "photo.png") for name in ("whole", "bands"))
    assert np.abs(whole.astype(int) - bands).max() <= 1


def test_what_does_not_fit_into_memory_in_bands_either_is_refused(
    style, photo, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(batch_engine, "free_bytes", lambda device: 1000 * 37 * 26)
    assert stylized(photo, "-o", tmp_path / "more", "--size", "64") == 1
    assert mentions(capsys.readouterr().err, "photo.png", "size 64; 4")
    monkeypatch.setattr(batch_engine, "free_bytes", lambda device: 500 * 37 * 26)
    assert stylized(photo, "-o", tmp_path / "more", "--size", "full") == 1
    assert mentions(capsys.readouterr().err, "photo.png", "size 37;")
    assert not (tmp_path / "more").exists()


def test_strength_zero_is_the_picture_itself(style, photo, tmp_path):
    assert stylized(photo, "-o", tmp_path / "out", "--strength", "0") == 0
    assert np.array_equal(read_pixels(tmp_path / "out" / "photo.png"), read_pixels(photo))
