"""Resuming: a full disk, a killed process or a damaged file costs at most one checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from app.cli import main
from app.commands.train import command as command_module
from app.errors import DISK_FULL
from app.processes.command_process import ROOT
from app.styles.pack import load_pack
from models.checkpoints import load_checkpoint
from models.training.checkpoint import previous_of, resume_run, save_run
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.trainer import train
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.models.training.conftest import command, small_files, tiny_run

STEPS = ("--iterations", "6", "--checkpoint-interval", "2", "--network", "lite")


class _KilledError(BaseException):
    """An error that nothing catches."""


class Begun:
    """A run of six steps and, on demand, the files of a process killed after four."""

    def __init__(self, argv: list[str], out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.argv, self.out, self._monkeypatch = argv, out, monkeypatch
        self.checkpoint = out / "great_wave.training.pt"

    def stop_after(self, steps: int) -> None:
        """Run the command and stop it after `steps`, as Ctrl+C does."""

        def few(run, *args, **named):
            return train(run, *args, **{**named, "stop": lambda: run.iteration >= steps})

        with self._monkeypatch.context() as patch:
            patch.setattr(command_module, "train", few)
            assert main(self.argv) == 130

    def die_after_the_pack(self) -> None:
        """Run the command until it has written the pack, and kill it there."""

        def die(*_: object) -> None:
            raise _KilledError

        with self._monkeypatch.context() as patch:
            patch.setattr(command_module.Output, "forget_run", die)
            with pytest.raises(_KilledError):
                main(self.argv)

    def go_on(self, *more: str) -> int:
        return main([*self.argv, "--resume", *more])

    def seen(self) -> list[str]:
        return sorted(path.name for path in self.out.iterdir())


@pytest.fixture
def begun(
    folder: Path, style_file: Path, vgg_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Begun:
    out = tmp_path / "out"
    return Begun(command(folder, style_file, vgg_file, out, *STEPS), out, monkeypatch)


def weights(pack: Path) -> bytes:
    return (pack / "weights.safetensors").read_bytes()


# A full disk


@pytest.mark.full
def test_a_full_disk_is_one_sentence_and_the_run_goes_on_once_there_is_room(
    begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(begun.argv) == 0
    whole = weights(begun.out / "great_wave")
    shutil.rmtree(begun.out)

    with small_files(1_000_000):
        assert main(begun.argv) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert mentions(said, str(begun.checkpoint), "iteration 2")
    assert begun.seen() == ["great_wave.preview.png"]

    begun.stop_after(3)
    kept = begun.checkpoint.read_bytes()
    capsys.readouterr()
    with small_files(1_000_000):
        assert begun.go_on() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert mentions(said, "iteration 4", "File too large", "the previous")
    assert begun.checkpoint.read_bytes() == kept
    assert not [name for name in begun.seen() if name.startswith(".")]

    assert begun.go_on() == 0
    assert weights(begun.out / "great_wave") == whole
    assert begun.seen() == ["great_wave"]


@pytest.mark.full
def test_a_disk_too_full_for_the_pack_costs_no_step(
    begun: Begun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = command_module.write_pack

    def full(*args) -> None:
        with small_files(50_000):
            write(*args)

    with monkeypatch.context() as patch:
        patch.setattr(command_module, "write_pack", full)
        assert main(begun.argv) == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 2
    assert "the style pack" in said.err
    assert "File too large" in said.err
    assert begun.seen() == [
        *("great_wave.preview.png", "great_wave.training.previous.pt", "great_wave.training.pt")
    ]
    assert begun.go_on() == 0
    assert "Resuming from iteration 6" in capsys.readouterr().out
    training = tomllib.loads((begun.out / "great_wave/style.toml").read_text("utf-8"))["training"]
    assert training["final_loss"] > 0
    assert begun.seen() == ["great_wave"]


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_that_finds_no_room_stops_the_run_with_a_checkpoint(begun: Begun) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "app", *begun.argv, "--json-progress"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
            text=True,
        )
    assert ended.returncode == 1
    assert mentions(ended.stderr, "No space left", DISK_FULL)


# A killed process


@pytest.mark.full
def test_whoever_reads_the_progress_may_die_and_the_step_is_kept(begun: Begun) -> None:
    argv = [*begun.argv, "--iterations", "100000", "--checkpoint-interval", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *argv, "--json-progress", "--listen"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    last = 0
    while last < 3:
        event = json.loads(process.stdout.readline())
        last = event.get("iteration", 0) if event["event"] == "progress" else last
    process.stdout.close()  # as the system does for a killed program
    process.wait(60)
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert torch.load(begun.checkpoint, weights_only=True)["iteration"] >= last


@pytest.mark.full
def test_a_run_killed_before_its_checkpoint_was_deleted_is_only_tidied_up(
    begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    begun.stop_after(4)
    kept = begun.checkpoint.read_bytes()
    assert begun.go_on() == 0
    pack = begun.out / "great_wave"
    begun.checkpoint.write_bytes(kept)  # not from the last step: it must not cost another pack
    assert begun.go_on() == 1
    assert mentions(capsys.readouterr().err, "great_wave", "--name")
    begun.checkpoint.unlink()

    shutil.rmtree(pack)
    begun.die_after_the_pack()
    before = pack.stat().st_ino
    assert begun.checkpoint.is_file()
    assert begun.go_on() == 0
    assert pack.stat().st_ino == before
    assert begun.seen() == ["great_wave"]


@pytest.mark.full
def test_what_killed_processes_left_is_removed_and_a_pack_set_aside_comes_back(
    begun: Begun,
) -> None:
    begun.argv = [word for word in begun.argv if word not in ("--network", "lite")]
    assert main(begun.argv) == 0
    out = begun.out
    old = weights(out / "great_wave")
    (out / ".great_wave.training.pt.new").write_bytes(b"x")
    (out / ".great_wave.training.previous.pt.new").write_bytes(b"x")
    (out / ".great_wave.preview.png.123-456.tmp").write_bytes(b"x")
    (out / ".great_wave.new-abcdefgh").mkdir()
    (out / ".great_wave.new-abcdefgh" / "style.toml").write_bytes(b"")
    (out / "great_wave").rename(out / ".great_wave.replaced")  # killed between two renames
    (out / ".great_wave_2.new-abcdefgh").mkdir()  # belongs to another style

    begun.argv += ["--overwrite", "--lr", "0.01"]
    begun.stop_after(2)
    assert weights(out / "great_wave") == old
    assert begun.seen() == [
        *(".great_wave_2.new-abcdefgh", "great_wave", "great_wave.preview.png"),
        "great_wave.training.pt",
    ]
    assert begun.go_on() == 0
    assert weights(out / "great_wave") != old
    assert begun.seen() == [".great_wave_2.new-abcdefgh", "great_wave"]


def test_a_second_process_is_refused_and_a_dead_one_is_not_waited_for(
    begun: Begun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun.stop_after(2)
    lock = begun.out / ".great_wave.training.pt.lock"
    monkeypatch.setattr(command_module, "LOCK_TIMEOUT_S", 0.1)
    capsys.readouterr()
    with FileLock(lock):
        assert begun.go_on() == 1
    said = capsys.readouterr()
    assert "another process" in said.out
    assert said.err.count("\n") == 2
    assert "great_wave'; stop it first" in said.err
    assert lock.is_file()
    assert begun.go_on() == 0
    assert "Waiting" not in capsys.readouterr().out
    assert begun.seen() == ["great_wave"]


@pytest.mark.full
def test_a_resumed_run_tells_the_same_losses_and_the_same_outcome(
    begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    begun.argv.append("--json-progress")
    pack = begun.out / "great_wave"

    def events(kind: str) -> list[dict]:
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [event for event in told if event["event"] == kind]

    def outcome() -> dict:
        facts = tomllib.loads((pack / "style.toml").read_text("utf-8"))["training"]
        return {name: value for name, value in facts.items() if name != "seconds"}

    assert main(begun.argv) == 0
    whole, facts = events("progress"), outcome()
    assert [event["kept"] for event in whole] == [0, 2, 2, 4, 4, 4]
    shutil.rmtree(pack)
    begun.stop_after(5)
    capsys.readouterr()
    assert begun.go_on() == 0
    (resumed,) = events("resumed")
    losses = ("iteration", "loss", "content", "style", "tv", "stability", "teacher", "weave")
    assert resumed["history"] == [[event[name] for name in losses] for event in whole[:5]]
    assert resumed["iteration"] == 5
    assert outcome() == facts


# Damaged files


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda record: record.file_size)
    data[largest.header_offset + largest.file_size // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "damage", [flipped, *(pytest.param(d, marks=pytest.mark.full) for d in (cut, emptied))]
)
def test_a_damaged_checkpoint_costs_the_steps_since_the_one_before(
    begun: Begun, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    begun.stop_after(5)
    damage(begun.checkpoint)
    capsys.readouterr()
    assert begun.go_on() == 0
    said = capsys.readouterr().out
    assert mentions(said, "great_wave.training.pt", "the checkpoint before")
    assert "Resuming from iteration 4" in said
    assert begun.seen() == ["great_wave"]


def test_if_both_checkpoints_are_damaged_one_sentence_says_so_and_neither_is_touched(
    begun: Begun, capsys: pytest.CaptureFixture[str]
) -> None:
    begun.stop_after(5)
    for path in (begun.checkpoint, previous_of(begun.checkpoint)):
        flipped(path)
    before = begun.seen()
    capsys.readouterr()
    assert begun.go_on() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert mentions(said, str(begun.checkpoint), "training checkpoint")
    assert begun.seen() == before


def test_a_damaged_checkpoint_is_replaced_before_the_next_is_written(
    features: Vgg19Features, tmp_path: Path
) -> None:
    path = tmp_path / "run.pt"
    run = tiny_run(features)
    for _ in range(2):
        run.step()
        save_run(path, run)
    flipped(path)
    again = tiny_run(features)
    assert "was damaged" in resume_run(path, again)
    assert again.iteration == 1
    third = tiny_run(features)
    assert resume_run(path, third) == ""
    assert third.iteration == 1


@pytest.mark.full
def test_a_run_of_a_version_without_the_weave_loss_goes_on(
    features: Vgg19Features, tmp_path: Path
) -> None:
    path, run = tmp_path / "run.pt", tiny_run(features)
    list(train(run, path))
    state = torch.load(path, weights_only=True)
    identity = json.loads(state["identity"])
    del identity["weave_weight"]
    older = {"identity": json.dumps(identity), "history": state["history"][:, :-1]}
    torch.save(state | older, path)
    again = tiny_run(features)
    assert resume_run(path, again) == ""
    assert again.history == run.history


@pytest.mark.parametrize(
    "damage",
    some_daily(
        [
            {"iteration": 1.5},
            {"iteration": True},
            {"seconds": float("inf")},
            {"history": torch.ones(2, 3)},
            {"history": torch.ones(2, 8)},
            {"history": torch.full((1, 8), torch.nan)},
            {"history": "text"},
            {"seconds": 10**400},
            {"network": {"conv1.conv2d.weight": torch.zeros(2, dtype=torch.complex64)}},
            {"optimizer": {"state": {0: {"exp_avg": {}, "exp_avg_sq": 3, "step": "text"}}}},
            {"identity": "[" * 100_000},
        ],
        *(0, 3, 5, 8, 9),
    ),
    ids=lambda damage: str(damage)[:40],
)
def test_nonsense_in_a_checkpoint_is_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, damage: dict[str, object]
) -> None:
    run = tiny_run(features)
    run.step()
    save_run(tmp_path / "run.pt", run)
    state = torch.load(tmp_path / "run.pt", weights_only=True)
    torch.save(state | damage, tmp_path / "run.pt")
    with pytest.raises(TrainingError, match=r"'.*run\.pt' is .*damaged"):
        resume_run(tmp_path / "run.pt", tiny_run(features))


@pytest.mark.parametrize("value", [torch.nan, "shape", "count", "square"])
def test_moments_that_do_not_fit_are_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, value: object
) -> None:
    run = tiny_run(features)
    run.step()
    state = run.state()
    moments = state["optimizer"]["state"][0]
    if value == "shape":
        moments["exp_avg"] = moments["exp_avg"][:1]
    elif value == "count":
        moments["step"] -= 5
    elif value == "square":
        moments["exp_avg_sq"][:] = -1
    else:
        moments["exp_avg"][:] = value
    with pytest.raises(ValueError, match="weights of a run"):
        tiny_run(features).restore(state)


@pytest.mark.full
def test_a_run_goes_on_without_the_pictures_it_is_shown_on(
    begun: Begun, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    shown = tmp_path / "frame.png"
    shutil.copy(folder / "0.png", shown)
    begun.argv += ["--preview", str(shown), "--thumbnail", str(shown)]
    begun.stop_after(2)
    shown.write_bytes(shown.read_bytes()[:50])
    capsys.readouterr()
    assert begun.go_on() == 0
    said = capsys.readouterr().out
    assert "frame.png" in said
    assert "a photograph instead" in said
    assert load_pack(begun.out / "great_wave").thumbnail is not None


def test_what_was_learned_can_be_taken_out_of_a_checkpoint(begun: Begun) -> None:
    begun.stop_after(2)
    state = torch.load(begun.checkpoint, weights_only=True)["network"]
    taken = load_checkpoint(begun.checkpoint)
    assert all(torch.equal(taken[name], value) for name, value in state.items())
