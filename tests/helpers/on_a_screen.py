"""Runs a script with the real window on a screen of any size, fixed for the life of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_BEGINNING = """
import json, sys, tempfile
from pathlib import Path
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

application = QApplication([])

from app.errors import Problem
from app.live.session import Session
from app.settings import Settings
from app.sources import CameraName
from app.engine.config import EngineConfig
from app.styles.catalog import BUILTIN, Catalog
from app.ui.main_window import MainWindow
from app.ui.picker import PickerDialog
from tests.helpers.fakes import Negative

folder = tempfile.TemporaryDirectory()
catalog = Catalog(BUILTIN, Path(folder.name))
session = Session(catalog, EngineConfig(device="cpu"), engine=Negative())
kept, told, shots = [], {}, json.loads(sys.argv[1])
window = MainWindow(session, Settings(**shots), kept.append)
window.show()

def wait(ms=50):
    QTest.qWait(ms)

def press(key):
    window.viewport.setFocus()
    QTest.keySequence(window, window.actions_by_key[key].shortcut())
    wait()

def fits(widget):
    return widget.screen().availableGeometry().contains(widget.frameGeometry())

def inside(widget):
    '''Whether all of it lies within the window.'''
    place = QRect(widget.mapTo(window, widget.rect().topLeft()), widget.size())
    return window.rect().contains(place)

wait(200)
"""
_END = """
window.close()
session.shutdown()
print(json.dumps(told))
"""


def told(
    folder: Path,
    script: str,
    width: int,
    height: int,
    *,
    scale: int = 1,
    second: tuple[int, int] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Run `script` with `window` on a screen of width x height pixels and return its dict `told`.

    The interface is scaled by `scale`. `second` is the size of a second screen to the right.
    """
    screen = {"name": "small", "x": 0, "y": 0, "width": width, "height": height, "dpr": 1}
    screens = [screen]
    if second is not None:
        screens.append(
            screen | {"name": "second", "x": width, "width": second[0], "height": second[1]}
        )
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96}
    config = folder / "screen.json"
    config.write_text(json.dumps({"screens": [each | dots for each in screens]}))
    environment = os.environ | {
        "QT_QPA_PLATFORM": f"offscreen:configfile={os.path.relpath(config)}",
        "QT_SCALE_FACTOR": str(scale),
    }
    ran = subprocess.run(
        [sys.executable, "-c", _BEGINNING + script + _END, json.dumps(settings)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
