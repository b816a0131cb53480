"""Makes the picture of docs/how-to/virtual-camera.md: the two ways into OBS.

`python -m tools.screenshots.obs docs/how-to/obs.webp` takes half a minute on two cores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools.screenshots.screen import go_into, save

SETTLE_S = 2.0


def main() -> int:
    """Take the picture and write it to the path of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="a WebP")
    output: Path = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        go_into(Path(folder))
        _shoot(output)
    return 0


def _shoot(output: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from app.engine.config import EngineConfig
    from app.live.session import Session
    from app.settings import Settings
    from app.styles.catalog import Catalog
    from app.ui.main_window import MainWindow
    from app.ui.virtual_camera.obs_dialog import ObsDialog

    application = QApplication(sys.argv[:1])
    session = Session(Catalog.default(), EngineConfig())
    window = MainWindow(session, Settings(theme="dark"), lambda changed: None)
    window.show()
    window.actions_by_key["obs"].trigger()
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        application.processEvents()
        time.sleep(0.01)
    dialog = window.findChild(ObsDialog)
    assert dialog is not None
    dialog.setFocus()  # no button has a frame then
    application.processEvents()
    save(dialog, output)
    window.close()
    session.shutdown()


if __name__ == "__main__":
    sys.exit(main())
