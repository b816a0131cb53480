"""The command line does what it says, names what it cannot do, and never harms an input."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from app import cli
from app.cli import COMMANDS, main
from app.commands import memory_budget, stylize
from models.checkpoints import save_checkpoint
from models.precision import Precision
from models.transformer_net import VARIANTS, TransformerNetBaseline
from tests.conftest import picture
from utils.images.metadata import read_metadata
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels
from utils.opencv import cv2

ROOT = Path(__file__).resolve().parents[3]
STYLE = "sketch"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The smallest network there is, with weights of a fixed seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = TransformerNetBaseline(num_residual_blocks=1).state_dict()
    path = tmp_path / "sketch.safetensors"
    save_checkpoint(path, state, {})
    return path


@pytest.fixture
def style(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A style installed by the command itself."""
    assert main(["styles", "add", str(checkpoint)]) == 0
    assert f"'{STYLE}'" in capsys.readouterr().out
    return STYLE


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    write_pixels(path, picture(37, 26))
    return path


def stylized(*arguments: object, style: str = STYLE) -> int:
    return main(["stylize", *map(str, arguments), "--style", style, "--device", "cpu"])


# Help, version and mistakes


def test_version_and_help_name_every_command(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("styleforge ")
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def flags(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from flags(below)
        else:
            yield action


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_flag_is_explained(command):
    parser = cli._parser(command)
    assert not [action.dest for action in flags(parser) if not action.help]


def test_flags_are_generated_from_the_tables(capsys):
    assert main(["stylize", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(key in out for key in VARIANTS)
    assert all(precision.name in out for precision in Precision)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["paint"], "paint"),
        (["stylize", "a.png"], "-o"),
        (["stylize", "a.png", "-o", "b.png", "--strength", "2"], "0 to 1"),
        (["stylize", "a.png", "-o", "b.png", "--strength", "loud"], "0 to 1"),
        (["stylize", "a.png", "-o", "b.png", "--size", "0"], "16 to 16384"),
        (["stylize", "a.png", "-o", "b.png", "--precision", "fp8"], "fp8"),
        (["stylize", "a.png", "-o", "b.png", "--mix", "udnie:2"], "udnie:0.4"),
        (["stylize", "a.png", "-o", "b.png", "--strokes", "thick"], "thick"),
        (["stylize", "a.png", "-o", "b.png", "--smoothing", "9"], "0 to 1"),
        (["--network", "tiny"], "tiny"),
        (["--mix", ":1"], "udnie:0.4"),
        (["bench", "--sizes", "big"], "'big' is not a size"),
        (["bench", "--sizes", "8x8"], "16 to 16384"),
        (["bench", "--kernels", "fastest"], "'fastest' is none of"),
        (["--source", "scene", "bench"], "put 'bench' before"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong(arguments, says, capsys):
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays are Linux's trouble")
def test_without_a_display_one_sentence_names_the_command_that_needs_none():
    bare = {k: v for k, v in os.environ.items() if k not in DISPLAYS}
    done = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "styleforge stylize" in done.stderr
    assert len(done.stderr.splitlines()) == 1


DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def test_a_window_that_cannot_be_loaded_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "app.ui.application", None)
    assert main([]) == 1
    err = capsys.readouterr().err
    assert "the window cannot be loaded" in err
    assert "styleforge doctor" in err


# stylize


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
    assert "Sketch 70 %, Wash 30 %; Fused, FP32, CPU" in capsys.readouterr().err
    plain = tmp_path / "plain.png"
    assert stylized(photo, "-o", plain, "--size", "32") == 0
    assert not np.array_equal(read_pixels(out), read_pixels(plain))


def test_a_second_style_that_is_not_there_is_told_before_anything_is_done(style, photo, capsys):
    assert stylized(photo, "-o", photo.with_name("x.png"), "--mix", "cundy") == 1
    assert "there is no style 'cundy'; did you mean candy?" in capsys.readouterr().err
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
    assert [words for _, words in made] == ["Sharpen to frame", "Smooth"]
    assert not np.array_equal(made[0][0], made[1][0])


def test_a_style_without_a_lite_network_says_so(style, photo, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert stylized(photo, "-o", out, "--network", "lite") == 0
    assert "Sketch has no lite network" in capsys.readouterr().err
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


def test_a_folder_keeps_its_names_and_subfolders(style, tmp_path):
    album = tmp_path / "album"
    (album / "day one").mkdir(parents=True)
    write_pixels(album / "a.png", picture(20, 16))
    write_pixels(album / "day one" / "b.jpg", picture(16, 20))
    Image.fromarray(picture(18, 18)).save(album / "c.bmp")
    (album / "notes.txt").write_text("not a picture")
    write_pixels(album / ".hidden.png", picture(16, 16))
    out = album / "styled"  # inside the input: a second run must not style its own results
    for _ in range(2):
        assert stylized(album, "-o", out, "--overwrite") == 0
    made = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert made == ["a.png", "c.bmp.png", str(Path("day one") / "b.jpg")]


def test_what_exists_is_not_overwritten_unless_asked(style, photo, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / photo.name).write_bytes(b"mine")
    other = tmp_path / "other.png"
    write_pixels(other, picture(16, 16))
    assert stylized(photo, other, "-o", out) == 1
    err = capsys.readouterr().err
    assert f"'{out / photo.name}' exists; pass --overwrite to replace or --skip-existing" in err
    assert err.count("\n") == 1
    assert [(p.name, p.read_bytes()) for p in out.iterdir()] == [(photo.name, b"mine")]
    assert stylized(photo, "-o", out / photo.name) == 1
    assert stylized(photo, other, "-o", out, "--overwrite") == 0
    assert read_pixels(out / photo.name).shape == (26, 37, 3)
    assert stylized(photo, other, "-o", out) == 1
    assert "photo.png' exists, and so do 1 more results;" in capsys.readouterr().err
    assert stylized(photo, "-o", out, "--overwrite", "--skip-existing") == 2


def test_an_interrupted_folder_is_continued(style, tmp_path, capsys):
    album, out = tmp_path / "album", tmp_path / "out"
    album.mkdir()
    out.mkdir()
    for name in ("a.png", "b.png", "c.png"):
        write_pixels(album / name, picture(16, 16))
    (out / "b.png").write_bytes(b"made before")
    assert stylized(album, "-o", out, "--skip-existing") == 0
    assert "Skipped 1 picture whose result exists" in capsys.readouterr().err
    assert (out / "b.png").read_bytes() == b"made before"
    assert read_pixels(out / "a.png").shape == read_pixels(out / "c.png").shape == (16, 16, 3)
    assert stylized(album, "-o", out, "--skip-existing") == 0
    assert "Skipped 3 pictures" in capsys.readouterr().err


def cut_out(path: Path) -> np.ndarray:
    """A picture that is transparent on the left, half so in the middle; its alpha [26, 37]."""
    alpha = np.full((26, 37), 255, np.uint8)
    alpha[:, :12], alpha[:, 12:20] = 0, 128
    Image.fromarray(np.dstack([picture(37, 26), alpha])).save(path, lossless=True)
    return alpha


@pytest.mark.parametrize(
    ("name", "saved"), [("a.png", "a.png"), ("a.webp", "a.webp"), ("a.tif", "a.tif.png")]
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
    assert "a.png: its transparent parts became white, since JPEG has no transparency" in (
        capsys.readouterr().err
    )
    with Image.open(tmp_path / "out.jpg") as made:
        assert made.mode == "RGB"


def test_sixteen_bits_per_channel_become_eight_and_it_is_said_once(style, tmp_path, capsys):
    deep = picture(37, 26).astype(np.uint16) * 257
    cv2.imwrite(str(tmp_path / "deep.png"), deep)
    cv2.imwrite(str(tmp_path / "deep.tif"), deep)
    assert stylized(tmp_path / "deep.png", tmp_path / "deep.tif", "-o", tmp_path / "out") == 0
    err = capsys.readouterr().err
    for name in ("deep.png", "deep.tif"):
        assert err.count(f"{name}: its 16 bits per channel became 8\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no such names")
def test_names_cannot_write_to_the_terminal(style, tmp_path, capsys):
    bad = tmp_path / "a\x1b[2J\nb.png"
    bad.write_bytes(b"<html>")
    deep = tmp_path / "deep\x1b]0;title\x07.png"
    Image.fromarray(picture(16, 16).astype(np.uint16)[..., 0] * 257).save(deep)
    assert stylized(bad, deep, tmp_path / "no\x1b.png", "-o", tmp_path / "out\x1b") == 1
    assert stylized(deep, "-o", deep) == 1
    assert main(["styles", "add", str(bad)]) == 1
    assert main(["styles", "lust\x1b[2J"]) == 2
    captured = capsys.readouterr()
    assert "a\\x1b[2J\\nb.png' is not a picture" in captured.err
    assert (captured.out + captured.err).replace("\n", "").isprintable()


@pytest.mark.skipif(os.name == "nt", reason="opens a terminal as on POSIX")
def test_a_name_in_brackets_is_no_markup_on_a_terminal(style, tmp_path):
    import pty

    source = tmp_path / "[bold].png"
    write_pixels(source, picture(16, 16))
    command = [sys.executable, "-m", "app", "stylize", str(source), "-o", str(tmp_path / "out")]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*command, "--style", style, "--device", "cpu"], cwd=ROOT, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end was closed
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
    assert process.returncode == 0
    assert b"[bold].png" in shown


def test_patterns_are_expanded_where_the_shell_did_not(style, tmp_path):
    for name in ("a.png", "b.png", "c.jpg"):
        write_pixels(tmp_path / name, picture(16, 16))
    assert stylized(tmp_path / "*.png", "-o", tmp_path / "out") == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.png", "b.png"]


def test_bad_files_are_named_and_the_others_are_done(style, photo, tmp_path, capsys):
    page = tmp_path / "page.jpg"
    page.write_text("<!doctype html><html>")
    cut = tmp_path / "cut.png"
    cut.write_bytes(photo.read_bytes()[:200])
    out = tmp_path / "out"
    assert stylized(page, cut, tmp_path / "gone.png", photo, "-o", out) == 1
    err = capsys.readouterr().err
    assert f"'{page}' is not a picture but an HTML page" in err
    assert f"'{cut}' is a PNG picture that is truncated or damaged" in err
    assert "gone.png' does not exist" in err
    assert "Traceback" not in err
    assert [p.name for p in out.iterdir()] == ["photo.png"]


def test_an_input_is_never_overwritten(style, photo, tmp_path, capsys):
    before = photo.read_bytes()
    assert stylized(photo, "-o", photo) == 1
    assert stylized(photo, "-o", tmp_path) == 1
    assert stylized(tmp_path, "-o", tmp_path) == 1
    assert "would be overwritten" in capsys.readouterr().err
    assert photo.read_bytes() == before


def test_two_inputs_never_share_a_result(style, tmp_path, capsys):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_pixels(tmp_path / folder / "same.png", picture(16, 16))
    out = tmp_path / "out"
    assert stylized(tmp_path / "one" / "same.png", tmp_path / "two" / "same.png", "-o", out) == 1
    assert "would both become" in capsys.readouterr().err
    assert not out.exists()


def test_several_pictures_need_a_folder(style, photo, tmp_path, capsys):
    other = tmp_path / "other.png"
    write_pixels(other, picture(16, 16))
    file = tmp_path / "result.png"
    file.write_bytes(b"mine")
    assert stylized(photo, other, "-o", file) == 1
    assert "'" + str(file) + "' is a file" in capsys.readouterr().err
    assert file.read_bytes() == b"mine"


def test_a_result_that_cannot_be_saved_is_refused_before_any_work(style, photo, tmp_path, capsys):
    assert stylized(photo, "-o", tmp_path / "result.tif") == 1
    assert "result.tif': it must end in .png, .jpg" in capsys.readouterr().err
    (tmp_path / "plain").write_bytes(b"mine")
    assert stylized(photo, "-o", tmp_path / "plain") == 1
    assert "'" + str(tmp_path / "plain") + "' is a file where a folder" in capsys.readouterr().err
    assert (tmp_path / "plain").read_bytes() == b"mine"


def test_an_empty_input_is_not_the_working_folder(style, photo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert stylized("", "-o", tmp_path / "out") == 1
    assert "'' does not exist" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(style, photo, tmp_path, capsys):
    (tmp_path / "wall").write_text("a file where a folder should be")
    assert stylized(photo, "-o", tmp_path / "wall" / "out" / "x.png") == 1
    assert "wall" in capsys.readouterr().err


def test_unknown_styles_and_devices_are_refused_before_any_work(style, photo, tmp_path, capsys):
    assert stylized(photo, "-o", tmp_path / "out", style="skecth") == 1
    assert "did you mean sketch" in capsys.readouterr().err
    assert main(["stylize", str(photo), "-o", "x", "--style", style, "--device", "cuda:9"]) == 1
    assert "there is no device 'cuda:9'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_large_picture_is_worked_on_smaller_and_says_so(
    style, photo, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(stylize.MAX_SIZE, "cpu", 24)
    assert stylized(photo, "-o", tmp_path / "out") == 0
    assert "37x26 is large; it was stylized at 24x17 and scaled back" in capsys.readouterr().err
    assert read_pixels(tmp_path / "out" / "photo.png").shape == (26, 37, 3)
    assert stylized(photo, "-o", tmp_path / "asked", "--size", "32") == 0
    assert "is large" not in capsys.readouterr().err


def test_short_memory_means_a_smaller_network_or_a_refusal(
    style, photo, tmp_path, capsys, monkeypatch
):
    enough_for = 20 * 14
    monkeypatch.setattr(
        stylize,
        "free_bytes",
        lambda device: enough_for * memory_budget.BYTES_PER_PIXEL / stylize.MEMORY_FRACTION,
    )
    assert stylized(photo, "-o", tmp_path / "out") == 0
    assert "it was stylized at 19x" in capsys.readouterr().err
    assert stylized(photo, "-o", tmp_path / "more", "--size", "64") == 1
    assert "photo.png' does not fit into memory at size 64" in capsys.readouterr().err
    assert not (tmp_path / "more").exists()


def test_strength_zero_is_the_picture_itself(style, photo, tmp_path):
    assert stylized(photo, "-o", tmp_path / "out", "--strength", "0") == 0
    assert np.array_equal(read_pixels(tmp_path / "out" / "photo.png"), read_pixels(photo))


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT as a POSIX shell does")
def test_ctrl_c_leaves_whole_files_and_status_130(style, tmp_path):
    album, out = tmp_path / "album", tmp_path / "out"
    album.mkdir()
    for n in range(400):
        write_pixels(album / f"{n:03}.png", picture(224, 160))
    command = [sys.executable, "-m", "app", "stylize", str(album), "-o", str(out)]
    command += ["--style", style, "--kernels", "baseline", "--device", "cpu"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell gives what runs in its foreground; these tests may run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while not (out.is_dir() and len(list(out.glob("[0-9]*.png"))) >= 3):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.count("Stopped") == 1
    assert "of 400 pictures; those are complete" in err
    assert "Traceback" not in err
    made = list(out.iterdir())
    assert 3 <= len(made) < 400
    assert {read_pixels(path).shape for path in made} == {(160, 224, 3)}


# Streams


@pytest.mark.skipif(os.name == "nt", reason="streams are closed and full as on POSIX")
@pytest.mark.parametrize(
    ("streams", "status"),
    [(">&-", 0), (">&- 2>&-", 0), ("2>&-", 0), (">/dev/full", 1), ("| true", 0)],
)
@pytest.mark.parametrize("buffered", ["", "1"])
def test_no_stream_that_is_closed_or_full_ends_in_a_traceback(streams, status, buffered):
    if "full" in streams and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m app styles list {streams}', sys.executable],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": buffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    expected = "styleforge: No space left on device\n" if "full" in streams else ""
    assert done.stderr == expected


def test_ctrl_c_while_a_command_is_still_loading_is_no_traceback(monkeypatch, capsys):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", interrupted)
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "\nStopped.\n"


# styles


def test_styles_alone_lists_them(capsys):
    assert main(["styles", "list"]) == 0
    listed = capsys.readouterr().out
    assert main(["styles"]) == 0
    assert capsys.readouterr().out == listed
    assert "candy" in listed


def test_styles_are_listed_added_under_a_title_and_removed(checkpoint, capsys):
    assert main(["styles", "add", str(checkpoint), "--title", "Ink & Wash"]) == 0
    assert "Added Ink & Wash as 'ink_wash'" in capsys.readouterr().out
    main(["styles", "list"])
    assert "Ink & Wash" in capsys.readouterr().out
    assert main(["styles", "remove", "ink_wash"]) == 0
    capsys.readouterr()
    main(["styles", "list"])
    assert "Ink & Wash" not in capsys.readouterr().out


def test_what_is_no_style_is_refused_in_one_sentence(tmp_path, capsys):
    page = tmp_path / "model.pth"
    page.write_text("<html>404</html>")
    assert main(["styles", "add", str(page)]) == 1
    err = capsys.readouterr().err
    assert "model.pth" in err
    assert "not a checkpoint" in err
    assert main(["styles", "remove", "nothing_like_it"]) == 1
    assert "there is no style 'nothing_like_it'" in capsys.readouterr().err


def test_threads_that_wait_leave_the_processor_to_others_unless_the_user_says_otherwise():
    ask = (
        "import os, sys; from app.cli import main; early = 'torch' not in sys.modules; "
        "main(['--version']); print(early, os.environ.get('GOMP_SPINCOUNT'))"
    )

    def told(**settings: str) -> str:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
        }
        done = subprocess.run(
            [sys.executable, "-c", ask],
            cwd=ROOT,
            env=environment | settings,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    assert told() == "True 1000"
    assert told(GOMP_SPINCOUNT="7") == "True 7"
    assert told(OMP_WAIT_POLICY="ACTIVE") == "True None"
