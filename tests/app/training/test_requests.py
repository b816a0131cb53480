"""An order turns a picture into a style of the gallery; a long run needs confirmation."""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import asdict

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from app.commands.train import command as train
from app.commands.train.previews import PreviewImage
from app.commands.training_recipe import given_fields
from app.training import controller as studio_module
from app.training.dataset_scan import scan_dataset
from app.training.request import TrainingRequest
from app.training.state import Forecast, Phase, State
from app.ui.durations import format_duration, format_remaining
from app.ui.training.formatting import confirmation_text, scan_text
from models.training.config import TrainingConfig
from models.training.presets import PRESETS, STROKES, cheaper
from models.training.style_pack import THUMBNAIL
from tests.app.training.conftest import LONG, PATIENCE, TINY, fields, filled, until
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

# From the order to the gallery


@pytest.mark.full
def test_a_picture_becomes_a_style_of_the_gallery(window, session, order, qtbot, runs):
    filled(window, order, qtbot)
    previews, trained = [], []
    session.studio.preview_saved.connect(previews.append)
    session.trained.connect(trained.append)
    before = session.config
    window.form.title.clear()
    QTest.keyClicks(window.form.title, "Stripes")
    QTest.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE) as told:
        pass
    (style,) = told.args
    assert (style.key, style.title) == ("stripes", "Stripes")
    assert session.catalog.get("stripes") == style
    assert trained == [style]
    assert session.config == before  # the stream continues unchanged
    assert style.thumbnail is not None
    assert read_pixels(style.thumbnail).shape == (THUMBNAIL, THUMBNAIL, 3)
    assert [point.iteration for point in session.studio.history] == [1, 2, 3, 4]
    assert previews
    assert not list(runs.iterdir())
    assert session.studio.state == State()
    recipe = tomllib.loads((session.catalog.user / "stripes" / "style.toml").read_text("utf-8"))
    assert recipe["training"]["iterations"] == 4
    assert "--style-image red_stripes.png" in recipe["training"]["command"]
    assert str(order.photographs) not in recipe["training"]["command"]


def test_two_styles_of_one_title_live_side_by_side(own_catalog, tmp_path):
    for key in ("red_stripes", "red_stripes_2"):
        pack = tmp_path / "out" / "style"
        pack.mkdir(parents=True)
        (pack / "weights.safetensors").touch()
        (pack / "style.toml").write_text(
            'title = "Red stripes"\nweights = "weights.safetensors"\n[training]\nseed = 7\n'
        )
        adopted = own_catalog.move_in(pack)
        assert adopted.key == key
        assert not pack.exists()
        assert "seed = 7" in (adopted.weights.parent / "style.toml").read_text("utf-8")
    assert len(own_catalog.styles) == 2


@pytest.mark.full
def test_previews_follow_the_current_frame(studio, order, qtbot):
    shapes = []
    studio.preview_saved.connect(lambda path: shapes.append(QImage(str(path)).size().toTuple()))
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), picture(80, 60))
    qtbot.waitUntil(lambda: bool(shapes), timeout=PATIENCE)
    assert shapes[0] == (80, 60)
    studio.set_preview_frame(picture(40, 64))
    qtbot.waitUntil(lambda: shapes[-1] == (40, 64), timeout=PATIENCE)
    studio.cancel()
    until(qtbot, studio, Phase.IDLE)


def test_a_picture_that_changes_is_read_again(tmp_path):
    path = tmp_path / "frame.png"
    write_pixels(path, picture(40, 30))
    shown = PreviewImage(path, np.zeros((8, 8, 3), np.uint8), 512)
    assert shown().shape == (30, 40, 3)
    write_pixels(path, picture(64, 48))
    assert shown().shape == (48, 64, 3)
    path.unlink()
    assert shown().shape == (48, 64, 3)
    assert PreviewImage(None, picture(64, 48), 32)().shape == (24, 32, 3)


