"""Picture styles in the window: dropped, pasted or chosen, renamed, exported and trained."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QAction,
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QImage,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.errors import Problem
from app.styles.any_style_networks import SHIPPED
from app.training.state import Phase
from models.families.any_style import AnyStyleNetwork
from models.families.keys import ANY_STYLE
from models.families.style_codes import load_code
from tests.app.ui.window.conftest import press
from tests.helpers.any_style import save_tiny
from tests.helpers.errors import mentions
from utils.files import toml
from utils.images.reading import read_pixels

FULL, LITE = SHIPPED


@pytest.fixture
def network(window, session, tiny_network, tmp_path, qtbot) -> Path:
    path = tmp_path / "any_style" / FULL
    path.parent.mkdir()
    shutil.copyfile(tiny_network, path)
    session.styles_changed.emit()
    qtbot.waitUntil(lambda: not session._jobs._callbacks)  # the window has looked for it
    assert window.styles.pictures.unavailable_reason == ""
    return path


@pytest.fixture
def painting(tmp_path) -> Path:
    path = tmp_path / "red_sea.png"
    Image.new("RGB", (90, 60), "crimson").save(path)
    return path


@pytest.fixture
def red_sea(window, session, network, painting, qtbot) -> str:
    """Install and choose a picture style; return its key."""
    session.user_styles.install_picture(painting)
    qtbot.waitUntil(lambda: session.config.style == "red_sea", timeout=10_000)
    return "red_sea"


def at(data: QMimeData) -> tuple:
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    return QPointF(20, 20), Qt.DropAction.CopyAction, data, left, plain


def drop(widget, data: QMimeData) -> None:
    place, *rest = at(data)
    QApplication.sendEvent(widget, QDragEnterEvent(place.toPoint(), *rest))
    QApplication.sendEvent(widget, QDropEvent(*at(data)))


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def only_problem(window, qtbot) -> Problem:
    qtbot.waitUntil(lambda: bool(window.problems.problems), timeout=10_000)
    [problem] = window.problems.problems
    return problem


def test_a_picture_dropped_on_the_styles_becomes_the_style(
    window, session, network, painting, qtbot
):
    with qtbot.waitSignal(session.styles_changed, timeout=10_000):
        drop(window.gallery, files(painting))
    assert session.config.style == "red_sea"
    style = session.catalog.get("red_sea")
    assert (style.title, style.family) == ("Red Sea", ANY_STYLE)
    assert load_code(style.weights).network == AnyStyleNetwork.load(network).digest
    assert window.gallery.view.currentIndex().data() == "Red Sea"
    assert session.info is None  # the picture was not opened
    qtbot.waitUntil(lambda: session.engine.config is not None)
    qtbot.waitUntil(lambda: session.engine.config.style == "red_sea", timeout=10_000)


def test_several_pictures_become_a_style_each(window, session, network, tmp_path, qtbot):
    paths = [tmp_path / f"{name}.png" for name in ("teal", "gold", "plum")]
    for path in paths:
        Image.new("RGB", (40, 40), path.stem).save(path)
    drop(window.gallery, files(*paths))
    qtbot.waitUntil(lambda: not session.style_jobs.busy, timeout=10_000)
    qtbot.waitUntil(lambda: session.config.style == "plum")
    assert {"teal", "gold", "plum"} <= {style.key for style in session.catalog.styles}


def test_a_picture_dropped_on_the_viewport_is_still_opened(
    window, session, network, painting, qtbot
):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(painting))
    assert "red_sea" not in {style.key for style in session.catalog.styles}


def test_a_drag_over_the_styles_says_what_a_drop_would_do(window, network, painting):
    place, *rest = at(files(painting))
    QApplication.sendEvent(window.gallery, QDragEnterEvent(place.toPoint(), *rest))
    assert mentions(window.gallery.drop_hint, "make a style", "red_sea.png")
    QApplication.sendEvent(window.gallery, QDragLeaveEvent())
    assert window.gallery.drop_hint == ""


def test_ctrl_v_makes_a_style_only_while_the_styles_have_the_focus(window, session, network, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("teal"))
    QGuiApplication.clipboard().setImage(image)
    window.gallery.view.setFocus()
    QTest.keySequence(window, window.actions_by_key["paste"].shortcut())
    qtbot.waitUntil(lambda: session.config.style == "pasted_picture", timeout=10_000)
    kept = session.catalog.get("pasted_picture").picture
    assert kept is not None
    assert read_pixels(kept)[0, 0].tolist() == [0, 128, 128]
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        press(window, "paste")
    assert (session.info.width, session.info.height) == (40, 30)


def test_a_file_is_pasted_as_a_style_by_its_own_key(window, session, network, painting, qtbot):
    QGuiApplication.clipboard().setMimeData(files(painting))
    press(window, "paste_style")
    qtbot.waitUntil(lambda: session.config.style == "red_sea", timeout=10_000)


def test_pasting_nothing_as_a_style_says_so(window, network, qtbot):
    QGuiApplication.clipboard().clear()
    press(window, "paste_style")
    assert "nothing on the clipboard" in only_problem(window, qtbot).summary


def test_style_from_a_picture_asks_for_files(window, session, network, painting, qtbot):
    press(window, "style_picture")
    dialog = window.file_dialogs._made["Style from a picture"]
    qtbot.waitUntil(dialog.isVisible)
    dialog.filesSelected.emit([str(painting)])
    dialog.close()
    qtbot.waitUntil(lambda: session.config.style == "red_sea", timeout=10_000)


def test_without_a_network_the_actions_are_disabled_and_a_drop_opens_the_studio(
    window, painting, qtbot
):
    qtbot.waitUntil(lambda: bool(window.styles.pictures.unavailable_reason))
    for key in ("style_picture", "paste_style"):
        assert not window.actions_by_key[key].isEnabled()
        assert "none is installed" in window.actions_by_key[key].toolTip()
    drop(window.gallery, files(painting))
    studio = window.training_launcher.window
    assert studio is not None
    qtbot.waitUntil(lambda: studio.form.title.text() == "Red Sea")
    assert studio.isVisible()
    assert "May StyleForge search" in studio.choice_card.question
    studio.close()


def test_a_style_made_in_an_instant_is_offered_to_training(
    window, session, network, painting, qtbot
):
    drop(window.gallery, files(painting))
    qtbot.waitUntil(lambda: "made in an instant" in window.notices.text, timeout=10_000)
    window.notices.offer_button.click()
    studio = window.training_launcher.window
    assert studio is not None
    qtbot.waitUntil(lambda: studio.form.title.text() == "Red Sea")
    studio.close()


def test_with_a_network_the_actions_say_what_they_do(window, network):
    for key in ("style_picture", "paste_style"):
        action = window.actions_by_key[key]
        assert action.isEnabled()
        assert action.shortcut().toString() in action.toolTip()


def _saved(path: Path, image: Image.Image, **how) -> Path:
    image.save(path, **how)
    return path


def _broken(path: Path) -> Path:
    Image.effect_noise((80, 60), 60).save(path)
    path.write_bytes(path.read_bytes()[:400])
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda p: _saved(p / "odd.png", Image.new("L", (90, 70), 128)), marks=pytest.mark.full
        ),
        lambda p: _saved(p / "odd.png", Image.new("RGBA", (90, 70), (200, 10, 10, 60))),
        lambda p: _saved(
            p / "odd.gif",
            Image.new("RGB", (90, 70), "red"),
            save_all=True,
            append_images=[Image.new("RGB", (90, 70), "blue")],
        ),
        pytest.param(
            lambda p: _saved(p / "odd.jpg", Image.new("RGB", (8000, 6000), "teal")),
            marks=pytest.mark.full,
        ),
        lambda p: _saved(p / "odd.png", Image.new("RGB", (8, 8), "teal")),
    ],
    ids=["gray", "alpha", "animated", "8000x6000", "8x8"],
)
def test_an_odd_picture_works(window, session, network, tmp_path, qtbot, make):
    drop(window.gallery, files(make(tmp_path)))
    qtbot.waitUntil(lambda: session.config.style == "odd", timeout=20_000)
    assert window.problems.problems == ()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: _broken(p / "bad.png"), "truncated or damaged"),
        (
            lambda p: _folder(p / "bad"),
            "'bad' is a folder and cannot be used as a style picture. Drop the pictures",
        ),
        pytest.param(lambda p: p / "bad.png", "does not exist", marks=pytest.mark.full),
        pytest.param(
            lambda p: p / "bad.pdf",
            "'bad.pdf' cannot be used as a style picture. Pictures and style packs",
            marks=pytest.mark.full,
        ),
        (lambda p: _saved(p / "bad.png", Image.new("RGB", (900, 20))), "too narrow"),
    ],
    ids=["damaged", "folder", "missing", "document", "narrow"],
)
def test_a_bad_picture_is_one_sentence_and_changes_nothing(
    window, session, network, tmp_path, painting, qtbot, make, sentence
):
    before, styles = session.config, session.catalog.styles
    drop(window.gallery, files(make(tmp_path)))
    problem = only_problem(window, qtbot)
    assert sentence in problem.summary
    assert "'bad" in problem.summary
    qtbot.waitUntil(lambda: not session.style_jobs.busy)
    assert (session.config, session.catalog.styles) == (before, styles)
    drop(window.gallery, files(painting))
    qtbot.waitUntil(lambda: session.config.style == "red_sea", timeout=10_000)


def test_a_long_job_is_told_and_can_be_canceled(
    window, session, network, painting, tmp_path, qtbot, monkeypatch
):
    going, encode = threading.Event(), AnyStyleNetwork.encode

    def slow(self, pixels):
        assert going.wait(10)
        return encode(self, pixels)

    monkeypatch.setattr(AnyStyleNetwork, "encode", slow)
    before = session.config
    other = Path(shutil.copy(painting, tmp_path / "other.png"))
    drop(window.gallery, files(painting, other))
    qtbot.waitUntil(window.job.isVisible, timeout=5000)
    said = "Making a style from 'red_sea.png': finding its style (1 more)"
    qtbot.waitUntil(lambda: window.job.text == said)
    assert window.job.accessibleDescription() == said
    window.viewport.setFocus()
    QTest.keyClick(window.viewport, Qt.Key.Key_Escape)
    assert "canceling" in window.job.text
    assert not window.job.cancel.isEnabled()
    going.set()
    qtbot.waitUntil(lambda: not session.style_jobs.busy, timeout=5000)
    assert not window.job.isVisible()
    assert session.config == before
    assert window.problems.problems == ()
    assert not session.catalog.user.exists()


def test_a_style_is_prepared_for_the_lite_network_in_the_background(
    window, session, network, painting, tmp_path, qtbot
):
    style = session.catalog.install_picture(painting)
    save_tiny(tmp_path / "any_style" / LITE, 2)
    session.styles_changed.emit()
    said: list[str] = []
    session.style_jobs.progress.connect(said.append)
    window.mixer.choose_style(style.key)
    assert session.engine.config.style == "candy"
    qtbot.waitUntil(lambda: session.engine.config.style == style.key, timeout=10_000)
    assert any(mentions(each, "Red Sea", "its style") for each in said)
    assert len(list(style.weights.parent.glob("code-*.safetensors"))) == 1
    said.clear()
    window.mixer.choose_style("candy")
    window.mixer.choose_style(style.key)  # it is already prepared
    assert said == []


def test_preparing_can_be_canceled_and_the_style_before_stays(
    window, session, network, painting, tmp_path, qtbot, monkeypatch
):
    style = session.catalog.install_picture(painting)
    save_tiny(tmp_path / "any_style" / LITE, 2)
    session.styles_changed.emit()
    going = threading.Event()
    prepare = session.catalog.prepare

    def slow(key, progress):
        assert going.wait(10)
        prepare(key, progress)

    monkeypatch.setattr(session.catalog, "prepare", slow)
    window.mixer.choose_style(style.key)
    session.config = replace(session.config, strength=0.5)  # waits for the same work
    qtbot.waitUntil(window.job.isVisible, timeout=5000)
    window.job.cancel.click()
    going.set()
    qtbot.waitUntil(lambda: session.config.style == "candy", timeout=5000)
    assert window.problems.problems == ()
    assert not list(style.weights.parent.glob("code-*.safetensors"))
    assert window.gallery.view.currentIndex().data() == "Candy"
    window.mixer.choose_style(style.key)  # choosing it again prepares it
    qtbot.waitUntil(lambda: session.engine.config.style == style.key, timeout=10_000)


def test_a_style_that_cannot_be_prepared_is_told_and_the_one_before_stays(
    window, session, network, painting, tmp_path, qtbot
):
    style = session.catalog.install_picture(painting)
    session.styles_changed.emit()
    style.weights.write_bytes(b"nothing")
    window.mixer.choose_style(style.key)
    assert "a style code" in only_problem(window, qtbot).summary
    qtbot.waitUntil(lambda: session.config.style == "candy")


# Rename, export, remove, train


def menu(window, key: str) -> dict[str, QAction]:
    return {action.text(): action for action in window.gallery.context_menu(key).actions()}


def test_f2_renames_the_chosen_style(window, session, red_sea, qtbot):
    press(window, "rename_style")
    assert window.questions.field.text() == "Red Sea"
    window.questions.field.setText('Deep "Red"')
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        QTest.keyClick(window.questions.field, Qt.Key.Key_Return)
    style = session.catalog.get(red_sea)
    assert style.title == 'Deep "Red"'
    spec = toml.load(style.weights.parent / "style.toml")
    assert (spec["title"], spec["family"]) == ('Deep "Red"', ANY_STYLE)
    assert window.gallery.view.currentIndex().data() == 'Deep "Red"'
    assert window.mixer.label() == 'Deep "Red"'


def test_a_title_of_another_style_is_refused(window, session, red_sea, qtbot):
    session.user_styles.rename(red_sea, "candy")
    assert mentions(only_problem(window, qtbot).summary, "another style", "candy")
    assert session.catalog.get(red_sea).title == "Red Sea"


def test_what_is_built_in_says_that_it_cannot_be_renamed(window, session):
    press(window, "rename_style")
    assert mentions(window.notices.text, "Candy", "built in")
    rename = menu(window, "candy")["&Rename..."]
    assert not rename.isEnabled()
    assert mentions(rename.toolTip(), "Candy", "built in")


def test_a_style_is_exported_and_installed_elsewhere(
    window, session, red_sea, painting, tmp_path, qtbot
):
    file = tmp_path / "red_sea.styleforge"
    menu(window, red_sea)["&Export..."].trigger()
    dialog = window.file_dialogs._made["Export the style"]
    qtbot.waitUntil(dialog.isVisible)
    dialog.filesSelected.emit([str(file)])
    dialog.close()
    qtbot.waitUntil(lambda: window.notices.text == f"Exported Red Sea to {file}")
    again = session.catalog.install(file)
    assert (again.title, again.family) == ("Red Sea 2", ANY_STYLE)
    kept = session.catalog.get(red_sea).picture
    assert kept is not None
    assert again.picture is not None
    np.testing.assert_array_equal(read_pixels(again.picture), read_pixels(kept))
    press(window, "export_style")
    dialog.filesSelected.emit([str(painting / "style")])
    dialog.close()
    assert mentions(only_problem(window, qtbot).summary, "Red Sea", "exported")


def test_a_style_of_a_picture_is_removed_as_others_are(window, session, red_sea, qtbot):
    menu(window, red_sea)["Remo&ve..."].trigger()
    assert mentions(window.questions.accessibleDescription(), "Remove", "Red Sea")
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        window.questions.accept.click()
    assert session.config.style == "candy"
    assert list(session.catalog.user.iterdir()) == []


def test_proper_training_opens_the_studio_with_the_kept_picture(window, session, red_sea, qtbot):
    press(window, "train_picture")
    studio = window.training_launcher.window
    assert studio is not None
    qtbot.waitUntil(lambda: studio.form.title.text() == "Red Sea", timeout=5000)
    assert studio.form._picture == session.catalog.get(red_sea).picture
    assert studio.isVisible()
    studio.close()


def test_a_run_that_is_not_finished_is_not_replaced(window, session, red_sea, monkeypatch):
    busy = replace(session.studio.state, phase=Phase.TRAINING)
    with monkeypatch.context() as training:  # closing a window would ask otherwise
        training.setattr(session.studio, "_state", busy)
        press(window, "train_picture")
    studio = window.training_launcher.window
    assert studio is not None
    [problem] = studio.problems.problems
    assert mentions(problem.summary, "Red Sea", "while the training")
    assert studio.form._picture is None
    studio.close()


def test_a_style_with_a_network_of_its_own_is_not_trained_again(window, session, red_sea):
    assert window.actions_by_key["train_picture"].isEnabled()
    window.mixer.choose_style("mosaic")
    action = window.actions_by_key["train_picture"]
    assert not action.isEnabled()
    assert mentions(action.toolTip(), "Mosaic", "its own network")
    assert not menu(window, "mosaic")["&Train this style properly..."].isEnabled()


def test_the_menu_beside_the_styles_adds_some(window, network):
    said = [action.text() for action in window.gallery.additions_menu().actions()]
    assert said == ["Style from a picture...", "Paste as a style", "Install a style..."]
