"""The studio's one decision: photographs. The user's own pictures need permission."""

from __future__ import annotations

import argparse

import pytest
from PySide6.QtCore import QStandardPaths

from app.commands.train import command as train
from app.settings import Settings
from app.training.dataset_scan import scan_dataset
from app.ui.file_dialogs import FileDialogs
from app.ui.training.window import TrainingWindow
from models.training.data import find_photographs
from tests.conftest import picture
from utils.images.writing import write_pixels


@pytest.fixture
def own_pictures(tmp_path, monkeypatch, photographs):
    """Return the user's pictures folder with photographs and one of StyleForge's results."""
    (photographs / "StyleForge").mkdir()
    write_pixels(photographs / "StyleForge" / "styled.png", picture(60, 50))
    monkeypatch.setattr(QStandardPaths, "writableLocation", lambda _: str(photographs))
    return photographs


def opened(session, qtbot, kept: dict) -> TrainingWindow:
    picker = FileDialogs(Settings, lambda **_: None, session.run)
    made = TrainingWindow(session, lambda: None, lambda **values: kept.update(values), picker)
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_pictures_folder_is_read_only_when_allowed_and_asked_for_once(
    session, own_pictures, qtbot
):
    kept: dict = {}
    window = opened(session, qtbot, kept)
    window.restore("", "", own_pictures=False)
    window.form.own_pictures.click()
    assert str(own_pictures) in window.choice_card.question
    assert window.form.folder.path is None
    window.choice_card.buttons[2].click()
    assert (window.form.folder.path, kept) == (None, {})
    window.form.own_pictures.click()
    window.choice_card.buttons[0].click()
    assert window.form.folder.path == own_pictures
    assert kept == {"own_pictures": True}
    later = opened(session, qtbot, kept)
    later.restore("", "", own_pictures=True)
    assert later.form.folder.path == own_pictures
    assert later.choice_card.question == ""
    qtbot.waitUntil(lambda: "5 photographs" in later.form.folder_remark.text())


def test_a_painting_with_photographs_known_needs_one_click(session, own_pictures, order, qtbot):
    window = opened(session, qtbot, {})
    window.restore("", "", own_pictures=True)
    window.form.show_vgg(order.vgg)
    window.use_picture(order.picture, "")
    qtbot.waitUntil(window.foot.start.isEnabled)
    assert window.choice_card.question == ""
    assert not window.form.advanced.isVisible()
    assert window.form.preset.currentData().key == "sketch"  # without a GPU


def test_results_of_styleforge_are_no_photographs(own_pictures, order):
    assert scan_dataset(own_pictures).found == 5
    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    flags = ["--style-image", str(order.picture), "-o", "out", *order.flags()]
    args = parser.parse_args(["train", *flags])
    assert len(find_photographs(args.dataset, (), args.skip_folder)) == 5
    assert len(find_photographs(args.dataset)) == 6
