"""One training yields both versions of a style, shows it early, and preserves what it learned."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.commands.train.previews import first_impression
from app.styles.any_style_networks import SHIPPED, AnyStyleNetworks
from app.training.request import TrainingRequest
from app.training.run_store import RunStore
from app.training.state import Phase
from app.ui.training.launcher import Notification
from models.checkpoints import load_checkpoint, save_checkpoint
from models.network_config import FULL, LITE, NetworkConfig, network_config
from models.transformer_net import TransformerNetBaseline
from tests.app.training.conftest import LONG, PATIENCE, fields, learning, until
from tests.conftest import picture
from tests.helpers.any_style import save_tiny


def weights(folder: Path, config: NetworkConfig) -> Path:
    path = folder / f"{config.widths[0]}.safetensors"
    save_checkpoint(path, TransformerNetBaseline(**asdict(config)).state_dict(), {})
    return path


@pytest.fixture
def both(order, tmp_path) -> TrainingRequest:
    """Return an order that starts from another style's two networks."""
    start = {"init": weights(tmp_path, FULL), "lite_init": weights(tmp_path, LITE)}
    return TrainingRequest(**{**fields(order), **start})


@pytest.mark.full
def test_both_versions_are_in_one_pack_and_a_first_impression_comes_before_training(
    studio, both, qtbot, own_catalog, runs
):
    seen = []
    studio.preview_saved.connect(
        lambda path: seen.append((studio.state.phase, QImage(str(path)).isNull()))
    )
    studio.start(both, picture(80, 60))
    with qtbot.waitSignal(studio.finished, timeout=2 * PATIENCE) as told:
        pass
    (style,) = told.args
    assert style.lite is not None
    assert network_config(load_checkpoint(style.weights)) == FULL
    assert network_config(load_checkpoint(style.lite)) == LITE
    assert seen[0] == (Phase.MEASURING, False)
    assert [point.iteration for point in studio.history] == [1, 2, 3, 4]  # for the fast version
    assert not list(runs.iterdir())


def test_a_run_remembers_that_its_fast_version_is_left(both, runs):
    run = RunStore(runs).create(both, picture(), picture())
    assert "--network" not in run.arguments()
    run.pack.mkdir(parents=True)
    (again,) = RunStore(runs).all()
    assert again.trains_lite
    arguments = again.arguments()
    assert arguments[arguments.index("--network") + 1] == "lite"
    inits = [b for a, b in itertools.pairwise(arguments) if a == "--init"]
    assert inits[-1] == str(both.lite_init)
    assert again.checkpoint.name == "style-lite.training.pt"
    (run.pack / "lite.safetensors").touch()
    assert not again.trains_lite


@pytest.mark.full
def test_what_was_learned_so_far_becomes_a_style(window, session, order, qtbot, runs):
    session.studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, session.studio)
    window.foot.cancel.click()
    keep = window.choice_card.buttons[1]
    assert keep.text() == "&Keep as a style"
    with qtbot.waitSignal(session.studio.finished, timeout=PATIENCE) as told:
        keep.click()
    (style,) = told.args
    recipe = tomllib.loads((style.weights.parent / "style.toml").read_text("utf-8"))
    assert 2 <= recipe["training"]["iterations"] < LONG.iterations
    until(qtbot, session.studio, Phase.IDLE)
    assert not list(runs.iterdir())


def test_the_desktop_tells_of_the_end_unless_the_window_is_looked_at(qtbot, monkeypatch):
    window, shown = QWidget(), []
    qtbot.addWidget(window)
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "show", lambda _: None)
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _, *words: shown.append(words[:2]))
    notification = Notification(window)
    assert notification.show("'Mosaic' is ready", "In the gallery")
    assert shown == [("'Mosaic' is ready", "In the gallery")]
    monkeypatch.setattr(QApplication, "activeWindow", lambda: window)
    assert not notification.show("'Udnie' is ready", "")
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    assert not notification.show("'Udnie' is ready", "")
    assert len(shown) == 1


def test_the_any_style_network_paints_the_first_impression(tmp_path):
    save_tiny(tmp_path / "shipped" / SHIPPED[0])
    networks = AnyStyleNetworks(tmp_path / "shipped", tmp_path / "mine")
    style, frame = picture(64, 48, seed=1), picture(80, 60, seed=2)
    painted = first_impression(networks, style, frame)
    assert painted is not None
    assert (painted.shape, painted.dtype) == (frame.shape, frame.dtype)
    other = first_impression(networks, picture(64, 48, seed=3), frame)
    assert (painted != other).any()
    assert first_impression(AnyStyleNetworks(tmp_path / "a", tmp_path / "b"), style, frame) is None
