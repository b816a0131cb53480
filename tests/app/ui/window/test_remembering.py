"""The window remembers what was open only if the user lets it, and asks for that once."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage

from app.frame import SourceInfo
from app.settings import Settings
from app.ui.controllers import remembering
from app.ui.controllers.remembering import QUESTIONS
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

FILES, CAMERA = QUESTIONS["remember_source"], QUESTIONS["wall_camera"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(remembering, "ASK_MS", 0)


def settle(window: MainWindow, qtbot) -> None:
    """Wait until the window has asked, or has decided not to."""
    qtbot.waitUntil(lambda: not window.remembering._later.isActive())


@pytest.fixture
def fresh(session, saved, qtbot):
    """Yield a window whose user has answered nothing yet."""
    window = MainWindow(session, Settings(), saved.append)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    yield window
    window.theme.choice = "system"


@pytest.fixture
def opened(fresh, session, picture, qtbot) -> MainWindow:
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(picture))
    settle(fresh, qtbot)
    return fresh


def act(window: MainWindow, answer: str) -> None:
    notices = window.notices
    answers: dict[str, Callable[[], object]] = {
        "remember": notices.offer_button.click,
        "do not": notices.other_button.click,
        "Escape": lambda: press(window, "back"),
    }
    answers[answer]()


def test_nothing_is_remembered_until_the_user_allows_it(opened, saved):
    opened.settings.update(palette_recent="action:open")
    opened.close()
    kept = saved[-1]
    assert (kept.remember_source, kept.source, kept.palette_recent) == ("ask", "", "")


def test_a_question_that_gets_no_answer_goes_until_the_next_start(opened, saved, qtbot):
    assert opened.notices.text == FILES
    opened.remembering._gone.setInterval(0)
    qtbot.waitUntil(lambda: not opened.notices.text)
    opened.remembering.update()
    assert not opened.notices.text
    opened.close()
    assert saved[-1].remember_source == "ask"


@pytest.mark.parametrize(
    ("answer", "kept"), [("remember", "always"), ("do not", "never"), ("Escape", "never")]
)
def test_the_first_source_of_ones_own_is_asked_about_once(
    opened, session, saved, picture, tmp_path, qtbot, answer, kept
):
    assert opened.notices.text == FILES
    act(opened, answer)
    assert not opened.notices.text
    assert opened.actions_by_key["remember_source"].isChecked() == (kept == "always")
    write_pixels(tmp_path / "other.png", np.zeros((48, 64, 3), np.uint8))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(tmp_path / "other.png"))
    settle(opened, qtbot)
    assert not opened.notices.text
    opened.close()
    source = str(tmp_path / "other.png") if kept == "always" else ""
    assert (saved[-1].remember_source, saved[-1].source) == (kept, source)


def test_the_question_covers_neither_the_wall_nor_the_speed_test(opened, session, qtbot):
    for action in ("wall", "view_compare"):
        press(opened, action)
        qtbot.waitUntil(lambda: not opened.notices.text)
        press(opened, "wall" if action == "wall" else "view_styled")
        qtbot.waitUntil(lambda: opened.notices.text == FILES)
    act(opened, "remember")
    press(opened, "wall")
    press(opened, "wall")
    assert not opened.notices.text


def test_the_first_painting_is_seen_before_the_question(fresh, session, picture, qtbot):
    fresh.remembering._later.setInterval(60_000)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    assert not fresh.notices.text
    fresh.remembering._later.stop()
    fresh.remembering.update()
    assert fresh.notices.text == FILES


def test_what_ran_before_the_answer_is_remembered_with_it(opened, saved):
    opened.settings.update(palette_recent="action:open")
    opened.settings.save_now()
    act(opened, "remember")
    opened.close()
    assert saved[-1].palette_recent == "action:open"


def test_the_switch_answers_the_question(opened, saved):
    press(opened, "remember_source")
    assert not opened.notices.text
    opened.close()
    assert saved[-1].remember_source == "always"


def test_a_pasted_picture_is_not_asked_about(fresh, session, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        fresh.opener.open_image(image)
    settle(fresh, qtbot)
    assert not fresh.notices.text


@pytest.mark.parametrize("spec", ["scene", "rtsp://camera.local/stream"])
def test_what_no_start_opens_again_is_not_asked_about(fresh, session, monkeypatch, spec, qtbot):
    monkeypatch.setattr(type(session), "spec", property(lambda _: spec))
    session.source_changed.emit(SourceInfo("other", 8, 8))
    settle(fresh, qtbot)
    assert not fresh.notices.text


@pytest.mark.parametrize("asked", [False, True])
def test_a_camera_is_asked_about_unless_the_wall_has_asked(
    fresh, session, monkeypatch, asked, qtbot
):
    fresh.wall.sources._asked = asked
    monkeypatch.setattr(type(session), "spec", property(lambda _: "camera:HD Pro"))
    session.source_changed.emit(SourceInfo("HD Pro", 8, 8))
    settle(fresh, qtbot)
    assert fresh.notices.text == ("" if asked else CAMERA)
    if not asked:
        act(fresh, "remember")
        assert fresh.settings.value.wall_camera == "always"
        assert fresh.settings.value.remember_source == "ask"


@pytest.mark.parametrize(("old", "meant"), [(True, "always"), (False, "never")])
def test_older_settings_keep_their_meaning(tmp_path, old, meant):
    complaints: list[str] = []
    (tmp_path / "settings.json").write_text(json.dumps({"remember_source": old}))
    settings = Settings.load(tmp_path / "settings.json", complaints.append)
    assert settings.remember_source == meant
    assert complaints == []