def test_photographs_are_counted_and_faults_and_fewness_told(photographs, tmp_path):
    (photographs / "bad.jpg").write_bytes(b"\xff\xd8\xff nothing more")
    found = scan_dataset(photographs)
    assert found.usable
    assert mentions(scan_text(found), "6 photographs; 1", "a small dataset")
    for n in range(120):
        write_pixels(photographs / f"more{n}.png", picture(24, 24, seed=n))
    assert "126 photographs; 1" in scan_text(scan_dataset(photographs))
    assert scan_text(scan_dataset(tmp_path / "absent")).endswith("does not exist")
    assert not scan_dataset(photographs, wanted=lambda: False).usable


# Duration


@pytest.mark.full
def test_a_long_run_is_asked_about_and_can_be_declined(
    window, session, order, qtbot, monkeypatch, runs
):
    monkeypatch.setattr(studio_module, "CONFIRM_ABOVE_S", 0.0)
    filled(window, order, qtbot)
    window.foot.start.click()
    state = until(qtbot, session.studio, Phase.AWAITING_CONFIRMATION)
    assert state.forecast is not None
    assert not state.forecast.on_gpu
    assert window.choice_card.question == confirmation_text(state.forecast)
    no = window.choice_card.buttons[-1]
    assert no.text() == "Do &not train"
    no.click()
    until(qtbot, session.studio, Phase.IDLE)
    assert not window.choice_card.isVisible()
    assert not list(runs.iterdir())


@pytest.mark.full
def test_a_long_run_can_be_started_anyway_or_made_shorter(
    studio, order, qtbot, monkeypatch, own_catalog
):
    monkeypatch.setattr(studio_module, "CONFIRM_ABOVE_S", 0.0)
    monkeypatch.setattr(studio_module, "cheaper", lambda than: TINY if than is LONG else None)
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    until(qtbot, studio, Phase.AWAITING_CONFIRMATION)
    with qtbot.waitSignal(studio.changed, timeout=PATIENCE):
        studio.start_cheaper(None)
    state = until(qtbot, studio, Phase.AWAITING_CONFIRMATION, Phase.TRAINING)
    if state.phase is Phase.AWAITING_CONFIRMATION:  # it takes longer than predicted
        studio.confirm()
    with qtbot.waitSignal(studio.finished, timeout=PATIENCE):
        pass
    assert studio.history[-1].iteration == TINY.iterations


def test_times_are_told_in_words():
    assert format_duration(3) == "a few seconds"
    assert format_duration(100) == "2 minutes"
    assert format_duration(31 * 3600 + 100) == "31 hours"
    assert format_duration(80 * 3600) == "3 days"
    assert format_remaining(200) == "3:20 left"
    assert format_remaining(3725) == "1:02:05 left"
    assert format_remaining(90_000) == "1 d 1 h left"
    on_cpu = Forecast(31 * 3600.0, 11.0, "CPU", on_gpu=False)
    assert "31 hours" in confirmation_text(on_cpu)
    assert "on Big GPU." in confirmation_text(Forecast(7200.0, 1.0, "Big GPU", on_gpu=True))


def test_every_preset_and_stroke_is_a_command_line_of_train(order):
    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    for preset in PRESETS:
        for stroke in STROKES:
            made = TrainingRequest("T", order.picture, order.photographs, preset, stroke)
            line = ["train", "--style-image", "p.png", "-o", "out", *made.flags()]
            args = parser.parse_args(line)
            device = torch.device("cpu")
            config = TrainingConfig(
                **given_fields(args, TrainingConfig, device), **asdict(train._shape(args, None))
            )
            assert config.iterations == preset.iterations
            assert config.style_size == stroke.style_size
            assert config.stability_weight == preset.stability_weight
            assert config.motion_weight == preset.motion_weight
    costs = [preset.work for preset in PRESETS]
    assert costs == sorted(costs)
    assert cheaper(PRESETS[-1]) is PRESETS[0]
    assert cheaper(PRESETS[0]) is None
