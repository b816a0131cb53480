"""Pictures every page and dialog of the window, in both themes and at several sizes, to look at.

`python -m tools.screenshots.pages FOLDER` writes a sheet per page, `FOLDER/<page>.webp`, with a row
per size and the dark theme beside the light one. It takes ten minutes on two cores. A name after
FOLDER pictures only that page.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from tools.screenshots.screen import go_into, save

if TYPE_CHECKING:  # Qt reads the environment on import
    from PySide6.QtWidgets import QWidget

    from app.ui.main_window import MainWindow

# Width and height in pixels of the screen, and its scale.
SIZES = ((900, 600, 1), (1280, 800, 1), (1920, 1080, 1), (2560, 1440, 2))
THEMES = ("dark", "light")
PATIENCE_S = 300.0
SETTLE_S = 1.5  # for animations, and texts of background jobs
WALL_S = 15.0  # until its nine tiles are painted
GAP = 16  # pixels between the pictures of a sheet
WIDEST = 2560  # of a sheet
MOMENTS = (3.0, 21.0, 40.0)  # of the scene, as photographs
FILM_S, FILM_RATE = 4, 15  # seconds and frames a second of the scene, as a film
FILM_WORK_S = 20.0  # until the export's dialog has painted and measured

# Pages in the window: actions that lead there, and that lead back.
PAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "wall": (("wall",), ("wall",)),
    "painting": (("view_styled",), ()),
    "before and after": (("view_split",), ("view_styled",)),
    "speed test": (("view_compare",), ("view_styled",)),
    "panel": (("panel",), ("panel",)),
    "details": (("overlay",), ("overlay",)),
    "looks": (("looks",), ("looks",)),
    "queue": (("queue",), ("queue",)),
    "palette": (("palette",), ("palette",)),
}
# Windows and dialogs of their own.
DIALOGS = (
    "open", "paint_all", "help", "questions", "train", "obs", "slideshow_settings", "person",
    "about_style", "camera_settings", "camera_mode",
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", help="of all pages, only these")
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)  # a child's row of SIZES
    args = parser.parse_args(arguments)
    if args.size is not None:
        _shoot(args.folder, args.size, set(args.pages))
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as parts:
        for number in range(len(SIZES)):
            words = [parts, *args.pages, "--size", str(number)]
            subprocess.run([sys.executable, "-m", __spec__.name, *words], check=True)
        for name in sorted({path.name for path in Path(parts).glob("*/*.webp")}):
            _sheet(Path(parts), name).save(args.folder / name, quality=85)
    return 0


def _sheet(parts: Path, name: str) -> Image.Image:
    """Put the pictures of a page side by side, a row for each size."""
    rows: list[list[Image.Image]] = []
    for number in range(len(SIZES)):
        paths = [parts / f"{number}-{theme}" / name for theme in THEMES]
        rows.append([Image.open(path) for path in paths if path.exists()])
    widths = [sum(each.width + GAP for each in row) for row in rows]
    sheet = Image.new(
        "RGB",
        (max(widths), sum(max((each.height for each in row), default=0) + GAP for row in rows)),
        "gray",
    )
    top = 0
    for row in rows:
        left = 0
        for each in row:
            sheet.paste(each, (left, top))
            left += each.width + GAP
        top += max((each.height for each in row), default=0) + GAP
    sheet.thumbnail((WIDEST, 10 * WIDEST))
    return sheet


def _shoot(folder: Path, number: int, wanted: set[str]) -> None:
    width, height, scale = SIZES[number]
    with tempfile.TemporaryDirectory() as own:
        go_into(Path(own), (width, height), scale)
        sources = _photos(Path(own)), _film(Path(own))
        for theme, name, picture in _pictures(*sources, (width // scale, height // scale)):
            place = folder / f"{number}-{theme}"
            place.mkdir(parents=True, exist_ok=True)
            if not wanted or name in wanted:
                save(picture, place / f"{name}.webp")


def _photos(folder: Path) -> list[str]:
    from app.sources.scene import render

    made = []
    for number, moment in enumerate(MOMENTS):
        path = folder / f"lake {number + 1}.png"
        Image.fromarray(render(moment, 1920, 1080)).save(path)
        made.append(str(path))
    return made


def _film(folder: Path) -> str:
    from app.sources.scene import render
    from utils.opencv import cv2

    path, size = folder / "lake.mp4", (1280, 720)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FILM_RATE, size)
    for number in range(FILM_S * FILM_RATE):
        writer.write(cv2.cvtColor(render(number / FILM_RATE, *size), cv2.COLOR_RGB2BGR))
    writer.release()
    return str(path)


def _pictures(
    photos: list[str], film: str, size: tuple[int, int]
) -> Iterator[tuple[str, str, QWidget]]:
    """Open the window, go to every page and dialog in both themes, and yield each of them."""
    from PySide6.QtWidgets import QApplication

    from app.engine.config import EngineConfig
    from app.live.session import Session
    from app.settings import Settings
    from app.styles.catalog import Catalog
    from app.ui.main_window import MainWindow

    application = QApplication(sys.argv[:1])
    session = Session(Catalog.default(), EngineConfig(style="starry_night"))
    settings = Settings(theme="dark", show_panel=False, reduce_motion=True)
    window = MainWindow(session, settings, lambda changed: None)
    window.resize(*size)
    window.show()
    session.prepare_kernels()

    def wait(true: Callable[[], bool] = bool, seconds: float = SETTLE_S) -> None:
        end = time.monotonic() + seconds
        while not true() and time.monotonic() < end:
            application.processEvents()
            time.sleep(0.01)

    painted: set[str] = set()
    session.previews.made.connect(lambda preview: painted.add(preview.style))
    session.open(photos)
    wait(lambda: window.film_strip.strip.isVisible(), PATIENCE_S)
    _press(window, ("gallery",))  # its cards are painted while it is in front
    wait(lambda: len(painted) >= len(session.catalog.styles), PATIENCE_S)

    def dialogs(name: str, seconds: float = SETTLE_S) -> Iterator[QWidget]:
        before = set(application.topLevelWidgets())
        _press(window, (name,))
        wait(seconds=seconds)
        for dialog in application.topLevelWidgets():
            if dialog.isVisible() and dialog is not window:
                if dialog not in before or dialog.isActiveWindow():
                    yield dialog
                dialog.close()

    for theme in THEMES:
        window.theme.choice = theme
        for name, (there, back) in PAGES.items():
            _press(window, there)
            wait(seconds=WALL_S if name == "wall" else SETTLE_S)
            yield theme, name, window
            _press(window, back)
        for name in DIALOGS:
            for dialog in dialogs(name):
                yield theme, name, dialog
    session.open(film)
    wait(lambda: session.info is not None and session.spec == film, PATIENCE_S)
    for theme in THEMES:
        window.theme.choice = theme
        for dialog in dialogs("export_film", FILM_WORK_S):
            yield theme, "export_film", dialog
    window.close()
    wait(lambda: not window.isVisible(), 30.0)
    session.shutdown()


def _press(window: MainWindow, actions: tuple[str, ...]) -> None:
    for key in actions:
        window.actions_by_key[key].trigger()


if __name__ == "__main__":
    sys.exit(main())
