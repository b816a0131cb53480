"""`styleforge train` writes a pack that the program reads, and never harms an existing one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.commands.train.reporters import TerminalReporter
from app.styles.pack import load_pack
from models.checkpoints import load_checkpoint, save_checkpoint
from models.network_config import LITE, network_config
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.style_pack import PackTexts, write_pack
from models.training.trainer import Progress
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.models.training.conftest import command, small_files, tiny_run

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
    with small_files(50_000), pytest.raises(TrainingError, match="wave' could not be"):
        write_pack(target, PackTexts("New"), state, picture(), {})
    assert load_pack(target).title == "Old"
    assert [path.name for path in target.parent.iterdir()] == ["wave"]
    write_pack(target, PackTexts("New"), state, picture(), {})
    assert load_pack(target).title == "New"
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
    pack = load_pack(out / "great_wave")
    assert (pack.title, pack.credit) == ("Great Wave", "Hokusai")
    assert pack.sha256 == sha256(pack.weights.read_bytes()).hexdigest()
    assert pack.thumbnail is not None
    TransformerNetBaseline().load_state_dict(load_checkpoint(pack.weights))
    training = tomllib.loads((out / "great_wave" / "style.toml").read_text("utf-8"))["training"]
    assert training["iterations"] == 4  # two epochs of four photographs in batches of two
    assert training["style_scales"] == [1.0, 0.5]
    assert training["photographs"] == 4
    assert training["final_loss"] > 0
    assert "--style-image 'Great Wave.png'" in training["command"]
    assert str(tmp_path) not in training["command"]

    again = command(folder, style_file, vgg_file, out, "--iterations", "1")
    assert main(again) == 1
    assert mentions(capsys.readouterr().err, "great_wave", "exists", "--name")
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
        (
            swapped("-o", "style.pth"),
            "the file for the weights must end in .safetensors, not 'style.pth'",
        ),
        (swapped("-o", __file__), "is a file; -o needs a folder or a .safetensors file"),
        (swapped("--device", "cuda:99"), "there is no device 'cuda:99'"),
        (swapped("-o", f"{__file__}/out"), "cannot write to"),
        (added("--seed", str(1 << 63)), "seed should be from 0 to 2^63 - 1"),
        (added("--name", "../up"), "must consist of lower-case letters"),
        (added("--name", "x" * 230), "name has 230 letters, more than 200"),
        (added("--resume"), "there is no run to resume"),
        (added("--exclude", "absent.txt"), "the list 'absent.txt' cannot be read"),
        (added("--init", "absent.pth"), "absent.pth"),
        (added("--lr", "0"), "lr should be more than 0 and at most 1, not 0.0"),
        (added("--checkpoint-interval", "0"), "the checkpoint interval must be at least 1"),
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
    assert said.count("\n") == 2
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
    assert mentions(capsys.readouterr().err, "exists", "a style pack")
    assert mine.read_text() == "mine"


@pytest.mark.full
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
        cwd=Path(__file__).resolve().parents[4],
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
    assert "with --resume continues" in stopped
    last = events[-2]["iteration"]
    assert 3 <= last < 40
    assert (out / "great_wave.preview.png").is_file()

    assert main(argv) == 1
    assert mentions(capsys.readouterr().err, "an unfinished run", "--resume")
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
    with TerminalReporter() as display:
        display.loading("Photographs", 3, 10)
        display.progress(progress, tmp_path / "[odd] name.png")
        display.finished(tmp_path / "pack", 3725)
    said = capsys.readouterr().out.replace("\n", "")
    assert "50/100  loss 0.700 (content 0.500, style 0.100)  12.3 it/s, 1:05 left" in said
    assert "[odd] name.png" in said
    assert "after 1:02:05 of training" in said


# Lite networks, teachers, first weights


@pytest.mark.full
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
    assert network_config(load_checkpoint(pack / "lite.safetensors")) == LITE
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
        (("--init-share", "0.5"), "needs --init"),
        (("--init", "{weights}", "--init-share", "1"), "at least 0 and less than 1"),
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


@pytest.mark.full
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
