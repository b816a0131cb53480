"""The window paints on a GPU that WebGPU reaches, and offers another try when the GPU fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine import painting_devices
from app.engine import webgpu_rates as rates
from app.engine.config import EngineConfig
from app.live.session import Session
from app.live.session import gpu as session_gpu
from app.settings import ALWAYS, Settings
from app.styles.catalog import Catalog
from app.ui.main_window import MainWindow
from models import webgpu_devices as devices
from models.webgpu_devices import key_of
from tests.helpers.sessions import end
from tests.helpers.software_gpu import software_gpu
from tests.helpers.windows import show_window


@pytest.fixture
def gpu():
    yield software_gpu()
    devices.try_again()


@pytest.fixture(autouse=True)
def no_tuning(monkeypatch):
    monkeypatch.setattr(session_gpu, "TUNE_AFTER_MS", 1_000_000)


@pytest.fixture
def session(qtbot, gpu):
    config = EngineConfig(device=key_of(gpu), size=64, network="lite")
    session = Session(Catalog.default(), config)
    yield session
    end(session)


@pytest.fixture
def window(session, qtbot):
    window = MainWindow(session, Settings(remember_source=ALWAYS), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    return window


def painted_on(session, qtbot, name, act):
    """Act, and wait for a picture that was painted on a device."""

    def there(styled):
        return name in styled.running.device

    with qtbot.waitSignal(session.styled, check_params_cb=there):
        act()


@pytest.mark.full
def test_a_failing_gpu_leaves_the_picture_to_the_processor_and_can_be_tried_again(
    window, session, gpu, picture, qtbot
):
    painted_on(session, qtbot, key_of(gpu), lambda: session.open(str(picture)))
    devices.opened(gpu).close()
    with qtbot.waitSignal(session.gpu_failed):
        painted_on(session, qtbot, "CPU", lambda: choose(session, "mosaic"))
    assert window.notices.isVisible()
    assert "lost" in window.notices.text
    button = window.notices.offer_button
    assert button.accessibleName() == "Try again"
    assert button.toolTip()
    painted_on(
        session, qtbot, key_of(gpu), lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    )
    assert not window.notices.text


def choose(session, style):
    session.config = replace(session.config, style=style)


def test_the_panel_names_a_gpu_that_is_no_software(window, session, gpu, qtbot, monkeypatch):
    listed = [replace(each, software=False) for each in devices.found()]
    monkeypatch.setattr(devices, "adapters", lambda: tuple(listed))
    devices.found.cache_clear()
    box = window.engine_bar.lists.device
    window.engine_bar.lists.query_devices()
    qtbot.waitUntil(lambda: box.findData(key_of(gpu)) >= 0)
    assert listed[0].name in box.itemText(box.findData(key_of(gpu)))
    devices.found.cache_clear()


@pytest.mark.parametrize("key", ["webgpu:0", "webgpu"])
def test_the_panel_shows_a_gpu_that_was_named(window, session, gpu, qtbot, monkeypatch, key):
    monkeypatch.setattr(painting_devices, "first_hardware", lambda: gpu.index)
    session.config = replace(session.config, device=key)
    box = window.engine_bar.lists.device
    window.engine_bar.lists.query_devices()
    qtbot.waitUntil(lambda: box.currentData() == key)
    assert devices.adapter_of(gpu).name in box.currentText()


def test_a_gpu_that_was_measured_to_be_faster_paints_from_then_on(
    window, session, gpu, picture, qtbot, monkeypatch
):
    listed = [replace(each, software=False) for each in devices.found()]
    monkeypatch.setattr(devices, "adapters", lambda: tuple(listed))
    monkeypatch.setattr(rates, "SIZE", (32, 16))
    monkeypatch.setattr(rates.Measurement, "_by_gpu", lambda self: None)  # a very fast one
    devices.found.cache_clear()
    rates._decided.clear()
    session.config = replace(session.config, device="auto")
    painted_on(session, qtbot, "CPU", lambda: session.open(str(picture)))
    with qtbot.waitSignal(session.notice):
        painted_on(session, qtbot, key_of(gpu), session.gpu.measure)
    assert listed[0].name in window.notices.text
    devices.found.cache_clear()
    rates._decided.clear()
