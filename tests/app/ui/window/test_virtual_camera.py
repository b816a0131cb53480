"""The virtual camera shows the window's picture to other programs, but never mirrored."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QLineEdit

from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.virtual_camera import switch
from app.ui.virtual_camera.dialog import CameraDialog
from app.ui.virtual_camera.obs_dialog import ObsDialog
from app.ui.virtual_camera.switch import choice_from_settings
from app.virtual_camera import sender
from app.virtual_camera.choice import CameraChoice
from app.virtual_camera.color_bars import color_bars
from app.virtual_camera.device import MODPROBE
from app.virtual_camera.installing import NEEDS_DRIVER, NO_DRIVER, READY, Needed
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_keys import controls
from tests.helpers.errors import mentions
from tests.helpers.virtual_cameras import NAME, FakeCameras, FakeReaders, fake_cameras
from utils.images.writing import write_pixels
from utils.translation.texts import tr

LACKING = Needed(NEEDS_DRIVER, f"sudo apt install it && {MODPROBE}", NO_DRIVER)


@pytest.fixture
def cameras(monkeypatch) -> Iterator[FakeCameras]:
    """Return the cameras of a machine that has a driver."""
    monkeypatch.setattr(switch, "needed", lambda: Needed(READY))
    with fake_cameras() as cameras:
        yield cameras


@pytest.fixture
def on(streaming, cameras, qtbot) -> MainWindow:
    """Return the window with a red picture, whose negative the camera shows."""
    press(streaming, "virtual_camera")
    qtbot.waitUntil(lambda: bool(cameras.opened) and len(cameras.opened[0].frames) > 0)
    return streaming


def is_checked(window: MainWindow) -> bool:
    return window.actions_by_key["virtual_camera"].isChecked()


def middle(cameras: FakeCameras) -> list[int]:
    picture = cameras.opened[-1].pictures()[-1]
    return picture[picture.shape[0] // 2, picture.shape[1] // 2].tolist()


def test_the_switch_shows_the_picture_on_screen_to_other_programs(on, cameras, qtbot):
    assert is_checked(on)
    qtbot.waitUntil(lambda: middle(cameras) == [0, 255, 255])
    assert cameras.opened[0].asked["width"] == 1280
    sent = cameras.opened[0].pictures()[-1]
    assert not sent[:, :150].any(), "64x48 stands between black bars"


def test_a_stream_is_sent_as_the_engine_makes_it(moving, cameras, qtbot, session):
    moving.settings.update(camera_size="640x480")
    made: set[bytes] = set()
    session.styled.connect(lambda styled: made.add(styled.frame.pixels[::2, ::2].tobytes()))
    press(moving, "virtual_camera")
    qtbot.waitUntil(lambda: len(made) > 5)
    press(moving, "virtual_camera")
    sent = {p[::8, ::8].tobytes() for p in cameras.opened[0].pictures() if p.any()}
    assert len(sent) > 2


def test_the_switch_again_closes_the_camera(on, cameras):
    press(on, "virtual_camera")
    assert cameras.opened[0].closed.is_set()
    assert not is_checked(on)
    assert not on.status.camera.isVisible()


def test_closing_the_window_asks_first_and_then_closes_the_camera(on, cameras):
    on.close()
    assert on.isVisible()
    assert not cameras.opened[0].closed.is_set()
    told = tr("other programs no longer get the painting from the virtual camera")
    assert told in on.questions.accessibleDescription()
    on.questions.accept.click()
    assert cameras.opened[0].closed.is_set()
    assert not on.isVisible()


def test_a_camera_that_is_switched_off_while_it_is_opened_is_closed(
    streaming, cameras, qtbot, monkeypatch
):
    begun, go_on = threading.Event(), threading.Event()
    real = sender.open_camera

    def slow(choice):
        begun.set()
        go_on.wait(60)
        return real(choice)

    monkeypatch.setattr(sender, "open_camera", slow)
    press(streaming, "virtual_camera")
    assert streaming.status.camera.text() == "Virtual camera: opening ..."
    qtbot.waitUntil(begun.is_set, timeout=30_000)
    press(streaming, "virtual_camera")
    go_on.set()
    closed = lambda: bool(cameras.opened) and cameras.opened[0].closed.is_set()  # noqa: E731
    qtbot.waitUntil(closed, timeout=30_000)
    assert streaming.virtual_camera.camera is None
    assert not is_checked(streaming)


def test_a_camera_that_cannot_be_opened_is_a_problem_and_the_switch_goes_back(
    streaming, cameras, qtbot
):
    cameras.fault = "there is none"
    press(streaming, "virtual_camera")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems))
    summary = streaming.problems.problems[0].summary
    assert "virtual camera on" in summary
    assert not is_checked(streaming)
    assert not streaming.status.camera.isVisible()


def test_a_camera_that_fails_is_a_problem_and_the_switch_goes_back(on, cameras, qtbot):
    def fail(_: object) -> None:
        raise RuntimeError("the device is gone")

    cameras.before_send = fail
    qtbot.waitUntil(lambda: bool(on.problems.problems))
    assert mentions(on.problems.problems[0].summary, NAME, "the device is gone")
    assert not is_checked(on)
    assert cameras.opened[0].closed.is_set()


def test_what_the_camera_does_is_said(on, qtbot):
    assert on.status.camera.isVisible()
    expected = (
        f"Virtual camera: {NAME}, 1280x720, 30 fps; 64x48 is scaled to 1280x720, with black bars "
        "at the sides"
    )
    qtbot.waitUntil(lambda: on.status.camera.text() == expected)
    assert on.status.camera.toolTip() == expected
    assert on.status.camera.accessibleName() == "Virtual camera"


def test_a_camera_that_nobody_reads_is_said_to_be_paused(streaming, cameras, qtbot, monkeypatch):
    monkeypatch.setattr(sender, "GRACE_S", 0.0)
    readers = FakeReaders(False)
    monkeypatch.setattr(sender, "readers_of", lambda camera: readers)
    press(streaming, "virtual_camera")
    paused = f"Virtual camera: paused, since no program reads {NAME}"
    qtbot.waitUntil(lambda: streaming.status.camera.text() == paused)
    readers.reading = True
    qtbot.waitUntil(lambda: streaming.status.camera.text() != paused)


# The preview


def on_screen(window: MainWindow) -> np.ndarray:
    """Return the viewport's pixels, [H, W, 3]."""
    image = window.viewport.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def bright_side(pixels: np.ndarray) -> str:
    half = pixels.shape[1] // 2
    return "left" if pixels[:, :half].mean() > pixels[:, half:].mean() else "right"


