"""Opens the program's own window, starts one kind of work, and closes the window during it.

    python -m tests.stress.closing_window KIND FOLDER SECONDS

`tests.stress.close_while_running` starts it and checks the result.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import cli
from app.live.session import Session
from app.training import controller
from app.training.request import TrainingRequest
from app.ui import application
from app.ui.main_window import MainWindow
from models.training.presets import Preset, Stroke
from tests.helpers.any_style import save_tiny
from tests.helpers.virtual_cameras import fake_cameras
from utils.leaving import limit_end

LOOK_MS = 50
CLOSING = "closing"  # printed when the window is asked to close during the work
LONG = Preset("long", "Long", "For tests", iterations=100_000, image_size=32, batch_size=2)
SMALL = Stroke("small", "Small", "For tests", style_size=64)
PICTURES = 5  # saved at once
BROKEN = 70  # exit status of a process whose work could not start

Running = Callable[[], object]  # whether the work is running


class Works:
    """Starts work of each kind in `window`; every method returns a check whether it is running."""

    def __init__(self, window: MainWindow, folder: Path) -> None:
        self._window, self._session, self._folder = window, window.session, folder
        self._opened = ExitStack()  # until the process ends

    def live(self) -> Running:
        """Play a film."""
        return lambda: self._window.viewport.styled

    def recording(self) -> Running:
        exporter = self._window.exporter
        exporter._recordings_folder = lambda: self._folder / "films"
        exporter.record()
        return lambda: exporter.recorded is not None and exporter.recorded[0] > 0.3

    def export(self) -> Running:
        shown: list[object] = []
        self._window.film_exporter.progressed.connect(shown.append)
        self._window.film_exporter.export(self._folder / "walk.mp4", self._folder / "out.mp4")
        return lambda: shown

    def pictures(self) -> Running:
        styled = self._window.viewport.styled
        assert styled is not None
        for number in range(PICTURES):
            self._window.exporter.save(styled, self._folder / f"saved{number}.png")
        return lambda: True

    def queue(self) -> Running:
        queue = self._window.queue
        self._window.settings.update(queue_folder=str(self._folder / "painted"))
        queue.add(sorted((self._folder / "photos").iterdir()))
        queue.store.change(lambda _: None, lambda _: queue.runner.start(), failure="read")
        return lambda: queue.runner.number is not None

    def training(self) -> Running:
        controller.CONFIRM_ABOVE_S = 1e9
        studio = self._session.studio
        studio.start(
            TrainingRequest(
                "Waves",
                self._folder / "photos" / "0.png",
                self._folder / "photos",
                LONG,
                SMALL,
                vgg=self._folder / "vgg.safetensors",
                device="cpu",
            ),
            None,
        )
        return lambda: len(studio.history) > 1

    def style(self) -> Running:
        catalog = self._session.catalog
        catalog.networks.give(save_tiny(self._folder / "network.safetensors"))
        for photo in sorted((self._folder / "photos").iterdir()):
            self._session.user_styles.install_picture(photo)
        return lambda: self._session.style_jobs.busy

    def camera(self) -> Running:
        """Show the stream to other programs."""
        cameras = self._opened.enter_context(fake_cameras())
        self._window.actions_by_key["virtual_camera"].trigger()
        return lambda: any(camera.pictures() for camera in cameras.opened)


KINDS = [name for name in vars(Works) if not name.startswith("_")]


def close_during(kind: str, folder: Path, seconds: float) -> int:
    """Run the program, and close its window `seconds` after work of a kind has started.

    Returns the exit status of the program.
    """
    freeze = application.freeze_garbage_collector

    def started(session: Session) -> None:
        freeze(session)
        windows = QApplication.topLevelWidgets()
        (window,) = (each for each in windows if isinstance(each, MainWindow))
        steps = _steps(window, kind, folder, seconds)
        timer = QTimer(window, interval=LOOK_MS)
        timer.timeout.connect(lambda: _step(steps))
        timer.start()

    application.freeze_garbage_collector = started  # called once the window exists
    film = str(folder / "walk.mp4")
    return cli.main(["--open", film, "--style", "candy"])


def _step(steps: Iterator[None]) -> None:
    """Run the next step; a fault ends the process, which would wait forever otherwise."""
    try:
        next(steps)
    except Exception:  # noqa: BLE001  (whatever it is, the status and the report tell)
        traceback.print_exc()
        os._exit(BROKEN)


def _steps(window: MainWindow, kind: str, folder: Path, seconds: float) -> Iterator[None]:
    """Start the work, close the window, and answer its question."""
    while window.viewport.styled is None:
        yield
    works = Works(window, folder)  # holds on to what it has opened
    running = getattr(works, kind)()
    while not running():
        yield
    for _ in range(round(1e3 * seconds / LOOK_MS)):
        yield
    sys.stdout.write(f"{CLOSING}\n")
    window.close()
    while True:
        yield
        if window.questions.isVisible():
            window.questions.accept.click()


if __name__ == "__main__":
    sys.exit(limit_end(close_during(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))))
