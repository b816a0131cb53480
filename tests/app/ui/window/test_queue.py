"""The queue in the window paints dropped files and survives the loss of processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import psutil
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app.batch.queue.job import JobState
from app.batch.queue.job_queue import JobQueue
from app.cli import main
from app.processes.command_process import ROOT
from app.settings import Settings
from app.ui import actions
from app.ui.help_dialog import HelpDialog, shortcut_text
from app.ui.main_window import MainWindow
from app.ui.queue.actions import QUEUE_ACTIONS
from app.ui.queue.control import adding
from app.ui.queue.rows import RowState
from app.ui.queue.runner import Phase
from app.ui.theme.icons import FOLDER
from tests.app.ui.window.conftest import press
from tests.app.ui.window.test_drop import drop, files
from tests.app.ui.window.test_keys import controls
from tests.conftest import picture as pixels
from tests.helpers.errors import mentions
from tests.helpers.fakes import write_video
from tests.helpers.file_dialogs import open_dialogs
from tests.stress.gui_gaps import Watch, most_computed_ms
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

LONG = 100_000  # ms, for a process that loads PyTorch on a busy machine


@pytest.fixture
def queue(window, tmp_path):
    """Yield the window's queue with fast jobs and its page shown."""
    window.settings.update(queue_folder=str(tmp_path / "out"))
    window.session.config = window.session.config.mixed([("candy", 1.0)])
    window.actions_by_key["queue"].trigger()
    yield window.queue
    window.queue.runner.close()


@pytest.fixture
def album(tmp_path) -> list[Path]:
    made = []
    for number in range(6):
        made.append(tmp_path / "album" / f"{number}.png")
        made[-1].parent.mkdir(exist_ok=True)
        write_pixels(made[-1], pixels(24, 18, seed=number))
    return made


def settled(queue, qtbot) -> None:
    qtbot.waitUntil(lambda: not queue.store.busy, timeout=LONG)


def added(queue, qtbot, *paths: Path) -> list[str]:
    queue.add(paths)
    settled(queue, qtbot)
    return titles(queue)


def titles(queue) -> list[str]:
    return [Path(row.title).stem for row in queue.rows]


def states(queue) -> list[RowState]:
    return [row.state for row in queue.rows]


def key(queue, name: str) -> None:
    queue.page.list.setFocus()
    QTest.keySequence(queue.page.list, queue.actions[name].shortcut())


def choose(queue, *names: str) -> None:
    queue.page.list.choose([row.number for row in queue.rows if Path(row.title).stem in names])


def listed() -> list[dict]:
    with redirect_stdout(StringIO()) as told:
        assert main(["queue", "list", "--json"]) == 0
    return [json.loads(line) for line in told.getvalue().splitlines()]


# The page


def test_the_page_takes_the_place_of_the_picture_and_gives_it_back(streaming):
    press(streaming, "queue")
    assert streaming.queue.page.isVisible()
    assert not streaming.viewport.isVisible()
    assert not streaming.gallery.isVisible()
    assert streaming.actions_by_key["queue"].isChecked()
    assert streaming.queue.page.list.hasFocus()
    QTest.keyClick(streaming.queue.page.list, Qt.Key.Key_Escape)
    assert streaming.viewport.isVisible()
    assert streaming.gallery.isVisible()
    assert not streaming.actions_by_key["queue"].isChecked()
    press(streaming, "queue")
    press(streaming, "view_split")
    assert streaming.viewport.isVisible()


def test_opening_a_picture_shows_it(window, queue, session, picture, qtbot):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open(str(picture))
    assert window.viewport.isVisible()


def test_every_control_of_the_page_has_a_name_a_tooltip_and_a_key(window, queue):
    found = [each for each in controls(window) if queue.page.isAncestorOf(each)]
    assert len(found) > 12
    assert [each for each in found if not (each.accessibleName() and each.toolTip())] == []
    native = QKeySequence.SequenceFormat.NativeText
    for entry in QUEUE_ACTIONS:
        assert (
            queue.actions[entry.key].shortcut().toString(native)
            in queue.actions[entry.key].toolTip()
        )


