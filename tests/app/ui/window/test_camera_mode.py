"""Cameras in the window: size, rate and exposure, a lost camera, a frozen picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QImage

from app.frame import SourceInfo
from app.sources import camera
from app.sources.camera import Camera, CameraName, Mode
from app.sources.camera_modes.exposure import NOT_OFFERED
from app.sources.camera_modes.offers import NAMED, Offers
from app.ui.camera import controller
from app.ui.camera.controller import FROZEN, LOST, PAUSED
from app.ui.camera.dialog import NETWORK, NO_CAMERA, CameraModeDialog
from app.ui.main_window import MainWindow
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_keys import controls
from tests.helpers.fakes import FakeCamera, NetworkCamera

SIZES = {(160, 120): (30.0, 100.0), (320, 240): (30.0,)}


@pytest.fixture
def device(monkeypatch) -> FakeCamera:
    """Return a camera of this machine, called Eye, that accepts every size."""
    device = FakeCamera(size=(160, 120))
    device.obeys = True
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(camera, "list_cameras", lambda: (CameraName(0, "Eye"),))
    monkeypatch.setattr(camera, "_capture", lambda _: device.open())
    monkeypatch.setattr(controller, "_offers", lambda _: Offers(SIZES, NAMED))
    return device


@pytest.fixture
def filmed(device, window, session, qtbot) -> MainWindow:
    device.exposure = 100.0
    window.camera._offers_of = lambda _: Offers(SIZES, NAMED)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open("camera:Eye@160x120@100")
    return window


@pytest.fixture
def dialog(filmed, qtbot) -> CameraModeDialog:
    press(filmed, "camera_mode")
    dialog = filmed.camera.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.offer_remark.text() == NAMED)
    return dialog


@pytest.fixture
def network() -> Iterator[NetworkCamera]:
    with NetworkCamera() as network:
        yield network


def pick(box, value: object) -> None:
    box.show_choice(value)
    box.activated.emit(box.currentIndex())


def mean_light(window: MainWindow) -> float:
    image = window.viewport.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    return float(np.frombuffer(image.constBits(), np.uint8).mean())


def titles(box) -> list[str]:
    return [box.itemText(row) for row in range(box.count())]


# Size, rate and exposure


def test_the_sizes_that_the_driver_names_are_listed(dialog):
    assert titles(dialog.size_box) == ["160 x 120", "320 x 240"]
    assert titles(dialog.rate) == ["30 per second", "100 per second"]


def test_a_chosen_size_is_delivered_and_what_comes_is_told(filmed, dialog, session, qtbot):
    pick(dialog.size_box, "320x240")
    qtbot.waitUntil(lambda: "320x240" in dialog.delivers.text(), timeout=10_000)
    assert dialog.delivers.text().startswith("Delivers Eye, 320x240")
    assert session.spec == "camera:Eye@320x240@30"
    qtbot.waitUntil(lambda: filmed.viewport.styled.source.width == 320)


def test_a_driver_that_does_otherwise_is_told_of(device, dialog, qtbot):
    device.obeys = False
    pick(dialog.size_box, "320x240")
    told = "requested 320x240 MJPG at 30 fps, got 160x120"
    qtbot.waitUntil(lambda: told in dialog.delivers.text(), timeout=10_000)


def test_a_chosen_rate_is_asked_of_the_driver(device, dialog, session, qtbot):
    device.asked.clear()
    pick(dialog.rate, 30.0)
    qtbot.waitUntil(lambda: (camera.cv2.CAP_PROP_FPS, 30.0) in device.asked, timeout=10_000)
    assert session.spec == "camera:Eye@160x120@30"


def test_a_chosen_size_is_remembered_for_the_next_start(filmed, dialog, saved, qtbot):
    pick(dialog.size_box, "320x240")
    filmed.close()
    assert saved[-1].source == "camera:Eye@320x240@30"


def test_a_camera_is_listed_once_whatever_its_size(filmed, dialog, session, qtbot):
    session.cameras_found.emit((CameraName(0, "Eye"),))
    pick(dialog.size_box, "320x240")
    qtbot.waitUntil(lambda: session.info.width == 320, timeout=10_000)
    assert titles(filmed.panel.sources.list).count("Eye") == 1
    assert filmed.panel.sources.list.currentText() == "Eye"


def test_exposure_is_set_in_words(device, dialog, qtbot):
    assert dialog.exposure.isVisible()
    pick(dialog.exposure, 1.0)
    qtbot.waitUntil(lambda: device.exposure == 200.0)
    pick(dialog.exposure, None)
    qtbot.waitUntil(lambda: device.automatic == 3.0)


def test_exposure_is_hidden_with_a_reason_where_the_driver_has_none(device, window, session, qtbot):
    window.camera._offers_of = lambda _: Offers(SIZES, NAMED)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open("camera:Eye@160x120@100")
    press(window, "camera_mode")
    assert not window.camera.dialog.exposure.isVisible()
    assert window.camera.dialog.exposure_remark.text() == NOT_OFFERED


def test_without_a_camera_nothing_can_be_chosen_and_why_is_said(streaming, qtbot):
    press(streaming, "camera_mode")
    dialog = streaming.camera.dialog
    assert not dialog.size_box.isEnabled()
    assert dialog.offer_remark.text() == NO_CAMERA


def test_a_network_camera_says_where_its_size_is_set(window, session, network, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(network.url("stream.mjpg"))
    press(window, "camera_mode")
    assert window.camera.dialog.offer_remark.text() == NETWORK
    assert not window.camera.dialog.exposure.isVisible()


def test_every_control_of_the_settings_has_a_name_and_a_tip(dialog):
    found = controls(dialog)
    assert len(found) == 4
    assert not [w for w in found if not w.accessibleName() or not w.toolTip()]


# A lost camera


def test_the_last_picture_of_a_lost_camera_stays_dimmed_and_it_comes_back(
    window, session, network, qtbot
):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(network.url("stream.mjpg"))
    held = window.camera.held
    assert not held.isVisible()
    port = network.port
    network.stop()
    qtbot.waitUntil(lambda: held.isVisible(), timeout=20_000)
    assert held.text == LOST
    assert "trying again" in window.notices.text
    assert held.dimmed
    assert window.viewport.styled is not None
    held.hide()
    bright = mean_light(window)
    held.show()
    assert mean_light(window) < 0.7 * bright
    with NetworkCamera(port):
        qtbot.waitUntil(lambda: not held.isVisible(), timeout=20_000)
        with qtbot.waitSignal(session.styled, timeout=5000):
            pass


def test_the_still_picture_of_a_lost_camera_can_be_styled(window, session, network, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(network.url("stream.mjpg"))
    network.stop()
    qtbot.waitUntil(lambda: window.camera.held.isVisible(), timeout=20_000)
    press(window, "style_2")
    qtbot.waitUntil(lambda: window.viewport.styled.config.style == "mosaic", timeout=5000)


# A frozen picture


def test_a_frozen_picture_holds_still_while_styles_go_on_working(window, session, network, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(network.url("stream.mjpg"))
    press(window, "pause")
    held = window.camera.held
    assert held.text == FROZEN
    assert not held.dimmed
    qtbot.wait(300)  # for frames in flight
    still = window.viewport.styled.source.pixels
    press(window, "style_3")
    qtbot.waitUntil(lambda: window.viewport.styled.config.style == "udnie")
    assert np.array_equal(window.viewport.styled.source.pixels, still)
    session.config = replace(session.config, strength=0.5)
    qtbot.waitUntil(lambda: window.viewport.styled.config.strength == 0.5)
    assert np.array_equal(window.viewport.styled.source.pixels, still)
    press(window, "pause")
    assert not held.isVisible()
    qtbot.waitUntil(lambda: not np.array_equal(window.viewport.styled.source.pixels, still))


def test_pausing_is_called_freezing_for_what_is_live(window, moving, session, network, qtbot):
    assert window.actions_by_key["pause"].text() == "Pause"
    press(window, "pause")
    assert window.camera.held.text == PAUSED
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(network.url("stream.mjpg"))
    qtbot.waitUntil(lambda: window.actions_by_key["pause"].text() == "Freeze")


def test_nothing_is_said_of_a_single_picture_that_is_paused(streaming):
    press(streaming, "pause")
    assert not streaming.camera.held.isVisible()


def test_the_mode_of_a_camera_opened_by_its_number_is_kept_by_its_name(
    device, window, session, qtbot
):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open("camera:0@160x120@100")
    session.set_camera_mode(320, 240, 30)
    assert session.spec == "camera:Eye@320x240@30"


def test_a_source_that_is_no_camera_has_no_mode(streaming, session):
    spec = session.spec
    session.set_camera_mode(320, 240, 30)
    assert session.spec == spec


def test_what_is_asked_for_is_listed_although_it_is_not_offered(filmed, qtbot):
    dialog = CameraModeDialog()
    qtbot.addWidget(dialog)
    dialog.show_camera(Mode(641, 480, 12), Offers(SIZES, NAMED))
    assert dialog.size_box.currentText() == "641 x 480"
    assert dialog.rate.currentText() == "12 per second"


def test_the_settings_grow_with_what_they_say(dialog):
    def overlapping() -> list[str]:
        shown = dialog.size_box, dialog.rate, dialog.offer_remark, dialog.exposure, dialog.delivers
        places = [w.geometry() for w in shown if w.isVisible()]
        return [
            shown[row].accessibleName()
            for row in range(len(places) - 1)
            if places[row].bottom() >= places[row + 1].top()
        ]

    dialog.layout().activate()
    assert overlapping() == []
    note = "requested 1280x720 MJPG at 30 fps, got 640x480 YUYV at 10 fps " * 3
    dialog.show_source(SourceInfo("HD Pro Webcam", 640, 480, 10.0, note=note, exposure=""))
    dialog.show_camera(Mode(), Offers(SIZES, f"{NAMED}. " * 4))
    dialog.layout().activate()
    assert overlapping() == []


def test_a_camera_needs_no_window_to_change_its_mode(device):
    source = Camera("Eye", Mode(160, 120, 100), device.open)
    source.set_mode(320, 240, 30)
    while source.info.width != 320:
        source.read(0.05)
    source.close()
