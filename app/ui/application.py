"""Starts the application with its window."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from argparse import Namespace
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from app.diagnostics.log_file import log_path, logging_to
from app.errors import Problem, StyleForgeError
from app.options import ONLY_PERSON, format_parts, mixed_parts
from app.parameters import given_values
from app.settings import Settings, settings_path
from app.ui.languages import apply_language
from app.ui.second_start import ACTIVATION, StartRequest, StartRequests, claim
from app.ui.startup_view import StartupView
from utils.system import has_display, missing, sentence
from utils.translation.texts import mark, said, tr

if TYPE_CHECKING:
    from app.live.session import Session
    from app.ui.main_window import MainWindow

DAMAGE_ADVICE = mark(
    "`styleforge doctor` lists the folders and whether StyleForge can write to them."
)


def run(options: Namespace) -> int:
    """Open the window and run the event loop.

    Args:
        options: `source`, `style`, `mix` and the flags of the parameter table override the stored
            settings if set. `open` lists paths to open instead of a source.

    Returns:
        The exit status: 1 without a display, after a message on stderr.
    """
    if not has_display():
        sys.stderr.write(
            "styleforge: there is no display to open a window on; "
            "use `styleforge stylize` to stylize files from here\n"
        )
        return 1
    damage: list[str] = []
    with logging_to(log_path(), damage.append):
        return _open_window(options, damage)


def _open_window(options: Namespace, damage: list[str]) -> int:
    """Open the window and show the sentences in `damage` there; see `run`."""
    path = settings_path()
    settings = Settings.load(path, damage.append)
    if not path.exists():  # the first start opens on paintings alone
        settings = replace(settings, show_panel=False)
    settings = _with_given(settings, options)
    if packages := missing():
        sys.stderr.write(sentence(packages) + "\n")  # Qt may abort without one of these
    app = QApplication(sys.argv[:1])
    app.setApplicationName("StyleForge")
    app.setDesktopFileName("styleforge")
    apply_language(app, settings.language)
    requests = claim(path, _request(options), alone=_wants_own_window(options))
    if requests is None:
        return 0
    with closing(requests):
        starting = StartupView(app, settings)
        starting.show()
        if not _import_torch(starting):
            return 0
        return _run_window(app, starting, requests, settings, options, damage)


def _with_given(settings: Settings, options: Namespace) -> Settings:
    """Return the settings with what the command line names.

    Raises:
        StyleForgeError: If the shares of a mix are none.
    """
    settings = replace(settings, **given_values(options))
    for name in ("style", "source"):
        if (value := getattr(options, name)) is not None:
            settings = replace(settings, **{name: value})
    if options.matte:
        matte = str(Path(options.matte).absolute())
        settings = replace(settings, matte=matte, paint=ONLY_PERSON)
    if options.mix:
        try:
            _, (mix, amount), *more = mixed_parts(settings.style, options.mix)
        except ValueError as exc:
            raise StyleForgeError(str(exc)) from exc
        mixed = format_parts(more)
        settings = replace(settings, mix=mix, mix_amount=amount, mix_more=mixed)
    return settings


def _run_window(
    app: QApplication,
    starting: StartupView,
    requests: StartRequests,
    settings: Settings,
    options: Namespace,
    damage: list[str],
) -> int:
    """Open the window in place of `starting`, and run the event loop; see `run`."""
    # These import PyTorch, so the startup window is shown first.
    from app.styles.catalog import Catalog
    from app.ui.controllers.gpu_offer import look_for_unused_gpu
    from app.ui.controllers.settings_mapping import source_from_settings
    from app.ui.reopening import REOPEN, OpenWindow
    from kernels.jit import build

    catalog = Catalog.default()
    if options.style:
        catalog.get(options.style)  # reports a misspelled key at once
    for key, _ in options.mix:
        catalog.get(key)
    opened = OpenWindow(app, catalog, settings, lambda changed: changed.save(settings_path()))
    try:
        window, session = opened.window, opened.session
        starting.hand_over_to(window)
        for words in damage:
            window.problems.add(Problem(said(words), advice=tr(DAMAGE_ADVICE)))
        if options.pictures:
            _close_after(window, session, options.pictures)
        _begin(window, options, source_from_settings(settings))
        requests.deliver_to(lambda request: _show_request(opened.window, request))
        look_for_unused_gpu(session.run, window.notices)
        # Python handles signals only while it runs code; the window's timers ensure that.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: opened.window.closing.leave())
        _prepare(session)
        while (status := app.exec()) == REOPEN:
            opened.reopen()
            _prepare(opened.session)
        return status
    finally:
        build.stop()  # a running build would keep the process alive
        opened.close()


def _begin(window: MainWindow, options: Namespace, stored: str | list[str]) -> None:
    """Open what the command line names, or the wall, which may begin with the `stored` source."""
    from app.ui.controllers.startup_source import StartupSource, source_from_paths

    if options.open or options.source is not None or options.pictures:
        StartupSource(window.session, source_from_paths(options.open) if options.open else stored)
    else:
        window.wall.begin(stored)


def _request(options: Namespace) -> StartRequest:
    paths = tuple(str(Path(path).absolute()) for path in options.open)
    return StartRequest(paths, options.source or "", os.environ.pop(ACTIVATION, ""))


def _wants_own_window(options: Namespace) -> bool:
    """Return whether flags ask for a window of its own, or for choices that it begins with."""
    chosen = options.style, options.mix, options.matte, options.pictures, given_values(options)
    return options.new_window or any(chosen)


def _show_request(window: MainWindow, request: StartRequest) -> None:
    """Bring the window to the front and open what a later start was asked to open."""
    from app.ui.controllers.startup_source import source_from_paths

    if request.token:
        os.environ[ACTIVATION] = request.token  # Qt takes it from there
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
    if spec := source_from_paths(request.paths) if request.paths else request.source:
        window.session.open(spec)


def _prepare(session: Session) -> None:
    """Prepare the kernels, and measure the GPU once the first picture is painted."""
    session.prepare_kernels()
    _measure_gpu_when_painted(session)
    freeze_garbage_collector(session)


def _measure_gpu_when_painted(session: Session) -> None:
    """Measure the GPU after the first picture, which it should not delay."""
    once = Qt.ConnectionType.SingleShotConnection
    session.painted.connect(lambda _: session.gpu.measure(), once)


def freeze_garbage_collector(session: Session) -> None:
    """Exclude objects loaded at startup and with the first picture from garbage collection.

    They are never freed, and traversing them would pause all threads for a tenth of a second.
    """
    once = Qt.ConnectionType.SingleShotConnection
    for loaded in (session.painted, session.kernels_changed):
        loaded.connect(lambda _: gc.freeze(), once)


def _close_after(window: QWidget, session: Session, pictures: int) -> None:
    started = psutil.Process().create_time()
    painted = 0

    def count(_: object) -> None:
        nonlocal painted
        painted += 1
        if painted == 1:
            took = time.time() - started
            sys.stdout.write(f"The first picture was on screen after {took:.2f} s\n")
        if painted == pictures:
            window.close()

    session.painted.connect(count)


def _import_torch(starting: StartupView) -> bool:
    """Import PyTorch, which takes seconds, while the window `starting` keeps responding.

    Return False if the user closed that window.
    """
    work = threading.Thread(target=import_module, args=("torch",), name="import")
    work.start()
    while work.is_alive():
        QApplication.processEvents()
        work.join(0.01)
    return starting.isVisible()