def test_the_help_lists_the_keys_of_the_page_and_none_is_the_windows_too(qtbot):
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    said = {label.text() for label in dialog.findChildren(QLabel)}
    taken = {QKeySequence(each).toString() for entry in actions.ACTIONS for each in entry.keys}
    own = [QKeySequence(each).toString() for entry in QUEUE_ACTIONS for each in entry.keys]
    for entry in QUEUE_ACTIONS:
        assert {shortcut_text(entry), entry.tip} <= said
        assert not entry.icon or (FOLDER / f"{entry.icon}.svg").is_file(), entry.key
    assert len(own) == len(set(own))
    assert not taken & set(own)


def test_tab_reaches_every_control_of_the_page(queue, album, qtbot):
    added(queue, qtbot, *album)
    choose(queue, "1")
    page = queue.page
    wanted = {each for each in controls(page) if each.isVisible() and each.isEnabled()}
    assert len(wanted) > 8
    reached: set[QWidget] = set()
    page.list.setFocus()
    for _ in range(80):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert wanted <= reached


@pytest.mark.parametrize("size", [(900, 600), (1024, 640), (1280, 800)])
def test_everything_on_the_page_is_inside_the_window(window, queue, album, qtbot, size):
    window.resize(*size)
    added(queue, qtbot, *album)
    qtbot.wait(50)
    assert (window.width(), window.height()) == size
    for each in controls(queue.page):
        if each.isVisible():
            place = QRect(each.mapTo(window, QPoint()), each.size())
            assert window.rect().contains(place), each.accessibleName()
    assert queue.page.list.height() > 180


def test_messages_move_nothing_on_the_page_and_cover_no_button(
    window, queue, album, session, qtbot
):
    added(queue, qtbot, *album)
    page = queue.page
    before = [each.geometry() for each in controls(page) if each.isVisible()]
    session.notice.emit("Saved a picture")
    window.film.show_export("Exporting", 0.5)
    qtbot.waitUntil(window.film.isVisible)
    assert [each.geometry() for each in controls(page) if each.isVisible()] == before
    buttons = [each for each in page.findChildren(QAbstractButton) if each.isVisible()]
    for card in (window.notices, window.film):
        for button in buttons:
            place = QRect(button.mapTo(window.workspace, QPoint()), button.size())
            assert not card.geometry().intersects(place), button.accessibleName()
    page.list.scrollToBottom()
    last = page.list.visualRect(page.list.model().index(len(queue.rows) - 1, 0))
    bottom = page.list.viewport().mapTo(window.workspace, last.bottomLeft()).y()
    assert bottom < window.film.geometry().top()


# Adding


def test_files_dropped_on_the_picture_are_queued_if_that_is_the_answer(
    window, album, tmp_path, qtbot
):
    window.settings.update(queue_folder=str(tmp_path / "out"))
    drop(window, files(*album[:3]))
    assert "3 files" in window.questions.accessibleDescription()
    assert not window.queue.shown
    window.questions.accept.click()
    assert window.queue.shown
    settled(window.queue, qtbot)
    assert titles(window.queue) == ["0", "1", "2"]
    assert states(window.queue) == [RowState.WAITING] * 3
    assert not window.queue.runner.running  # until Start is pressed


def test_files_dropped_on_the_page_are_added_and_others_are_told(queue, session, album, qtbot):
    letter = album[0].with_name("letter.pdf")
    letter.write_bytes(b"%PDF-1.4")
    with qtbot.waitSignal(session.problem) as told:
        drop(queue.page, files(*album, letter))
    assert mentions(told.args[0].summary, "letter.pdf", "neither")
    assert titles(queue) == ["0", "1", "2", "3", "4", "5"]
    assert [row.title for row in queue.page.list.chosen()] == [album[0].name]


