"""`styleforge train-vit`: its stages, its files, and its refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from app.cli import main
from app.commands.train_vit import command
from models.vit_checkpoints import load_vit, save_vit
from models.vit_config import VIT_VARIANTS
from tests.models.training.vit.conftest import NETWORK, write_folder

ROOT = Path(__file__).resolve().parents[3]
COMMAND = (
    "styleforge train-vit --photos photos --paintings paintings --variant tiny --steps 3"
    " --image-size 32 --batch-size 2 --vgg vgg.safetensors --device cpu"
)


@pytest.fixture
def flags(
    tmp_path: Path, vgg_file: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> list[str]:
    """Return the command with a minimal network, few pictures and minimal crops."""
    monkeypatch.setitem(VIT_VARIANTS, "tiny", NETWORK)
    monkeypatch.setattr(command, "STORED", 72)
    return [
        *("train-vit", "--variant", "tiny", "--device", "cpu", "--vgg", str(vgg_file)),
        *("--photos", str(write_folder(tmp_path / "photos", 0))),
        *("--paintings", str(write_folder(tmp_path / "paintings", 50))),
        *("--image-size", "32", "--batch-size", "2", "-o", str(tmp_path / "out.safetensors")),
    ]


def test_a_run_writes_weights_that_say_how_they_were_made(flags, tmp_path, capsys):
    assert main([*flags, "--steps", "3"]) == 0
    found = load_vit(tmp_path / "out.safetensors")
    assert found.config == NETWORK
    said = found.metadata
    assert (said["steps"], said["photographs"], said["paintings"]) == ("3", "4", "4")
    assert float(said["final_loss"]) > 0
    assert said["command"] == COMMAND
    assert str(tmp_path) not in said["command"]
    out = capsys.readouterr().out
    assert "4 photographs, 4 paintings" in out
    assert "Finished after 3 steps" in out


@pytest.mark.full
def test_stages_end_as_one_run_does(flags, tmp_path):
    assert main([*flags, "--steps", "4"]) == 0
    whole = load_vit(tmp_path / "out.safetensors").state
    (tmp_path / "out.training.pt").unlink()
    assert main([*flags, "--steps", "4", "--stage-seconds", "1e-9"]) == 0
    for _ in range(3):
        assert main([*flags, "--steps", "4", "--stage-seconds", "1e-9", "--resume"]) == 0
    staged = load_vit(tmp_path / "out.safetensors").state
    assert all(torch.equal(value, staged[name]) for name, value in whole.items())


def test_a_finished_run_can_be_written_in_8_bits(flags, tmp_path):
    assert main([*flags, "--steps", "2"]) == 0
    assert main([*flags, "--steps", "2", "--resume", "--storage", "int8"]) == 0
    found = load_vit(tmp_path / "out.safetensors")
    assert found.metadata["storage"] == "int8"
    assert found.metadata["steps"] == "2"


@pytest.mark.full
def test_held_out_pictures_are_not_trained_on(flags, tmp_path, capsys):
    held = tmp_path / "held.toml"
    held.write_text('photographs = ["0001.png", "absent.png"]\npaintings = ["0000.png"]', "utf-8")
    assert main([*flags, "--steps", "1", "--held-out", str(held)]) == 0
    out = capsys.readouterr().out
    assert "3 photographs, 3 paintings" in out
    assert "Held out: content " in out
    said = load_vit(tmp_path / "out.safetensors").metadata
    assert min(float(said["held_out_content"]), float(said["held_out_style"])) > 0


def test_a_run_begins_from_written_weights(flags, tmp_path):
    assert main([*flags, "--steps", "1", "--ema", "0", "--lr", "1e-9"]) == 0
    first, written = tmp_path / "first.safetensors", load_vit(tmp_path / "out.safetensors")
    fewer = replace(written.config, max_keys=64)  # changes no weight
    save_vit(first, fewer, written.state, {"command": written.metadata["command"]})
    for name in ("out.safetensors", "out.training.pt"):
        (tmp_path / name).unlink()
    again = [*flags, "--steps", "1", "--ema", "0", "--lr", "1e-9", "--seed", "5"]
    assert main([*again, "--init", str(first)]) == 0
    begun, given = (load_vit(path) for path in (tmp_path / "out.safetensors", first))
    for name, value in given.state.items():
        torch.testing.assert_close(begun.state[name], value, atol=1e-3, rtol=1e-2)
    said = begun.metadata
    assert said["init_command"] == given.metadata["command"] != said["command"]
    assert said["init_sha256"] == given.metadata["sha256"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--steps", "0"], "steps should be 1 or more"),
        ([], "a run needs a number of steps or seconds"),
        (
            ["--steps", "1", "-o", "out.pt"],
            "the file for the weights must end in .safetensors, not 'out.pt'",
        ),
        (["--steps", "1", "--resume"], "there is no run to resume"),
        (["--steps", "1", "--photos", "nowhere"], "'nowhere' does not exist"),
        (["--steps", "1", "--stage-seconds", "0"], "--stage-seconds must be more than 0"),
        (["--steps", "1", "--checkpoint-interval", "0"], "interval must be at least 1"),
        (["--steps", "1", "--init", "nothing.safetensors"], "'nothing.safetensors' does not exist"),
        (["--steps", "1", "--device", "cuda:99"], "cuda:99"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(flags, capsys, more, says):
    assert main([*flags, *more]) == 1
    err = capsys.readouterr().err
    assert says in err
    assert err.startswith("styleforge: ")
    assert err.count("\n") == 2


def test_a_run_is_not_overwritten_by_another(flags, capsys):
    assert main([*flags, "--steps", "1"]) == 0
    assert main([*flags, "--steps", "1"]) == 1
    assert "'out.training.pt' holds a run" in capsys.readouterr().err


def test_a_signal_ends_a_run_with_a_checkpoint(flags, tmp_path, monkeypatch):
    lines: list[str] = []

    def say(members: object, text: str) -> None:
        lines.append(text)
        if "step 1 " in text:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "_say", say)
    assert main([*flags, "--steps", "500"]) == 130
    assert (tmp_path / "out.training.pt").is_file()
    assert lines[-1].startswith("To be resumed after ")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_train_one_network(tmp_path, vgg_file):
    """Run the whole program under torchrun, with the real small variant and crops of 32 pixels."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "app", "train-vit", "--device", "cpu"),
            *("--vgg", str(vgg_file), "--photos", str(write_folder(tmp_path / "photos", 0))),
            *("--paintings", str(write_folder(tmp_path / "paintings", 50))),
            *("--image-size", "32", "--batch-size", "1", "--steps", "2"),
            *("-o", str(tmp_path / "out.safetensors")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Finished after 2 steps") == 1
    found = load_vit(tmp_path / "out.safetensors")
    assert (found.metadata["variant"], found.metadata["processes"]) == ("small", "2")
