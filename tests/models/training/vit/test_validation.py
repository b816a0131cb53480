"""A run is evaluated on pictures outside its training data, the same ones every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.training.features import Vgg19Features
from models.training.vit.held_out import held_out_losses
from models.training.vit.trainer import train_vit
from tests.models.training.vit.conftest import longer, pictures, tiny_run


def test_two_runs_of_the_same_weights_are_judged_alike(features: Vgg19Features) -> None:
    kept = pictures(80), pictures(90)
    first, second = (held_out_losses(tiny_run(features), features, *kept, 2) for _ in range(2))
    assert first == second
    assert min(first) > 0


def test_judging_leaves_the_run_as_it_was(features: Vgg19Features) -> None:
    run, other = tiny_run(features), tiny_run(features)
    held_out_losses(run, features, pictures(80), pictures(90), 1)
    assert run.step().tolist() == other.step().tolist()


@pytest.mark.full
def test_training_lowers_the_style_loss_of_held_out_paintings(
    features: Vgg19Features, tmp_path: Path
) -> None:
    run = tiny_run(
        features, longer(40, lr=0.02, batch_size=4, stability_weight=0.0, motion_weight=0.0)
    )
    kept = pictures(80), pictures(90)
    before = held_out_losses(run, features, *kept, 4)
    for _ in train_vit(run, tmp_path / "run.pt"):
        pass
    after = held_out_losses(run, features, *kept, 4)
    assert after.style < 0.9 * before.style