def test_what_is_added_is_painted_in_each_style_that_is_ticked(window, queue, album, qtbot):
    added(queue, qtbot, album[0])
    key(queue, "styles")
    menu = queue.page.adding.menu
    qtbot.waitUntil(menu.isVisible)
    for title in ("Mosaic", "Udnie"):
        menu.setActiveAction(next(each for each in menu.actions() if each.text() == title))
        QTest.keyClick(menu, Qt.Key.Key_Space)
    assert menu.isVisible()
    QTest.keyClick(menu, Qt.Key.Key_Escape)
    assert queue.page.adding.styles.accessibleName() == "Style: 2 styles"
    added(queue, qtbot, album[1])
    assert [row.style for row in queue.rows] == ["Candy", "Mosaic", "Udnie"]
    assert window.settings.value.queue_styles == "mosaic\nudnie"


def test_whether_results_are_skipped_is_chosen_and_kept(window, queue, album, qtbot):
    added(queue, qtbot, album[0])
    queue.page.adding.skip.click()
    added(queue, qtbot, album[1])
    first, second = queue.store.queue.jobs()[0]
    assert "--skip-existing" in first.arguments
    assert "--overwrite" in second.arguments
    assert not window.settings.value.queue_skip


# Order


def test_rows_are_moved_by_keys_and_run_in_their_new_order(queue, album, qtbot):
    added(queue, qtbot, *album)
    for chosen, action, order in (
        ("3", "up", "013245"),
        ("3", "first", "301245"),
        ("0", "down", "310245"),
        ("3", "last", "102453"),
        ("05", "up", "051243"),
        ("05", "down", "105243"),
        ("1", "up", "105243"),
    ):
        choose(queue, *chosen)
        key(queue, action)
        settled(queue, qtbot)
        assert titles(queue) == list(order), (chosen, action)
        assert {Path(row.title).stem for row in queue.page.list.chosen()} == set(chosen)
    assert [job["arguments"][-1] for job in listed()] == [str(album[n]) for n in (1, 0, 5, 2, 4, 3)]


def test_rows_are_removed_but_not_their_pictures(queue, album, qtbot):
    added(queue, qtbot, *album)
    choose(queue, "1", "4")
    key(queue, "remove")
    settled(queue, qtbot)
    assert titles(queue) == ["0", "2", "3", "5"]
    assert all(path.is_file() for path in album)


def test_what_another_program_changes_is_seen(queue, album, qtbot):
    added(queue, qtbot, *album[:2])
    JobQueue.default().remove(1)
    qtbot.waitUntil(lambda: titles(queue) == ["1"], timeout=5000)


# Running


@pytest.mark.full
def test_the_queue_is_run_and_says_what_became_of_each(queue, window, album, qtbot, monkeypatch):
    album[2].write_text("<html>")
    out = Path(window.settings.value.queue_folder)
    out.mkdir()
    write_pixels(out / "1-candy.png", np.zeros((4, 4, 3), np.uint8))
    added(queue, qtbot, *album[:4])
    added(queue, qtbot, album[0].parent)
    phases: list[Phase] = []
    queue.runner.changed.connect(lambda: phases.append(queue.runner.phase))
    key(queue, "start")
    assert queue.actions["start"].text() == "Stop"
    qtbot.waitUntil(lambda: queue.runner.number is not None, timeout=LONG)
    taken = listed()
    assert "running" in {job["state"] for job in taken} or taken[-1]["state"] == "failed"
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(queue, qtbot)
    assert phases[:2] == [Phase.STARTING, Phase.RUNNING]
    done, skipped, failed = RowState.DONE, RowState.SKIPPED, RowState.FAILED
    assert states(queue) == [done, skipped, failed, done, failed]
    assert mentions(queue.rows[2].detail, "2.png", "an HTML page")
    assert queue.rows[4].words == "1 of 6 failed"
    assert read_pixels(out / "0-candy.png").shape == (18, 24, 3)
    assert read_pixels(out / "1-candy.png").shape == (4, 4, 3)
    assert len(list((out / "album-candy").glob("*.png"))) == 5
    assert queue.page.summary == "8 of 10 done · 2 failed"
    assert [job["state"] for job in listed()] == ["done", "done", "failed", "done", "failed"]
    opened: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: bool(opened.append(url.path())) or True
    )
    choose(queue, "3")
    key(queue, "open")
    key(queue, "reveal")
    qtbot.waitUntil(lambda: len(opened) == 2, timeout=5000)
    # background jobs open them in any order
    assert sorted(opened) == [str(out), str(out / "3-candy.png")]
    write_pixels(album[2], pixels(24, 18))
    key(queue, "retry")
    qtbot.waitUntil(lambda: states(queue)[4] is done, timeout=LONG)
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    # No failed row was selected, so all of them ran again.
    assert states(queue) == [done, skipped, done, done, done]
    assert queue.rows[4].ended_files == (6, 0)


