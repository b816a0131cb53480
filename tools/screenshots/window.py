"""Makes the picture of the first tutorial: the window with a view of the scene, before and after.

`python -m tools.screenshots.window docs/tutorials/window.webp` takes a minute on two cores: it
waits until the picture is refined and every card of the gallery shows it in its style.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tools.screenshots.screen import SIZE, go_into, save

PATIENCE_S = 300.0
MOMENT_S = 21.0  # of the scene
STYLE = "starry_night"
SPLIT = 0.5


def main() -> int:
    """Take the picture and write it to the path of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="a WebP")
    output: Path = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        go_into(Path(folder))
        _shoot(Path(folder) / "lake.png", output)
    return 0


def _shoot(picture: Path, output: Path) -> None:
    from PySide6.QtGui import QCursor
    from PySide6.QtWidgets import QApplication

    from app.engine.config import EngineConfig
    from app.live.session import Session
    from app.settings import Settings
    from app.sources.scene import render
    from app.styles.catalog import Catalog
    from app.ui.main_window import MainWindow

    Image.fromarray(render(MOMENT_S, 1920, 1080)).save(picture)
    application = QApplication(sys.argv[:1])
    session = Session(Catalog.default(), EngineConfig(style=STYLE))
    window = MainWindow(
        session, Settings(theme="dark", view="split", split=SPLIT), lambda changed: None
    )
    painted: set[str] = set()
    session.previews.made.connect(lambda preview: painted.add(preview.style))
    left = [0.0]  # approximate seconds of refining
    session.refining.connect(left.append)
    window.resize(*SIZE)
    window.show()
    session.prepare_kernels()
    session.open(str(picture))
    end = time.monotonic() + PATIENCE_S
    keys = {style.key for style in session.catalog.styles}
    while painted < keys or left[-1]:
        if time.monotonic() > end:
            raise TimeoutError(
                f"styles without previews: {sorted(keys - painted)}; left: {left[-1]} s"
            )
        application.processEvents()
        time.sleep(0.01)
    QCursor.setPos(window.mapToGlobal(window.viewport.geometry().center()))
    if (focused := application.focusWidget()) is not None:
        focused.clearFocus()
    for _ in range(50):  # the last parts come from another thread
        application.processEvents()
        time.sleep(0.02)
    save(window, output)
    window.close()
    session.shutdown()


if __name__ == "__main__":
    sys.exit(main())
