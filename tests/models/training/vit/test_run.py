"""A run of the any-style training learns, stops, and resumes as if it had not stopped."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import pytest
import torch

from models.training.checkpoint import resume_run, save_run
from models.training.errors import TrainingError
from models.training.features import Vgg19Features, load_vgg
from models.training.vit.config import WARM_UP, VitTrainingConfig
from models.training.vit.run import VitRun
from models.training.vit.trainer import train_vit
from tests.helpers.daily import some_daily
from tests.models.training.vit.conftest import longer, tiny_run

ROOT = Path(__file__).resolve().parents[4]


def equal(first: VitRun, second: VitRun) -> bool:
    one, other = first.state(), second.state()
    return all(
        torch.equal(value, other[part][name])
        for part in ("network", "mean")
        for name, value in one[part].items()
    )


@pytest.mark.full
def test_thirty_steps_lower_the_loss(features: Vgg19Features, tmp_path: Path) -> None:
    run = tiny_run(
        features, longer(30, lr=0.02, batch_size=4, stability_weight=0.5, motion_weight=0.5)
    )
    seen = list(train_vit(run, tmp_path / "run.pt"))
    assert [losses.iteration for losses in seen] == list(range(1, 31))
    first, last = (fmean(each.loss for each in part) for part in (seen[:6], seen[-6:]))
    assert last < 0.8 * first
    assert run.healthy()
    assert run.finished
    assert run.history == seen


@pytest.mark.full
def test_a_resumed_run_ends_bit_equal_to_one_never_stopped(
    features: Vgg19Features, tmp_path: Path
) -> None:
    whole = tiny_run(features)
    for _ in train_vit(whole, tmp_path / "whole.pt"):
        pass
    half = tiny_run(features)
    for _ in train_vit(half, tmp_path / "half.pt", stop=lambda: half.iteration >= 3):
        pass
    assert half.iteration == 3
    other = tiny_run(features)
    resume_run(tmp_path / "half.pt", other)
    rest = list(train_vit(other, tmp_path / "half.pt"))
    assert len(rest) == 3
    assert equal(whole, other)
    assert [losses.loss for losses in other.history] == [losses.loss for losses in whole.history]


@pytest.mark.full
def test_a_killed_run_goes_on_from_its_last_checkpoint(
    features: Vgg19Features, tmp_path: Path
) -> None:
    path = tmp_path / "run.pt"
    killed = tiny_run(features)
    steps = train_vit(killed, path, checkpoint_interval=2)
    for _ in range(5):
        next(steps)
    steps.close()  # nothing more is written, as after a kill
    other = tiny_run(features)
    resume_run(path, other)
    assert other.iteration == 4
    for _ in train_vit(other, path):
        pass
    whole = tiny_run(features)
    for _ in train_vit(whole, tmp_path / "whole.pt"):
        pass
    assert equal(whole, other)


@pytest.mark.full
@pytest.mark.slow
def test_a_process_killed_at_any_moment_goes_on_bit_equal(vgg_file: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.models.training.vit.processes", "victim")
    with subprocess.Popen(
        [*command, str(vgg_file), str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline().strip()
        process.kill()
    features = load_vgg(vgg_file)
    resumed, whole = (tiny_run(features, longer(1000)) for _ in range(2))
    resume_run(tmp_path / "run.pt", resumed)
    assert resumed.iteration >= 5
    steps = resumed.iteration + 3
    for run in (resumed, whole):
        for _ in train_vit(run, tmp_path / "run.pt", stop=lambda run=run: run.iteration >= steps):
            pass
    assert resumed.iteration == whole.iteration == steps
    assert equal(whole, resumed)


def test_a_stage_ends_by_the_clock_with_a_checkpoint(
    features: Vgg19Features, tmp_path: Path
) -> None:
    run = tiny_run(features)
    seen = list(train_vit(run, tmp_path / "run.pt", stage_seconds=1e-9))
    assert len(seen) == 1
    assert not run.finished
    other = tiny_run(features)
    resume_run(tmp_path / "run.pt", other)
    assert equal(run, other)
    assert other.seconds == run.seconds > 0


def test_a_run_of_seconds_ends_when_they_are_over(features: Vgg19Features, tmp_path: Path) -> None:
    run = tiny_run(features, longer(1000, seconds=1e-6))
    assert len(list(train_vit(run, tmp_path / "run.pt"))) == 1
    assert run.finished
    assert run.progress == 1


def test_a_longer_run_resumes_a_shorter_one_and_no_other_does(
    features: Vgg19Features, tmp_path: Path
) -> None:
    save_run(tmp_path / "run.pt", tiny_run(features))
    resume_run(tmp_path / "run.pt", tiny_run(features, longer(60)))
    other = tiny_run(features, longer(6, style_weight=3.0))
    with pytest.raises(TrainingError, match=r"weight 6\.0 .*3\.0"):
        resume_run(tmp_path / "run.pt", other)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short"])
def test_a_damaged_checkpoint_is_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(TrainingError, match="a training checkpoint"):
        resume_run(tmp_path / "run.pt", tiny_run(features))


@pytest.mark.parametrize(
    "damage",
    some_daily(
        [
            {"network": {}},
            {"mean": {}},
            {"iteration": -1},
            {"seconds": math.nan},
            {"optimizer": {}},
        ],
        *(1, 3),
    ),
)
def test_a_checkpoint_of_other_contents_is_refused(
    features: Vgg19Features, tmp_path: Path, damage: dict[str, object]
) -> None:
    run = tiny_run(features)
    run.step()
    content = {"format": run.checkpoint_format, **run.state(), **damage}
    torch.save(content, tmp_path / "run.pt")
    with pytest.raises(TrainingError, match="damaged training checkpoint"):
        resume_run(tmp_path / "run.pt", tiny_run(features))


def test_the_written_weights_are_the_running_mean(features: Vgg19Features) -> None:
    run = tiny_run(features, longer(6, lr=0.05))
    before = run.mean_weights()
    for _ in range(3):
        run.step()
    name = "decoder.conv_out.conv2d.weight"
    mean, weight = run.mean_weights()[name], run.network.state_dict()[name]
    assert not torch.equal(mean, weight)
    assert float((mean - weight).norm()) < float((before[name] - weight).norm())


def test_still_and_moving_cameras_take_turns_with_weights_that_rise_from_nothing() -> None:
    config = longer(8, stability_weight=80.0, motion_weight=4.0)
    weights = [config.steadiness(n, config.progress(n, 0)) for n in range(8)]
    assert weights == [0, 1, 40, 3, 80, 4, 80, 4]
    assert [config.moves(n) for n in range(3)] == [False, True, False]
    still, moving = replace(config, motion_weight=0.0), replace(config, stability_weight=0.0)
    assert not still.moves(1)
    assert moving.moves(0)
    assert replace(still, stability_weight=0.0).disturbed == 0 < moving.disturbed


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    config = VitTrainingConfig(steps=4 * WARM_UP)
    rates = [config.learning_rate(n, config.progress(n, 0)) for n in range(4 * WARM_UP + 1)]
    assert rates[0] == pytest.approx(config.lr / WARM_UP)
    assert rates[WARM_UP] == rates[2 * WARM_UP] == config.lr
    assert rates[3 * WARM_UP] == pytest.approx(config.lr / 2)
    assert rates[-1] == 0


def test_the_schedule_follows_the_clock_where_seconds_are_given() -> None:
    config = VitTrainingConfig(seconds=100)
    assert config.progress(10**9, 75) == 0.75
    assert config.progress(0, 500) == 1
    assert VitTrainingConfig(seconds=100, steps=10).progress(9, 1) == 0.9


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lr": 0.0}, "lr should be more than 0"),
        ({"image_size": 60}, "image_size should be a multiple of 8"),
        ({"photo_share": 1.5}, "photo_share should be from 0 to 1"),
        ({"style_scales": ()}, "style_scales should be"),
        ({"style_zoom": (2.0, 1.0)}, "style_zoom should be"),
        ({"precision": "fp8"}, "precision should be fp32 or bf16"),
        ({"tv_weight": math.nan}, "tv_weight should be 0 or more"),
        ({"steps": None}, "needs a number of steps or seconds"),
    ],
)
def test_a_value_out_of_range_is_named(changes: dict[str, object], says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        longer(**{"steps": 5, **changes})  # pyright: ignore[reportArgumentType]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_processes_hold_the_same_weights(vgg_file: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "-m", "tests.models.training.vit.processes"),
            *("member", str(vgg_file), str(tmp_path)),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=280,
    )
    first, second = (torch.load(tmp_path / f"rank{n}.pt", weights_only=True) for n in (0, 1))
    assert first["rank"] == 0
    assert second["rank"] == 1
    assert first["losses"] == second["losses"]  # the mean of both processes
    assert not torch.equal(first["batch"], second["batch"])
    for name, value in first["weights"].items():
        assert torch.equal(value, second["weights"][name]), name
    assert (tmp_path / "run.pt").is_file()


@pytest.mark.gpu
def test_training_on_a_gpu_lowers_the_loss(features: Vgg19Features, tmp_path: Path) -> None:
    from models.training.vit.distributed import Team
    from models.training.vit.sampling import Sampler
    from tests.models.training.vit.conftest import pictures

    device = torch.device("cuda")

    def trained(steps: int, lr: float) -> tuple[VitRun, list[float]]:
        config = longer(
            steps, lr=lr, batch_size=4, precision="bf16", stability_weight=0.5, motion_weight=0.5
        )
        sampler = Sampler(pictures(0), pictures(50), config, device)
        run = VitRun(config, features, sampler, Team(0, 1, device))
        seen = list(train_vit(run, tmp_path / f"{steps}.pt"))
        assert [losses.iteration for losses in seen] == list(range(20, steps + 1, 20))
        return run, [losses.style for losses in seen]

    # The losses of single batches differ by half, so an untrained network's is compared with the
    # median of several.
    _, (untrained,) = trained(20, 1e-8)
    run, styles = trained(160, 0.01)
    assert median(styles[-4:]) < untrained
    assert run.healthy()
