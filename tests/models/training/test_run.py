"""A run learns, resumes exactly, and never loses learned weights to an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.network_config import FULL
from models.training.checkpoint import resume_run, save_run
from models.training.config import TrainingConfig
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.run import Run, fit
from models.training.trainer import train
from models.transformer_net import TransformerNetBaseline
from tests.conftest import picture
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.models.training.conftest import CPU, TINY, photographs, small_files, style, tiny_run

# The recipe


def test_the_learning_rate_is_held_and_then_falls_to_nothing() -> None:
    config = TrainingConfig(iterations=100, lr=1e-3)
    assert config.learning_rate(0) == config.learning_rate(60) == 1e-3
    assert config.learning_rate(80) == pytest.approx(5e-4)
    assert config.learning_rate(99) == pytest.approx(2.5e-5)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lr": float("nan")}, "lr should be more than 0 and at most 1, not nan"),
        ({"batch_size": 0}, "batch_size should be 1 or more, not 0"),
        ({"image_size": 50}, "image_size should be a multiple of 4, and 32 or more, not 50"),
        ({"style_weight": -1.0}, "style_weight should be 0 or more"),
        ({"style_scales": (1.0, 0.01)}, "enough to leave 16 pixels"),
        ({"precision": "int8"}, "fp32 or bf16"),
    ],
)
def test_a_recipe_out_of_range_is_refused_by_name(changes: dict, told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        TrainingConfig(**changes)


def test_epochs_are_counted_in_whole_batches() -> None:
    assert TrainingConfig(batch_size=8).for_epochs(2, 1001) == 251


# Learning


# BF16 is slow on a processor without instructions for it, so it gets few and small steps.
@pytest.mark.parametrize(
    ("precision", "side", "steps", "widths"),
    [
        ("fp32", 32, 40, (8, 16, 16)),
        pytest.param("fp32", 64, 40, FULL.widths, marks=pytest.mark.full),
        pytest.param("bf16", 32, 24, FULL.widths, marks=pytest.mark.full),
    ],
)
def test_training_makes_the_loss_fall(
    features: Vgg19Features,
    tmp_path: Path,
    precision: str,
    side: int,
    steps: int,
    widths: tuple[int, int, int],
) -> None:
    config = TrainingConfig(
        style_size=side,
        image_size=side,
        batch_size=1,
        iterations=steps,
        lr=5e-3,
        precision=precision,
        widths=widths,
    )
    run = Run(config, features, photographs(side=config.square), style(), CPU)
    seen = list(train(run, tmp_path / "run.pt", preview=lambda: picture(50, 42), preview_seconds=0))
    first, last = seen[:8], seen[-8:]
    assert sum(p.loss for p in last) < 0.97 * sum(p.loss for p in first)
    assert sum(p.style for p in last) < 0.85 * sum(p.style for p in first)
    assert [p.iteration for p in seen] == list(range(1, steps + 1))
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


@pytest.mark.parametrize(
    ("still", "motion", "moves"),
    [(1, 0, [False, False]), (0, 1, [True, True]), (1, 1, [False, True]), (0, 0, [False, False])],
)
def test_the_camera_moves_in_every_other_step_where_both_count(
    still: float, motion: float, moves: list[bool]
) -> None:
    config = TrainingConfig(stability_weight=still, motion_weight=motion)
    assert [config.moves(step) for step in (0, 1)] == moves
    assert config.steadies == bool(still or motion)


@pytest.mark.full
@pytest.mark.parametrize(("still", "motion"), some_daily([(20.0, 0.0), (0.0, 20.0)], 1))
def test_the_stability_term_is_learned(
    features: Vgg19Features, tmp_path: Path, still: float, motion: float
) -> None:
    config = replace(TINY, style_size=32, image_size=64, batch_size=1, widths=(8, 16, 16))
    config = replace(config, iterations=30, lr=3e-3)
    config = replace(config, stability_weight=still, motion_weight=motion)
    run = Run(config, features, photographs(side=config.square), style(), CPU)
    seen = list(train(run, tmp_path / "run.pt"))
    assert all(p.stability > 0 for p in seen)
    assert sum(p.stability for p in seen[-8:]) < 0.7 * sum(p.stability for p in seen[:8])


@pytest.mark.full
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


def test_a_picture_is_fitted_by_its_long_side() -> None:
    assert fit(picture(40, 20), 64).shape == (32, 64, 3)
    assert fit(picture(64, 20), 64).shape == (20, 64, 3)


# Resuming


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


def test_a_run_is_not_resumed_with_other_settings(features: Vgg19Features, tmp_path: Path) -> None:
    for _ in train(tiny_run(features), tmp_path / "run.pt", stop=lambda: False):
        pass
    other = TrainingConfig(
        style_size=32, image_size=32, batch_size=2, iterations=6, num_residual_blocks=1, lr=0.01
    )
    with pytest.raises(TrainingError) as caught:
        resume_run(tmp_path / "run.pt", tiny_run(features, other))
    assert mentions(str(caught.value), "size 64", "32")
    assert mentions(str(caught.value), "lr 0.001", "0.01")
    assert "another" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"<html>", b"PK\x03\x04 cut short"])
def test_a_damaged_checkpoint_is_told_in_a_sentence(
    features: Vgg19Features, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(TrainingError, match="a training checkpoint"):
        resume_run(tmp_path / "run.pt", tiny_run(features))
    torch.save({"conv": torch.ones(1)}, tmp_path / "weights.pt")
    with pytest.raises(TrainingError, match="a training checkpoint"):
        resume_run(tmp_path / "weights.pt", tiny_run(features))


@pytest.mark.parametrize(
    "damage",
    some_daily(
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
        *(0, 1, 4, 6, 9),
    ),
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


# Errors


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
    assert mentions(str(caught.value), "iteration 4", "a finite number")
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
    with pytest.raises(TrainingError, match="--lr"):
        next(train(run, tmp_path / "run.pt"))
    assert not (tmp_path / "run.pt").exists()


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
        pytest.raises(TrainingError, match=r"iteration 4 .*\(File too large\)"),
    ):
        next(steps)
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]
    fresh = tiny_run(features)
    resume_run(tmp_path / "run.pt", fresh)
    assert fresh.iteration == 2