def test_trying_again_leaves_other_entries_waiting(queue, album, qtbot, monkeypatch):
    jobs = JobQueue.default()
    failed, waits = (jobs.add([f"--output={path}.out", "--", str(path)]) for path in album[:2])
    jobs.finish(failed, "no")
    qtbot.waitUntil(lambda: states(queue) == [RowState.FAILED, RowState.WAITING], timeout=LONG)
    left: list = []
    monkeypatch.setattr(queue.runner, "start", left.append)
    key(queue, "retry")
    qtbot.waitUntil(lambda: bool(left), timeout=LONG)
    assert left == [[waits.number]]
    qtbot.waitUntil(lambda: states(queue) == 2 * [RowState.WAITING], timeout=LONG)


@pytest.mark.full
def test_quitting_asks_and_the_next_start_offers_to_go_on(queue, window, session, album, qtbot):
    for path in album:  # each takes longer than the window needs to ask
        write_pixels(path, pixels(1920, 1440))
    added(queue, qtbot, *album)
    key(queue, "start")
    qtbot.waitUntil(lambda: queue.runner.number is not None, timeout=LONG)
    window.close()
    assert window.isVisible()
    assert "can be continued" in window.questions.accessibleDescription()
    window.questions.accept.click()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=LONG)
    jobs = JobQueue.default()
    left = [job for job in jobs.jobs()[0] if job.state is not JobState.DONE]
    assert left
    # A job whose process had to be killed stays RUNNING, but continues all the same.
    assert {job.state for job in left} <= {JobState.WAITING, JobState.RUNNING}
    assert not any(jobs.is_running(job) for job in left)
    for path in album:  # small, so that the next window is quick
        write_pixels(path, pixels(24, 18))
    again = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(again)
    again.show()
    qtbot.waitUntil(again.notices.isVisible, timeout=LONG)
    assert again.notices.text.startswith("The queue has ")
    assert not again.queue.runner.running
    again.notices.offer_button.click()
    assert again.queue.runner.running
    qtbot.waitUntil(lambda: not again.queue.runner.running, timeout=LONG)
    settled(again.queue, qtbot)
    assert states(again.queue) == [RowState.DONE] * len(album)
    again.close()


@pytest.mark.full
def test_a_process_that_is_killed_is_followed_by_another_one(queue, session, album, qtbot):
    added(queue, qtbot, *album)
    key(queue, "start")
    qtbot.waitUntil(lambda: queue.runner.number is not None, timeout=LONG)
    number = queue.runner.number
    with qtbot.waitSignal(session.notice, timeout=LONG) as told:
        psutil.Process(queue.runner._process._process.processId()).kill()
    assert "the system killed" in told.args[0]
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(queue, qtbot)
    assert states(queue) == [RowState.DONE] * len(album)
    assert number in [row.number for row in queue.rows]


WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pathlib import Path
application = QApplication([])
from app.engine.config import EngineConfig
from app.live.session import Session
from app.settings import Settings
from app.styles.catalog import Catalog
from app.ui.main_window import MainWindow
from tests.helpers.fakes import Negative
session = Session(Catalog.default(), EngineConfig(device="cpu"), engine=Negative())
window = MainWindow(session, Settings(queue_folder=sys.argv[1]), lambda settings: None)
window.show()
window.queue.show()
window.queue.add([Path(name) for name in sys.argv[2:]])
def started():
    print("running" if window.queue.runner.number is not None else "", flush=True)
