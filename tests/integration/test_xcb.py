"""OpenCV's own Qt plug-ins and ours do not conflict on the X11 platform."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only OpenCV's Linux wheels carry Qt"
)

WINDOW = """
from utils.opencv import cv2
import os, sys, psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.live.session import Session
from app.engine.config import EngineConfig
from app.styles.catalog import Catalog
from app.settings import Settings
from app.ui.main_window import MainWindow

application = QApplication([])
assert application.platformName() == "xcb", application.platformName()
catalog = Catalog.default()
session = Session(catalog, EngineConfig(device="cpu", size=64))
window = MainWindow(session, Settings(), lambda _: None)
window.show()
session.painted.connect(lambda _: window.close())
session.open("scene")
QTimer.singleShot(60_000, lambda: application.exit(3))
code = application.exec()
session.shutdown()
plugins = {m.path for m in psutil.Process().memory_maps() if "libqxcb" in m.path}
print(code, *plugins)
sys.exit(code)
"""


@pytest.mark.full
def test_the_window_opens_on_x11_after_opencv_was_imported(xvfb):
    ran = subprocess.run(
        [sys.executable, "-c", WINDOW], env=xvfb, capture_output=True, text=True, timeout=110
    )
    assert ran.returncode == 0, ran.stderr
    code, *plugins = ran.stdout.split()
    assert code == "0"
    assert len(plugins) == 1
    assert "PySide6" in plugins[0]


def test_importing_opencv_leaves_qts_variables_as_they_were():
    script = (
        "import os; os.environ['QT_QPA_FONTDIR'] = 'mine'; from utils.opencv import cv2;"
        "print(os.environ.get('QT_QPA_PLATFORM_PLUGIN_PATH'), os.environ['QT_QPA_FONTDIR'])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["None", "mine"]


@pytest.mark.full
def test_the_program_itself_starts_on_x11_and_shows_a_painting(xvfb):
    ran = subprocess.run(
        [sys.executable, "-m", "app", "--source", "scene", "--pictures", "1"],
        env=xvfb,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert ran.returncode == 0, ran.stderr
    assert "first picture" in ran.stdout
