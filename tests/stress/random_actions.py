"""Plays at random with the real window, as nobody sensible would, and measures its GUI thread.

    python -m tests.stress.random_actions --seed 1 --actions 3000

prints every gap of the GUI thread over 50 ms with its cause, and fails on an exception, a message
of Qt or a wrong picture. The same seed does the same things; what they meet depends on the time.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from PySide6.QtCore import QEventLoop, QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtCore import qInstallMessageHandler as install_message_handler
from PySide6.QtGui import QDropEvent, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from app.engine.config import EngineConfig
from app.engine.engine import SIZES, Engine
from app.engine.process_mode import ProcessMode
from app.errors import Problem
from app.frame import Frame
from app.live.session import Session
from app.settings import Settings
from app.sources.scene import render
from app.styles.library import BUILTIN, Library
from app.ui.application import freeze_garbage_collector
from app.ui.main_window import MainWindow
from app.ui.widgets.parameter_controls import CheckControl, FractionControl, ListControl
from kernels.ops.registry import prepare
from tests.helpers.fakes import write_video
from tests.stress.gui_gaps import LONG_MS, Gap, Watch
from utils.images.writing import write_pixels

PAUSES_MS = (0, 0, 10, 30, 60, 120)  # between two actions
SLOW_S = 90.0  # a picture that is not there by then is not coming
LARGEST = 384  # long side the network sees; on a CPU, more can take minutes a frame
# What is left to the end of a run, or only repeats another action through the system's own dialog.
NOT_PRESSED = {"quit", "remove_style", "install_style", "train", "help", "menu", "sources", "paste"}
HARMLESS = ("This plugin does not support",)  # the offscreen platform, of every real window


@dataclass
class Report:
    """What a run met. `gaps` are those over LONG_MS, `faults` everything that must not happen."""

    seed: int
    actions: int
    seconds: float = 0.0
    gaps: list[Gap] = field(default_factory=list)
    worst_ms: float = 0.0
    worst_cpu_ms: float = 0.0
    faults: list[str] = field(default_factory=list)
    waits: Counter[str] = field(default_factory=Counter)  # files touched on the GUI thread
    problems: Counter[str] = field(default_factory=Counter)  # shown to the user, as is right
    done: Counter[str] = field(default_factory=Counter)  # how often each action was done

    def __str__(self) -> str:
        by_wall = [gap for gap in self.gaps if gap.wall_ms > LONG_MS]
        by_cpu = [gap for gap in self.gaps if gap.cpu_ms > LONG_MS]
        blocked = [gap for gap in self.gaps if gap.blocked_ms > LONG_MS]
        causes = Counter[str]()
        for gap in self.gaps:
            causes[gap.cause.partition("; ")[0].partition(" ")[2]] += 1
        lines = [
            *(str(gap) for gap in sorted(self.gaps, key=lambda gap: -gap.wall_ms)),
            "",
            *(f"{count:5} gaps: {cause}" for cause, count in causes.most_common()),
            "",
            *(f"{count:5} times on the GUI thread: {wait}" for wait, count in self.waits.items()),
            *(f"FAULT {fault}" for fault in self.faults),
            f"seed {self.seed}: {self.actions} actions in {self.seconds:.0f} s, "
            f"{sum(self.problems.values())} problems shown, {len(self.faults)} faults",
            f"gaps over {LONG_MS:.0f} ms: {len(by_wall)} on the clock, {len(by_cpu)} by computing, "
            f"{len(blocked)} by waiting for a lock or a file; longest {self.worst_ms:.0f} ms "
            f"on the clock, {self.worst_cpu_ms:.0f} ms of computing",
        ]
        return "\n".join(lines)


def run(
    seed: int,
    actions: int,
    *,
    large: bool = True,
    only: Sequence[str] = (),
    folder: Path | None = None,
) -> Report:
    """Do `actions` random things in a window of its own; `large` pictures and films among them.

    `only` names the actions to choose from (all if empty); files are made in `folder`. Needs the
    native kernels prepared, and leaves no settings behind if XDG_*_HOME point elsewhere.
    """
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    report = Report(seed, actions)
    with tempfile.TemporaryDirectory(dir=folder) as name, _listening(report.faults):
        files = Files(Path(name), large=large)
        player = Player(random.Random(seed), files, report, only)
        try:
            player.play(actions)
        finally:
            player.close()
    return report


@contextmanager
def _listening(faults: list[str]) -> Iterator[None]:
    """Exceptions that reach the event loop or end a thread, and messages of Qt, become faults."""

    def failed(kind: type[BaseException], exc: BaseException, trace: object) -> None:
        faults.append("".join(traceback.format_exception(exc)))

    def thread_failed(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            faults.append("".join(traceback.format_exception(args.exc_value)))

    def said(_kind: object, _context: object, text: str) -> None:
        if not text.startswith(HARMLESS):
            faults.append(f"Qt: {text}")

    before = install_message_handler(said)
    try:
        with (
            patch.object(sys, "excepthook", failed),
            patch.object(threading, "excepthook", thread_failed),
        ):
            yield
    finally:
        install_message_handler(before)


class Files:
    """Good and bad files of every kind, made in `folder`."""

    def __init__(self, folder: Path, *, large: bool) -> None:
        self.folder = folder
        self.pictures = [folder / "small.png", folder / "wide.jpg", folder / "tall.png"]
        sizes = [(64, 48), (1600, 900), (300, 900)]
        if large:
            self.pictures += [folder / "photograph.jpg", folder / "phone.jpg"]
            sizes += [(4000, 3000), (6000, 4000)]
        for path, (width, height) in zip(self.pictures, sizes, strict=True):
            write_pixels(path, _pixels(width, height))
        self.films = [
            write_video(folder / "film.mp4", 100),
            write_video(folder / "medium.mp4", 60, size=(640, 480)),
        ]
        if large:
            self.films.append(write_video(folder / "full hd.mp4", 40, size=(1920, 1080)))
            self.films.append(write_video(folder / "4k.mp4", 12, size=(3840, 2160)))
        self.strip = folder / "strip"
        self.strip.mkdir()
        for number in range(6):
            write_pixels(self.strip / f"{number}.png", _pixels(200 + 100 * number, 300))
        self.broken = [folder / "missing.png"]
        for name, content in (
            ("empty.png", b""),
            ("cut.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF"),
            ("page.png", b"<!DOCTYPE html><html></html>"),
            ("broken.mp4", b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"),
        ):
            (folder / name).write_bytes(content)
            self.broken.append(folder / name)
        self.weights = folder / "a_style.safetensors"
        shutil.copy(Library(BUILTIN, folder / "none").get("mosaic").weights, self.weights)
        self.no_weights = folder / "no_style.pth"
        self.no_weights.write_bytes(b"no style at all")

    @property
    def every(self) -> list[Path]:
        return [*self.pictures, *self.films, self.strip, *self.broken]


def _pixels(width: int, height: int) -> np.ndarray:
    """The animated scene, enlarged: [height, width, 3] uint8 RGB."""
    small = render(3.0, 320, 240)
    rows = np.arange(height) * small.shape[0] // height
    columns = np.arange(width) * small.shape[1] // width
    return np.ascontiguousarray(small[rows][:, columns])


class Player:
    """A window with a session of its own, and everything that can be done to it."""

    def __init__(
        self, chance: random.Random, files: Files, report: Report, only: Sequence[str]
    ) -> None:
        self._chance, self._files, self._report = chance, files, report
        table = self._table()
        if unknown := set(only) - set(table):
            raise ValueError(f"there are no actions {sorted(unknown)}, only {sorted(table)}")
        chosen = {name: entry for name, entry in table.items() if not only or name in only}
        self._names = list(chosen)
        self._weights = [weight for weight, _ in chosen.values()]
        self._acts = {name: act for name, (_, act) in chosen.items()}
        self.library = Library(BUILTIN, files.folder / "styles")
        self.session = Session(self.library, EngineConfig(device="cpu"))
        path = files.folder / "settings.json"
        self.window = MainWindow(self.session, Settings(), lambda settings: settings.save(path))
        self.session.problem.connect(lambda problem: self._count(problem))
        freeze_garbage_collector(self.session)
        self.watch = Watch(self.window)
        self._loop = QEventLoop()
        self._next = QTimer(singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._next.timeout.connect(self._go_on)
        self._step = iter(())

    def play(self, actions: int) -> None:
        """Do everything, inside one event loop, as in the program."""
        self.window.show()
        self._step = self._steps(actions)
        self._next.start(0)
        self._loop.exec()

    def close(self) -> None:
        """End what was begun."""
        self.window.exporter.finish()
        self.window.close()
        self.session.shutdown()
        self.window.deleteLater()
        gc.unfreeze()

    def _go_on(self) -> None:
        """Run the steps up to their next pause."""
        try:
            pause = next(self._step, None)
        except Exception as exc:  # noqa: BLE001  (the report is about just these)
            self._report.faults.append("".join(traceback.format_exception(exc)))
            pause = None
        if pause is None:
            self._loop.quit()
        else:
            self._next.start(pause)

    def _steps(self, actions: int) -> Iterator[int]:
        self.session.open("scene")
        yield from self._until(lambda: self.window.viewport.styled is not None, "the scene")
        yield 1000  # what belongs to the start is over
        begin = time.perf_counter()
        self.watch.start()
        for _ in range(actions):
            name = self._chance.choices(self._names, self._weights)[0]
            self.watch.doing = name
            self._report.done[name] += 1
            self._acts[name]()
            yield self._chance.choice(PAUSES_MS)
        yield 300
        self.watch.stop()
        self._report.seconds = time.perf_counter() - begin
        self._report.gaps = self.watch.gaps
        self._report.waits = self.watch.waits
        self._report.worst_ms = self.watch.worst_ms
        self._report.worst_cpu_ms = self.watch.worst_cpu_ms
        yield from self._check()

    def _until(self, came: Callable[[], bool], what: str) -> Iterator[int]:
        deadline = time.perf_counter() + SLOW_S
        while not came():
            if time.perf_counter() > deadline:
                raise AssertionError(f"{what} did not come within {SLOW_S:.0f} s\n{_threads()}")
            yield 20

    def _check(self) -> Iterator[int]:
        """After all that, a picture is styled as by an engine that has done nothing before."""
        yield from self._until(lambda: not self.session._jobs._callbacks, "the end of the jobs")
        self._close_others()
        if self.window.actions_by_key["record"].isChecked():
            self.window.exporter.record()
        style = self._chance.choice([style.key for style in self.library.styles if style.builtin])
        config = EngineConfig(style=style, device="cpu", size=192)
        self.session.config = config
        frame = Frame(_pixels(640, 480))
        path = self._files.folder / "last.png"
        write_pixels(path, frame.pixels)
        self.session.open(str(path))

        def came() -> bool:
            styled = self.window.viewport.styled
            return (
                styled is not None
                and styled.config == config
                and np.array_equal(styled.source.pixels, frame.pixels)
            )

        yield from self._until(came, "the last picture")
        engine = Engine(self.library)
        engine.configure(config)
        expected = engine.process(frame, ProcessMode.SINGLE).frame.pixels
        styled = self.window.viewport.styled
        assert styled is not None
        if not np.array_equal(styled.frame.pixels, expected):
            self._report.faults.append(f"the last picture is not styled as {style}")

    def _count(self, problem: Problem) -> None:
        self._report.problems[problem.summary] += 1

    # What can be done

    def _table(self) -> dict[str, tuple[float, Callable[[], object]]]:
        """How likely each is, and how it is done."""
        return {
            "press a key": (10, self._press),
            "open a file": (5, lambda: self.session.open(str(self._any(self._files.every)))),
            "open the scene": (2, lambda: self.session.open("scene")),
            "drop files": (3, self._drop),
            "paste": (2, self._paste),
            "choose a style": (8, self._choose_style),
            "mix": (4, self._mix),
            "move a slider": (6, self._slide),
            "choose in the panel": (6, self._choose),
            "open a list": (2, self._open_list),
            "tick a box": (2, self._tick),
            "change the view": (5, self._change_view),
            "drag the divider": (3, self._drag),
            "seek": (8, self._seek),
            "pause": (3, self._act("pause")),
            "resize": (8, self._resize),
            "full screen": (2, self._act("fullscreen")),
            "show or hide": (4, lambda: self._act(self._any(["overlay", "gallery", "panel"]))()),
            "show a problem": (4, self._show_problem),
            "show a notice": (4, self._show_notice),
            "dismiss": (8, self._dismiss),
            "theme": (2, self._act("theme")),
            "save the settings": (2, lambda: self.window._save_later.start(0)),
            "install a style": (1, self._install),
            "remove a style": (1, self._remove),
            "studio": (1, self._studio),
            "help": (1, self._help),
            "menu": (2, self._menu),
            "file dialog": (1, lambda: self._act(self._any(["open", "open_folder", "save"]))()),
            "snapshot": (2, self._act("snapshot")),
            "copy": (1, self._act("copy")),
            "record": (2, self._act("record")),
            "close what is open": (4, self._close_others),
        }

    def _any(self, values: Sequence):
        return self._chance.choice(values)

    def _act(self, key: str) -> Callable[[], None]:
        return lambda: self.window.actions_by_key[key].trigger()

    def _press(self) -> None:
        actions = self.window.actions_by_key
        key = self._any([key for key in actions if key not in NOT_PRESSED])
        self.window.viewport.setFocus()
        QTest.keySequence(self.window, actions[key].shortcut())

    def _drop(self) -> None:
        data = QMimeData()
        several = self._chance.sample(self._files.pictures, 2)
        one = [self._any([*self._files.every, self._files.weights, self._files.no_weights])]
        paths = self._any([several, one])
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        place = QPointF(self.window.viewport.rect().center())
        buttons = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        self.window.dropEvent(QDropEvent(place, Qt.DropAction.CopyAction, data, *buttons))

    def _paste(self) -> None:
        clipboard = QGuiApplication.clipboard()
        what = self._any(["text", "path", "picture"])
        if what == "picture":
            image = QImage(320, 240, QImage.Format.Format_RGB32)
            image.fill(Qt.GlobalColor.darkCyan)
            clipboard.setImage(image)
        else:
            path = str(self._any(self._files.every))
            clipboard.setText(path if what == "path" else "nothing to open")
        self._act("paste")()

    def _choose_style(self) -> None:
        view = self.window.gallery.view
        if view.isVisible():
            self._click_style(Qt.KeyboardModifier.NoModifier)
        else:
            self._act(self._any(["next_style", "previous_style", "style_2", "style_5"]))()

    def _mix(self) -> None:
        if self.window.gallery.view.isVisible():
            self._click_style(Qt.KeyboardModifier.ShiftModifier)
        else:
            self._act(self._any(["mix", "mix_next"]))()

    def _click_style(self, modifier: Qt.KeyboardModifier) -> None:
        gallery = self.window.gallery
        row = self._chance.randrange(gallery.model.rowCount())
        place = gallery.view.visualRect(gallery.model.index(row)).center()
        QTest.mouseClick(gallery.view.viewport(), Qt.MouseButton.LeftButton, modifier, place)

    def _slide(self) -> None:
        panel = self.window.panel
        slider = self._any([c for c in panel.controls.values() if isinstance(c, FractionControl)])
        slider.setValue(self._chance.randint(0, 100))

    def _choose(self) -> None:
        panel = self.window.panel
        box = self._any(
            [
                panel.mix,
                *self._lists(),
                panel.network_size,
                panel.precision,
                panel.kernels,
            ]
        )
        rows = range(box.count())
        if box is panel.network_size:
            rows = [n for n, size in enumerate(SIZES) if size is not None and size <= LARGEST]
        row = self._any(rows)
        box.setCurrentIndex(row)
        box.activated.emit(row)

    def _open_list(self) -> None:
        panel = self.window.panel
        box = self._any([panel.source, panel.mix, *self._lists(), panel.precision, panel.kernels])
        if box.isVisible():
            box.showPopup()

    def _tick(self) -> None:
        controls = self.window.panel.controls.values()
        self._any([c for c in controls if isinstance(c, CheckControl)]).click()

    def _lists(self) -> list[ListControl]:
        controls = self.window.panel.controls.values()
        return [c for c in controls if isinstance(c, ListControl)]

    def _change_view(self) -> None:
        self._act(self._any(["view_styled", "view_split", "view_compare", "cycle_view"]))()

    def _drag(self) -> None:
        viewport = self.window.viewport
        self.window.set_view("split")
        for _ in range(3):
            x = self._chance.randrange(viewport.width())
            place = QPoint(x, viewport.height() // 2)
            QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=place)
            QTest.mouseMove(viewport, place + QPoint(20, 0))
            QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=place)

    def _seek(self) -> None:
        slider = self.window.playback_bar.slider
        if not slider.isVisible() or self._chance.random() < 0.3:
            self._act(self._any(["previous", "next"]))()
            return
        for _ in range(self._chance.randint(1, 4)):
            slider.setValue(self._chance.randint(0, slider.maximum()))

    def _resize(self) -> None:
        self.window.resize(self._chance.randint(700, 1600), self._chance.randint(480, 1000))

    def _show_problem(self) -> None:
        number = self._chance.randrange(1000)
        words = self._any(["Something is wrong. ", "A long sentence on what went wrong. " * 20])
        self.session.problem.emit(Problem(f"{number}: {words}", "details\n" * 50))

    def _show_notice(self) -> None:
        emit = self._any([self.session.notice.emit, self.session.source_status.emit])
        emit(self._any(["A notice", "Something to know, at length. " * 10, "/a/long/path" * 30]))

    def _dismiss(self) -> None:
        bar = self._any([self.window.problems, self.window.notices, self.window.questions, None])
        if bar is None:
            self._act("back")()
        else:
            bar.dismiss()

    def _install(self) -> None:
        weights = self._any([self._files.weights, self._files.weights, self._files.no_weights])
        self.window.installer.ask_install(weights)
        self._answer()

    def _remove(self) -> None:
        own = [style.key for style in self.library.styles if not style.builtin]
        if own:
            self.session.config = replace(self.session.config, style=self._any(own), mix=None)
        self._act("remove_style")()
        self._answer()

    def _answer(self) -> None:
        questions = self.window.questions
        if questions.isVisible():
            self._any([questions.accept, questions.accept, questions.cancel]).click()

    def _studio(self) -> None:
        launcher = self.window.training_launcher
        if launcher.window is not None and launcher.window.isVisible():
            form = launcher.window.form
            what = self._any(["close", "picture", "photographs"])
            if what == "close":
                launcher.close()
            elif what == "picture":
                form.set_picture(self._any([*self._files.pictures, *self._files.broken]))
            else:
                form.set_folder(self._files.strip)
        else:
            self._act("train")()

    def _help(self) -> None:
        shown = self.window._help
        if shown is not None and shown.isVisible():
            shown.close()
        else:
            self._act("help")()

    def _menu(self) -> None:
        if QApplication.activePopupWidget() is None:
            self._act(self._any(["menu", "sources"]))()

    def _close_others(self) -> None:
        """Lists, menus and dialogs that are open."""
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        for dialog in self.window.findChildren(QFileDialog):
            if isinstance(dialog, QWidget) and dialog.isVisible():
                dialog.reject()


def _threads() -> str:
    """Where every thread is."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "".join(
        f"{names.get(thread)}:\n{''.join(traceback.format_stack(frame))}"
        for thread, frame in sys._current_frames().items()
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the report; 1 after a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.random_actions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--actions", type=int, default=3000)
    parser.add_argument("--only", action="append", default=[], help="an action; may be repeated")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("CONFIG", "DATA", "STATE"):  # the user's own files stay as they are
            os.environ[f"XDG_{name}_HOME"] = folder
        for name in ("PICTURES", "VIDEOS"):
            os.environ[f"XDG_{name}_DIR"] = folder
        prepare()
        report = run(options.seed, options.actions, only=options.only, folder=Path(folder))
    sys.stdout.write(f"{report}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
