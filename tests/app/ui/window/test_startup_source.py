"""A restart restores the last choices, and something is always shown."""

from __future__ import annotations

import base64
import gc
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from app.frame import SourceInfo
from app.live.session import Session
from app.settings import Settings
from app.sources import CameraName, open_source
from app.ui.application import freeze_garbage_collector, run
from app.ui.controllers.startup_source import StartupSource, source_from_paths
from app.ui.main_window import MainWindow
from app.ui.startup_view import StartupView
from app.ui.theme.tokens import LIGHT
from app.ui.viewport.text_painting import INK
from tests.app.ui.window.conftest import press
from tests.helpers.windows import show_window

# Saved choices


def test_what_was_chosen_is_saved_on_closing(streaming, session, saved, picture):
    session.config = replace(session.config, style="mosaic", strength=0.5)
    press(streaming, "view_split")
    press(streaming, "overlay")
    press(streaming, "theme")
    streaming.close()
    kept = saved[-1]
    assert (kept.style, kept.strength, kept.view) == ("mosaic", 0.5, "split")
    assert (kept.overlay, kept.theme) == (True, "light")
    assert kept.source == str(picture)
    assert kept.geometry


def test_a_change_is_saved_a_little_later(window, saved, qtbot):
    press(window, "overlay")
    qtbot.waitUntil(lambda: bool(saved), timeout=4000)
    assert saved[-1].overlay


def test_a_slow_disk_does_not_hold_the_window_up(session, qtbot):
    writers: list[threading.Thread] = []
    window = MainWindow(session, Settings(), lambda _: writers.append(threading.current_thread()))
    qtbot.addWidget(window)
    window.settings.save_soon(0)
    qtbot.waitUntil(lambda: bool(writers))
    assert threading.main_thread() not in writers


def test_what_was_saved_comes_back(session, qtbot):
    kept = Settings(view="split", split=0.3, overlay=True, show_panel=False, theme="dark")
    window = MainWindow(session, kept, lambda _: None)
    qtbot.addWidget(window)
    window.show()
    assert window.viewport.view == "split"
    assert window.viewport.split == 0.3
    assert window.overlay.isVisible()
    assert not window.panel.isVisible()
    assert window.theme.tokens.name == "dark"
    window.theme.choice = "system"


def test_a_pasted_picture_is_not_remembered(window, session, saved, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        window.opener.open_image(image)
    window.close()
    assert saved[-1].source == ""


def test_settings_that_cannot_be_written_are_a_problem(session, qtbot):
    def full(_: Settings) -> None:
        raise OSError("no space left on device")

    window = MainWindow(session, Settings(), full)
    qtbot.addWidget(window)
    window.settings.save_soon(0)
    qtbot.waitUntil(lambda: bool(window.problems.problems))
    assert "no space left" in window.problems.problems[0].summary


# Beginning


class Scripted:
    def __init__(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[object] = []
        monkeypatch.setattr(session, "open", self.opened.append)
        monkeypatch.setattr(session, "cameras", lambda: None)


def test_without_a_source_the_cameras_are_listed_and_nothing_is_opened(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    listed: list[bool] = []
    monkeypatch.setattr(session, "cameras", lambda: listed.append(True))
    StartupSource(session, "")
    session.cameras_found.emit((CameraName(0, "HD Pro"), CameraName(1, "Other")))
    session.opening_failed.emit()
    assert (script.opened, listed) == ([], [True])


def test_a_source_that_is_gone_gives_way_to_the_scene(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    StartupSource(session, "/gone.png")
    session.opening_failed.emit()
    session.opening_failed.emit()
    assert script.opened == ["/gone.png", "scene"]


def test_a_later_problem_opens_nothing(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    StartupSource(session, "/here.png")
    session.source_changed.emit(SourceInfo("here", 8, 8))
    session.opening_failed.emit()
    assert script.opened == ["/here.png"]


def test_a_file_manager_opens_files_whatever_their_names(session, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    script = Scripted(session, monkeypatch)
    StartupSource(session, source_from_paths(["camera:0"]))
    StartupSource(session, source_from_paths(["scene", "/a/http://b.png"]))
    named = str(Path("/a/http:/b.png").absolute())
    assert script.opened == [str(tmp_path / "camera:0"), [str(tmp_path / "scene"), named]]


@pytest.mark.full
@pytest.mark.slow
def test_the_program_shows_the_files_it_is_opened_with(picture, tmp_path):
    Settings(remember_source="always").save(tmp_path / "settings" / "styleforge" / "settings.json")
    ran = subprocess.run(
        [sys.executable, "-m", "app", "--pictures", "1", "--open", str(picture)],
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "settings")},
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    assert "first picture" in ran.stdout
    assert Settings.load(tmp_path / "settings" / "styleforge" / "settings.json").source == str(
        picture
    )


# Starting


def test_the_first_window_needs_no_pytorch():
    check = (
        "import sys, app.ui.application; "
        "sys.exit(bool({'torch', 'numpy', 'cv2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_first_window_says_that_the_program_is_starting(qapp, qtbot):
    starting = StartupView(qapp, Settings(theme="light"))
    qtbot.addWidget(starting)
    show_window(starting, qtbot)
    painted = starting.grab().toImage()
    inks = {painted.pixelColor(x, painted.height() // 2).name() for x in range(painted.width())}
    assert {LIGHT.canvas, INK.name()} <= inks  # text on the theme's canvas
    assert starting.accessibleName() == "StyleForge is starting"


def test_the_first_window_gives_its_place_to_the_one_that_follows(qapp, window, qtbot):
    window.setGeometry(120, 90, 1000, 600)
    kept = base64.b64encode(window.saveGeometry().data()).decode()
    window.hide()
    window.setGeometry(0, 0, 800, 500)
    starting = StartupView(qapp, Settings(geometry=kept))
    starting.show()
    assert starting.geometry().getRect() == (120, 90, 1000, 600)
    starting.hand_over_to(window)
    assert window.isVisible()
    assert window.geometry().getRect() == (120, 90, 1000, 600)
    assert not starting.isVisible()


def test_until_something_is_opened_the_window_says_that_it_is_starting(window, session):
    assert window.viewport.accessibleDescription() == "StyleForge is starting"
    session.opening_changed.emit("Opening the scene...")
    assert window.viewport.accessibleDescription() == "Opening the scene..."
    session.opening_changed.emit("")
    assert window.viewport.accessibleDescription().startswith("Drop a picture")


def test_a_picture_takes_the_words_of_starting_away(window, session, picture, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.play(open_source(str(picture)))
    assert window.viewport.accessibleDescription() == "Styled with Candy"
    assert window.viewport._waiting_text == ""


def test_without_a_display_it_says_so_in_one_sentence(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("app.ui.application.sys.platform", "linux")
    assert run(None) == 1  # type: ignore[arg-type]  (it does not get as far as its options)
    said = capsys.readouterr().err
    assert "no display" in said
    assert "styleforge stylize" in said


# Last, since every collection after it is slow until the module ends.


@pytest.mark.full
def test_what_was_loaded_is_not_looked_through_for_garbage_any_more(
    window, session, picture, qtbot
):
    freeze_garbage_collector(session)
    before = len(gc.get_objects())
    try:
        with qtbot.waitSignal(session.painted, timeout=5000):
            session.open(str(picture))
        assert len(gc.get_objects()) < before / 2, "what a collection has to look through"
    finally:
        gc.unfreeze()