@pytest.mark.parametrize("view", ["view_styled", "view_split", "view_compare"])
def test_the_preview_is_mirrored_and_what_is_sent_is_not(
    window, session, cameras, qtbot, tmp_path, view
):
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, 32:] = 255  # its negative is bright at the left
    write_pixels(tmp_path / "half.png", pixels)
    window.settings.update(overlay=False)
    window.visibility.update()
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(tmp_path / "half.png"))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    window.viewport.split = 0.0
    press(window, view)
    if view == "view_compare":
        qtbot.waitUntil(lambda: window.viewport.styled.comparison is not None)
    press(window, "virtual_camera")
    place = window.viewport._picture.adjusted(4, 4, -4, -4)
    if view == "view_compare":
        place = window.viewport.rect().adjusted(0, 100, -window.viewport.width() // 2, -100)

    def seen() -> str:
        shown = on_screen(window)
        return bright_side(shown[place.top() : place.bottom(), place.left() : place.right()])

    assert seen() == "left"
    press(window, "mirror")
    assert seen() == "right"

    def picture_is_sent() -> bool:
        # A camera opened a moment ago has no picture yet.
        return any(sent.any() for camera in cameras.opened for sent in camera.pictures()[-1:])

    qtbot.waitUntil(picture_is_sent)
    assert bright_side(cameras.opened[0].pictures()[-1]) == "left"
    press(window, "mirror")
    assert seen() == "left"


def test_mirroring_is_remembered(window, saved, session, qtbot):
    press(window, "mirror")
    window.close()
    assert saved[-1].mirror
    again = MainWindow(session, saved[-1], saved.append)
    qtbot.addWidget(again)
    assert again.actions_by_key["mirror"].isChecked()
    assert again.viewport.mirrored


# Settings


@pytest.fixture
def dialog(window) -> CameraDialog:
    window.actions_by_key["camera_settings"].trigger()
    dialog = window.virtual_camera._dialog
    assert dialog is not None
    return dialog


def pick(box, value: object) -> None:
    box.show_choice(value)
    box.activated.emit(box.currentIndex())


def test_what_is_chosen_is_remembered_and_used(window, dialog, cameras, saved, qtbot):
    pick(dialog.size_box, "640x480")
    pick(dialog.rate, 25)
    pick(dialog.format, "yuyv")
    pick(dialog.fit, "fill")
    dialog.device.setText("/dev/video7")
    dialog.device.editingFinished.emit()
    dialog.always.click()
    window.actions_by_key["virtual_camera"].trigger()  # a key would go to the dialog
    qtbot.waitUntil(lambda: bool(cameras.opened))
    asked = cameras.opened[0].asked
    assert (asked["width"], asked["height"], asked["fps"]) == (640, 480, 25)
    assert asked["device"] == "/dev/video7"
    window.closing.leave()
    chosen = CameraChoice(640, 480, 25, "yuyv", "fill", "/dev/video7", always=True)
    assert choice_from_settings(saved[-1]) == chosen


def test_the_defaults_of_the_window_and_of_the_command_are_the_same():
    assert choice_from_settings(Settings()) == CameraChoice()


def test_a_change_while_the_camera_is_on_opens_it_anew(on, cameras, qtbot):
    press(on, "camera_settings")
    dialog = on.virtual_camera._dialog
    pick(dialog.rate, 15)
    qtbot.waitUntil(lambda: len(cameras.opened) == 2)
    assert cameras.opened[0].closed.is_set()
    assert cameras.opened[1].asked["fps"] == 15
    assert is_checked(on)
    qtbot.waitUntil(lambda: len(cameras.opened[1].frames) > 0 and middle(cameras) == [0, 255, 255])


def test_the_same_choice_again_changes_nothing(on, cameras):
    press(on, "camera_settings")
    pick(on.virtual_camera._dialog.rate, 30)
    assert len(cameras.opened) == 1
    assert not cameras.opened[0].closed.is_set()


def test_every_control_of_the_settings_has_a_name_and_a_tip(dialog):
    found = controls(dialog)
    assert len(found) >= 7
    assert not [w for w in found if not w.accessibleName() or not w.toolTip()]
    assert dialog.findChildren(QLineEdit)


def test_the_settings_say_what_the_camera_does(on, qtbot):
    press(on, "camera_settings")
    dialog = on.virtual_camera._dialog
    qtbot.waitUntil(lambda: dialog.status.text() == on.status.camera.text() != "")
    press(on, "virtual_camera")
    assert not dialog.status.text().strip()


def test_while_the_camera_is_on_results_are_not_smaller_than_it(on, session, qtbot):
    loop = session._worker.loop
    qtbot.waitUntil(lambda: loop._least == (1280, 720))
    press(on, "virtual_camera")
    qtbot.waitUntil(lambda: loop._least == (0, 0))


# The ways into other programs


@pytest.fixture
def obs(streaming, cameras) -> ObsDialog:
    press(streaming, "obs")
    dialog = streaming.findChild(ObsDialog)
    assert isinstance(dialog, ObsDialog)
    return dialog


def test_the_camera_is_switched_there_and_shows_its_state(obs, streaming, cameras, qtbot):
    assert not obs.test.isEnabled()
    obs.start.click()
    qtbot.waitUntil(lambda: bool(cameras.opened))
    assert is_checked(streaming)
    assert obs.test.isEnabled()
    qtbot.waitUntil(lambda: NAME in obs.status.text())
    obs.start.click()
    assert cameras.opened[0].closed.is_set()
    assert not obs.test.isEnabled()


def test_a_test_picture_stands_in_for_the_stream_for_a_while(obs, session, cameras, qtbot):
    obs.start.click()
    qtbot.waitUntil(lambda: bool(cameras.opened) and len(cameras.opened[0].frames) > 0)
    qtbot.waitUntil(lambda: middle(cameras) == [0, 255, 255])
    obs.test.click()
    bars = color_bars(1280, 720)
    qtbot.waitUntil(lambda: np.array_equal(cameras.opened[0].pictures()[-1], bars))
    session.styled.emit(obs.parent().viewport.styled)  # the stream goes on meanwhile
    switch, sent = obs.parent().virtual_camera, len(cameras.opened[0].frames)
    qtbot.waitUntil(lambda: len(cameras.opened[0].frames) > sent + 3)
    assert np.array_equal(cameras.opened[0].pictures()[-1], bars)
    switch._testing.stop()
    switch._testing.timeout.emit()
    qtbot.waitUntil(lambda: middle(cameras) == [0, 255, 255])


def test_the_line_to_install_is_copied(obs):
    obs.show_needed(Needed("Linux needs it:", "sudo modprobe it"))
    obs.copy.click()
    assert QGuiApplication.clipboard().text() == "sudo modprobe it"
    obs.show_needed(Needed("Ready."))
    assert not obs.copy.isVisible()


def test_copying_is_answered_there(obs):
    obs.show_needed(LACKING)
    before = obs.status.text()
    obs.copy.click()
    assert obs.status.text().strip()
    assert obs.status.text() != before


def test_a_camera_that_does_not_start_says_so_there(obs, streaming, cameras, qtbot):
    cameras.fault = "there is none"
    obs.start.click()
    qtbot.waitUntil(lambda: obs.status.property("role") == "fault")
    assert mentions(obs.status.text(), "virtual camera on")
    assert not streaming.problems.problems
    assert not is_checked(streaming)


def test_the_whole_command_is_seen(obs, qtbot):
    obs.show_needed(LACKING)
    command = obs.command
    # A window manager takes its time to make a window larger.
    qtbot.waitUntil(lambda: command.heightForWidth(command.width()) <= command.height())
    assert "StyleForge" in command.text()


def test_without_a_driver_the_switch_opens_the_dialog_which_says_what_is_missing(
    streaming, cameras, qtbot, monkeypatch
):
    monkeypatch.setattr(switch, "needed", lambda: LACKING)
    cameras.fault = "there is none"
    press(streaming, "virtual_camera")
    qtbot.waitUntil(lambda: streaming.findChild(ObsDialog) is not None)
    dialog = streaming.findChild(ObsDialog)
    qtbot.waitUntil(lambda: dialog.status.text() == LACKING.missing)
    assert dialog.isVisible()
    assert not streaming.problems.problems
    assert not is_checked(streaming)


def test_the_way_that_works_at_once_comes_first_with_the_primary_button(obs):
    def first() -> tuple[bool, str, str]:
        QApplication.processEvents()
        above = obs.project.mapTo(obs, QPoint()).y() < obs.start.mapTo(obs, QPoint()).y()
        return above, obs.project.property("role") or "", obs.start.property("role") or ""

    assert first() == (False, "", "primary")
    obs.show_needed(LACKING)
    assert first() == (True, "primary", "")
    obs.show_needed(Needed(READY))
    assert first() == (False, "", "primary")


def test_only_the_painted_person_is_a_way_of_its_own(obs, streaming):
    obs.person.click()
    assert streaming.person.dialog.isVisible()


def test_the_projector_is_opened_there_without_covering_what_to_do_with_it(
    obs, streaming, monkeypatch, qtbot
):
    raised: list[bool] = []
    monkeypatch.setattr(obs, "raise_", lambda: raised.append(True))
    obs.project.click()
    assert streaming.showing.projector is not None
    qtbot.waitUntil(lambda: raised == [True])
    obs.project.click()
    assert streaming.showing.projector is None