window.queue.runner.job_changed.connect(started)
window.queue.store.change(lambda queue: None, lambda _: window.queue.runner.start(), failure="x")
application.exec()
"""


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="processes are killed as on POSIX")
def test_a_window_that_is_killed_leaves_no_process_and_every_job(album, tmp_path, qtbot):
    out = tmp_path / "out"
    line = [sys.executable, "-c", WINDOW, str(out), *map(str, album)]
    window = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert window.stdout is not None
    assert window.stdout.readline() == "running\n"
    children = psutil.Process(window.pid).children(recursive=True)
    window.kill()
    window.communicate()
    assert children
    psutil.wait_procs(children, timeout=100)
    assert not any(child.is_running() for child in children)
    jobs, damaged = JobQueue.default().jobs()
    assert (len(jobs), damaged) == (len(album), [])
    assert not any(JobQueue.default().is_running(job) for job in jobs)
    assert JobState.FAILED not in {job.state for job in jobs}
    run = [sys.executable, "-m", "app", "queue", "run", "--quiet"]
    assert subprocess.run(run, cwd=ROOT, check=False).returncode == 0
    assert {job["state"] for job in listed()} == {"done"}
    assert len(list(out.glob("[0-9]-candy.png"))) == len(album)


def test_a_watched_folder_is_painted_as_it_fills_until_it_is_gone(
    queue, window, session, album, qtbot, monkeypatch
):
    monkeypatch.setattr(adding, "INTERVAL_MS", 50)
    monkeypatch.setattr(queue.runner, "start", lambda leave=(): None)
    queue.watching._timer.setInterval(50)
    folder = album[0].parent
    key(queue, "watch")
    (dialog,) = open_dialogs(window)
    dialog.filesSelected.emit([str(folder)])
    dialog.close()
    qtbot.waitUntil(lambda: len(queue.rows) == len(album), timeout=LONG)
    assert window.settings.value.watched_folder == str(folder)
    assert queue.page.adding.watch.isChecked()
    write_pixels(folder / "new.png", pixels(24, 18))
    qtbot.waitUntil(lambda: "new" in titles(queue), timeout=LONG)
    for path in folder.iterdir():
        path.unlink()
    with qtbot.waitSignal(session.problem, timeout=LONG) as told:
        folder.rmdir()
    assert "album' is not there" in told.args[0].summary
    assert not queue.page.adding.watch.isChecked()
    assert window.settings.value.watched_folder == ""


@pytest.mark.full
def test_the_window_answers_with_fifty_pictures_that_are_painted(
    queue, window, session, tmp_path, qtbot
):
    """From the drop to the end, the GUI thread computes nothing long and waits for no file."""
    many = []
    for number in range(50):
        many.append(tmp_path / "many" / f"{number:02}.jpg")
        many[-1].parent.mkdir(exist_ok=True)
        write_pixels(many[-1], pixels(160, 120, seed=number))
    session.open(str(write_video(tmp_path / "film.mp4")))
    qtbot.waitUntil(lambda: session.info is not None, timeout=LONG)
    press(window, "queue")
    watch = Watch()
    watch.start()
    drop(queue.page, files(*many))
    qtbot.waitUntil(lambda: len(queue.rows) == 50, timeout=LONG)
    key(queue, "start")
    qtbot.waitUntil(lambda: sum(row.state.ended for row in queue.rows) >= 5, timeout=LONG)
    key(queue, "finish")
    for at in range(0, 50, 5):
        queue.page.list.scrollTo(queue.model.index(at))
        qtbot.wait(20)
    choose(queue, "40")
    key(queue, "up")
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(queue, qtbot)
    watch.stop()
    assert RowState.WAITING in states(queue)
    assert watch.worst_cpu_ms < most_computed_ms(), watch.gaps
    # The process's priority comes from /proc, which is not a disk.
    assert not [wait for wait in watch.waits if "/proc/" not in wait]
