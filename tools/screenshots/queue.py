"""Makes the picture of docs/how-to/queue.md: the real window, with styles of the real network.

`python -m tools.screenshots.queue docs/how-to/queue.webp` takes a minute on two cores. The pictures
are views of the scene; everything is in temporary folders.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from tools.screenshots.screen import SIZE, go_into, save

if TYPE_CHECKING:  # Qt reads the environment on import
    from app.ui.main_window import MainWindow

PATIENCE_S = 300.0
SHARE = 0.4  # of the animation in progress
# The entries of the queue: names, and the styles of each.
PICTURES = (
    ("harbour at dusk.jpg", ("candy", "starry_night")),
    ("grandmother's garden.jpg", ("rain_princess",)),
    ("Venezia 03.jpg", ("mosaic",)),
    ("old town, rain.jpg", ("udnie", "great_wave")),
    ("windmill.gif", ("mosaic",)),
    ("mountain lake.jpg", ("starry_night", "scream")),
    ("portrait of Ada.jpg", ("candy",)),
    ("market.jpg", ("wreck",)),
)
DAMAGED = "Venezia 03.jpg"
MOVING = "windmill.gif"
FRAMES = 60


def main() -> int:
    """Take the picture and write it to the path of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="a WebP")
    output: Path = parser.parse_args().output
    album = Path(tempfile.gettempdir()) / "Pictures"  # a row shows this path
    with tempfile.TemporaryDirectory() as folder:
        go_into(Path(folder))
        album.mkdir()
        try:
            _shoot(album, output)
        finally:
            shutil.rmtree(album)
    return 0


def _write_album(album: Path) -> dict[str, Path]:
    """Write views of the scene at other moments, one of them damaged; return the files by name."""
    from app.sources.scene import render

    made: dict[str, Path] = {}
    for number, (name, _) in enumerate(PICTURES):
        path = made[name] = album / name
        if name == MOVING:
            frames = [Image.fromarray(render(n / 12, 640, 360)) for n in range(FRAMES)]
            frames[0].save(path, save_all=True, append_images=frames[1:], duration=80, loop=0)
            continue
        Image.fromarray(render(7.0 * number, 960, 640)).save(path, quality=92)
        if name == DAMAGED:
            path.write_bytes(path.read_bytes()[:9000])
    return made


def _shoot(album: Path, output: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from app.engine.config import EngineConfig
    from app.live.session import Session
    from app.settings import Settings
    from app.styles.catalog import Catalog
    from app.ui.main_window import MainWindow

    application = QApplication(sys.argv[:1])
    files = _write_album(album)
    session = Session(Catalog.default(), EngineConfig(size=512, network="full"))
    settings = Settings(theme="dark", queue_folder=str(album / "StyleForge"))
    window = MainWindow(session, settings, lambda changed: None)
    window.resize(*SIZE)
    window.show()
    session.prepare_kernels()

    def until(true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > end:
                told = [f"{row.title}: {row.state} {row.reason}" for row in window.queue.rows]
                raise TimeoutError(f"the queue made no progress: {told}")
            application.processEvents()
            time.sleep(0.01)

    queue = window.queue
    queue.show()
    for name, styles in PICTURES:
        for style in styles:
            session.config = session.config.mixed([(style, 1.0)])
            rows = len(queue.rows)
            queue.add([files[name]])
            until(lambda rows=rows: not queue.store.busy and len(queue.rows) > rows)
    queue.start_or_stop()
    until(lambda: _share(window) >= SHARE)
    waiting = [row for row in queue.rows if Path(row.title).name == "mountain lake.jpg"]
    assert queue.page is not None
    queue.page.list.choose([row.number for row in waiting[:1]])
    for _ in range(50):  # thumbnails come from another thread
        application.processEvents()
        time.sleep(0.02)
    save(window, output)
    queue.runner.close()
    window.close()
    session.shutdown()


def _share(window: MainWindow) -> float:
    progress, number = window.queue.runner.progress, window.queue.runner.number
    titles = {row.number: Path(row.title).name for row in window.queue.rows}
    if progress is None or number is None or titles.get(number) != MOVING:
        return 0.0
    return progress.share or 0.0


if __name__ == "__main__":
    sys.exit(main())
