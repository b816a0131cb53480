"""Fixtures for the window: a real session with an engine that has no network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtTest import QTest

from app.engine.config import EngineConfig
from app.live.session import Session
from app.settings import ALWAYS, Settings
from app.styles.catalog import NETWORKS_FOLDER, Catalog
from app.ui.main_window import MainWindow
from tests.helpers.any_style import save_tiny
from tests.helpers.fakes import Negative, write_video
from tests.helpers.precisions import offer_all
from tests.helpers.sessions import end
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels

KEYS = ("candy", "mosaic", "udnie")
COLORS = ("gold", "plum", "red", "teal", "wheat")


@pytest.fixture
def session(qtbot, tmp_path):
    for key in KEYS:
        pack = tmp_path / "builtin" / key
        pack.mkdir(parents=True)
        (pack / "weights.safetensors").touch()
        title = json.dumps(key.title())
        (pack / "style.toml").write_text(f'title = {title}\nweights = "weights.safetensors"\n')
    catalog = Catalog(tmp_path / "builtin", tmp_path / "user")
    session = Session(catalog, EngineConfig(device="cpu"), engine=Negative())  # type: ignore[arg-type]
    yield session
    end(session)


@pytest.fixture
def every_precision(monkeypatch) -> None:
    """Offer every precision on the CPU; list this fixture before the window."""
    offer_all(monkeypatch)


@pytest.fixture
def saved() -> list[Settings]:
    return []


@pytest.fixture
def window(session, saved, qtbot):
    window = MainWindow(session, Settings(remember_source=ALWAYS), saved.append)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    yield window
    window.theme.choice = "system"
    if window.isVisible():  # otherwise it would ask before it closes
        window.showing.close()
        window.virtual_camera.close()


@pytest.fixture
def picture(tmp_path) -> Path:
    path = tmp_path / "waves.png"
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[..., 0] = 255
    write_pixels(path, pixels)
    return path


@pytest.fixture
def streaming(window, session, picture, qtbot):
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    return window


@pytest.fixture
def moving(window, session, tmp_path, qtbot):
    film = write_video(tmp_path / "film.mp4")
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(film))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    return window


@pytest.fixture(scope="session")
def tiny_network(tmp_path_factory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("network") / "net.safetensors")


@pytest.fixture(scope="session")
def color_styles(tmp_path_factory, tiny_network) -> Path:
    """Return a folder with a catalog's files: a style of a picture of each color."""
    folder = tmp_path_factory.mktemp("colors")
    catalog = Catalog(folder / "builtin", folder / "user")
    for name in COLORS:
        Image.new("RGB", (64, 48), name).save(folder / f"{name}.png")
        catalog.install_picture(folder / f"{name}.png", tiny_network)
    return folder


def install_colors(session: Session, color_styles: Path, *names: str) -> None:
    """Install styles of `color_styles` and their network as the user's."""
    user = session.catalog.user
    for name in names:
        shutil.copytree(color_styles / "user" / name, user / name)
    shutil.copytree(color_styles / NETWORKS_FOLDER, user.parent / NETWORKS_FOLDER)
    session.catalog.reload()
    session.styles_changed.emit()


def press(window: MainWindow, key: str) -> None:
    """Send the first key of an action to the picture."""
    window.viewport.setFocus()
    QTest.keySequence(window, window.actions_by_key[key].shortcut())
