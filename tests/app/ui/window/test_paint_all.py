"""All open pictures are painted into a folder: styles, size, place, progress, stop, retry."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.batch.manifest import Entry, Manifest, State
from app.batch.queue.description import described
from app.batch.queue.job_queue import JobQueue
from app.batch.shard import Shard
from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.processes.command_process import ProcessExit
from app.ui.film_strip.paint_all.dialog import PaintAllDialog
from app.ui.film_strip.thumbnails import Pixels
from app.ui.main_window import MainWindow
from app.ui.queue.control.words import end_words
from app.ui.queue.rows import STOPPED, RowState
from app.ui.queue.runner import Phase
from tests.app.ui.window.conftest import press
from tests.conftest import picture as pixels
from tests.helpers.errors import mentions
from tests.helpers.file_dialogs import open_picker
from tests.stress.gui_gaps import Watch, most_computed_ms
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels
from utils.translation.texts import tr

COUNT = 5
LONG = 100_000  # ms, for a process that loads PyTorch on a busy machine
TITLES = ["Candy", "Mosaic", "Udnie"]


class Marks:
    """A painter that paints each style in one color, and cannot paint `refused`."""

    def __init__(self) -> None:
        self.painted: list[str] = []
        self.refused = ""

    def look(self, config: EngineConfig) -> Hashable:
        return config.style

    def paint(self, config: EngineConfig, pixels: Pixels) -> Pixels:
        if config.style == self.refused:
            raise StyleForgeError("its weights are damaged")
        self.painted.append(config.style)
        return np.full_like(pixels, 20 * len(config.style))


@pytest.fixture
def painter(window, monkeypatch) -> Marks:
    made = Marks()
    window.film_strip.painter = made
    window.paint_all.new_painter = lambda: made
    monkeypatch.setattr(window.paint_all, "_known", lambda key: None)
    return made


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "holiday"
    folder.mkdir()
    for number in range(COUNT):
        write_pixels(folder / f"{number}.png", pixels(64, 48, seed=number))
    return folder


@pytest.fixture
def opened(window, session, painter, folder, qtbot):
    session.config = session.config.mixed([("candy", 1.0)])
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(folder))
    qtbot.waitUntil(lambda: window.film_strip.strip.isVisible(), timeout=5000)
    yield window
    window.queue.runner.close()


@pytest.fixture
def started(opened, monkeypatch) -> list[int]:
    """Count the starts of the queue, which runs nothing."""
    starts: list[int] = []
    monkeypatch.setattr(opened.queue.runner, "start", lambda leave=(): starts.append(1))
    return starts


def asked(window: MainWindow, qtbot) -> PaintAllDialog:
    press(window, "paint_all")
    qtbot.waitUntil(lambda: window.paint_all.dialog is not None, timeout=5000)
    dialog = window.paint_all.dialog
    assert dialog is not None
    qtbot.waitUntil(dialog.isVisible, timeout=5000)
    return dialog


def settled(window: MainWindow, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.queue.store.busy, timeout=LONG)


def titles(dialog: PaintAllDialog) -> list[str]:
    model = dialog.tiles.model()
    return [model.index(at, 0).data() for at in range(model.rowCount())]


def click(dialog: PaintAllDialog, at: int) -> None:
    place = dialog.tiles.visualRect(dialog.tiles.model().index(at, 0)).center()
    QTest.mouseClick(dialog.tiles.viewport(), Qt.MouseButton.LeftButton, pos=place)


def choose_folder(dialog: PaintAllDialog, folder: Path, qtbot) -> None:
    QTest.mouseClick(dialog.choose_place, Qt.MouseButton.LeftButton)
    picker = open_picker(dialog)
    picker.go_to(folder)
    qtbot.waitUntil(lambda: picker.folder == folder and picker.foot.open.isEnabled())
    QTest.mouseClick(picker.foot.open, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.place.toolTip() == str(folder), timeout=5000)


# The offer


def test_the_strip_offers_to_paint_all_its_pictures_by_their_number(opened):
    button = opened.film_strip.strip.paint_all
    assert button.isVisible()
    assert mentions(button.text(), str(COUNT), "...")
    assert str(COUNT) in button.accessibleName()
    assert button.defaultAction() is opened.actions_by_key["paint_all"]


def test_a_single_picture_offers_nothing_and_the_action_says_why(streaming):
    action = streaming.actions_by_key["paint_all"]
    assert not action.isEnabled()
    assert "folder" in action.toolTip()
    streaming.paint_all.ask()
    assert "folder" in streaming.notices.text


def test_the_empty_queue_offers_the_pictures_that_are_open(opened, started, qtbot):
    press(opened, "queue")
    button = opened.queue.page.list.offer_button
    assert button.isVisible()
    assert opened.queue.page.list.rect().contains(button.geometry())
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: opened.paint_all.dialog is not None, timeout=5000)
    qtbot.waitUntil(opened.paint_all.dialog.isVisible, timeout=5000)
    opened.paint_all.dialog.start.click()
    settled(opened, qtbot)
    assert len(opened.queue.rows) == 1
    assert not button.isVisible()


def test_the_key_that_selects_all_rows_still_does(opened, folder, qtbot):
    press(opened, "queue")
    opened.queue.add(sorted(folder.iterdir()))
    settled(opened, qtbot)
    rows = opened.queue.page.list
    assert [row.title for row in rows.chosen()] == ["0.png"]  # added rows are not all selected
    rows.setFocus()
    QTest.keyClick(rows, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(rows.chosen()) == COUNT
    assert opened.paint_all.dialog is None


# The dialog


def test_tiles_are_the_picture_in_every_style_and_that_on_screen_is_ticked(opened, painter, qtbot):
    dialog = asked(opened, qtbot)
    assert titles(dialog) == TITLES
    assert dialog.tiles.ticked == [0]
    qtbot.waitUntil(lambda: set(painter.painted) >= {"candy", "mosaic", "udnie"}, timeout=5000)
    index = dialog.tiles.model().index(1, 0)

    def color() -> int:
        shown = index.data(Qt.ItemDataRole.DecorationRole).toImage()
        return shown.pixelColor(QPoint(20, 20)).red()

    qtbot.waitUntil(lambda: color() == 20 * len("mosaic"), timeout=5000)


def test_a_picture_that_was_painted_before_is_shown_at_once(opened, painter, qtbot, monkeypatch):
    made = np.full((90, 120, 3), 7, np.uint8)
    monkeypatch.setattr(opened.paint_all, "_known", {"udnie": made}.get)
    painter.painted.clear()
    dialog = asked(opened, qtbot)
    shown = dialog.tiles.model().index(2, 0).data(Qt.ItemDataRole.DecorationRole).toImage()
    assert shown.pixelColor(QPoint(20, 20)).red() == 7
    qtbot.waitUntil(lambda: "mosaic" in painter.painted, timeout=5000)


def test_clicks_and_the_space_bar_tick_styles_and_the_button_counts_the_paintings(opened, qtbot):
    dialog = asked(opened, qtbot)
    assert str(COUNT) in dialog.start.text()
    click(dialog, 2)
    assert dialog.tiles.ticked == [0, 2]
    assert str(2 * COUNT) in dialog.start.text()
    QTest.keyClick(dialog.tiles, Qt.Key.Key_Space)  # on the tile that was clicked
    assert dialog.tiles.ticked == [0]
    click(dialog, 0)
    assert dialog.tiles.ticked == []
    assert not dialog.start.isEnabled()


def test_a_style_that_cannot_paint_cannot_be_ticked(opened, painter, qtbot):
    painter.refused = "candy"
    dialog = asked(opened, qtbot)
    index = dialog.tiles.model().index(0, 0)
    qtbot.waitUntil(lambda: "damaged" in index.data(Qt.ItemDataRole.ToolTipRole), timeout=5000)
    click(dialog, 0)
    assert dialog.tiles.ticked == []


def test_a_mix_on_screen_is_the_first_tile(opened, session, started, qtbot):
    session.config = session.config.mixed([("candy", 0.6), ("udnie", 0.4)])
    dialog = asked(opened, qtbot)
    assert titles(dialog) == [opened.mixer.label(), *TITLES]
    assert dialog.tiles.ticked == [0]
    dialog.start.click()
    settled(opened, qtbot)
    (job,) = JobQueue.default().jobs()[0]
    assert described(job.arguments).styles == (("candy", 60), ("udnie", 40))


def test_the_time_is_told_only_once_it_was_measured(opened, qtbot):
    dialog = asked(opened, qtbot)
    assert "minutes" not in dialog.time.text()
    dialog.reject()
    for _ in range(3):
        opened.queue.runner.forecast.note(60.0)
    opened.paint_all.ask()
    qtbot.waitUntil(dialog.isVisible, timeout=5000)
    assert f"{COUNT} minutes" in dialog.time.text()


def test_what_is_chosen_becomes_a_job_for_each_style_and_the_queue_starts(
    opened, folder, tmp_path, started, qtbot
):
    dialog = asked(opened, qtbot)
    click(dialog, 1)
    place = tmp_path / "place"
    place.mkdir()
    choose_folder(dialog, place, qtbot)
    dialog.long_side.setCurrentIndex(3)
    side = dialog.long_side.currentData()
    QTest.keyClick(dialog.tiles, Qt.Key.Key_Return)
    settled(opened, qtbot)
    assert not dialog.isVisible()
    assert opened.queue.shown
    jobs = JobQueue.default().jobs()[0]
    assert [described(job.arguments).styles[0][0] for job in jobs] == ["candy", "mosaic"]
    for job in jobs:
        assert described(job.arguments).output == str(place)
        assert described(job.arguments).inputs == tuple(map(str, sorted(folder.iterdir())))
        assert f"--long-side={side}" in job.arguments
    assert [row.size for row in opened.queue.rows] == [COUNT, COUNT]
    assert started == [1]
    assert len(opened.queue.page.list.chosen()) == 1


def test_a_chosen_folder_is_kept_unless_a_painting_there_has_the_name(
    opened, folder, tmp_path, started, qtbot
):
    place = tmp_path / "place"
    place.mkdir()
    (place / "letter.txt").touch()
    write_pixels(place / "0-mosaic.png", pixels(8, 8))
    dialog = asked(opened, qtbot)
    choose_folder(dialog, place, qtbot)
    assert dialog.folder == place
    assert not dialog.taken.isVisible()
    height = dialog.choose_place.mapTo(dialog, QPoint()).y()
    click(dialog, 1)
    qtbot.waitUntil(dialog.taken.isVisible)
    assert "place" in dialog.taken.text()
    assert dialog.place.toolTip() == str(place / "Painted")
    assert dialog.choose_place.mapTo(dialog, QPoint()).y() == height
    dialog.start.click()
    settled(opened, qtbot)
    jobs = JobQueue.default().jobs()[0]
    assert {described(job.arguments).output for job in jobs} == {str(place / "Painted")}


def test_the_next_opening_has_the_last_size_and_folder(opened, folder, tmp_path, started, qtbot):
    place = tmp_path / "place"
    place.mkdir()
    dialog = asked(opened, qtbot)
    sides = [dialog.long_side.itemData(at) for at in range(dialog.long_side.count())]
    assert sides[0] is None
    assert {800, 640} <= set(sides)
    choose_folder(dialog, place, qtbot)
    dialog.long_side.setCurrentIndex(sides.index(800))
    dialog.start.click()
    settled(opened, qtbot)
    press(opened, "queue")
    opened.paint_all.ask()
    qtbot.waitUntil(dialog.isVisible, timeout=5000)
    assert dialog.long_side.currentData() == 800
    assert dialog.place.toolTip() == str(place / "Painted")  # the first paintings wait there
    click(dialog, 0)
    click(dialog, 2)
    assert dialog.place.toolTip() == str(place)
    dialog.reject()
    place.rmdir()
    opened.paint_all.ask()
    qtbot.waitUntil(dialog.isVisible, timeout=5000)
    assert dialog.folder == folder / "Painted"


def test_nothing_happens_if_the_dialog_is_left(opened, started, qtbot):
    dialog = asked(opened, qtbot)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    settled(opened, qtbot)
    assert not dialog.isVisible()
    assert not opened.queue.rows
    assert not started


# The work


def test_new_paintings_come_before_rows_that_wait_which_stay_waiting(
    opened, folder, qtbot, monkeypatch
):
    queue, lines = opened.queue, []
    monkeypatch.setattr(queue.runner._process, "start", lines.append)
    press(opened, "queue")
    queue.add(sorted(folder.iterdir())[:2])
    settled(opened, qtbot)
    dialog = asked(opened, qtbot)
    dialog.start.click()
    settled(opened, qtbot)
    assert [row.number for row in queue.rows] == [3, 1, 2]
    assert lines[0][-3:] == ["--leave", "1", "2"]
    assert str(2 + COUNT) not in queue.page.summary  # of the new row alone
    assert str(COUNT) in queue.page.summary
    jobs = JobQueue.default()
    with jobs.next_job(queue.runner.left) as job:
        assert job is not None
        jobs.finish(job)
    queue.runner._process.exited.emit(ProcessExit("done"))
    settled(opened, qtbot)
    assert len(lines) == 1
    assert [row.state for row in queue.rows] == [RowState.DONE, *[RowState.WAITING] * 2]


def test_a_stopped_row_says_how_much_is_done_and_continues(opened, folder, qtbot):
    jobs, out = JobQueue.default(), folder / "Painted"
    inputs = sorted(folder.iterdir())[:3]
    job = jobs.add([f"--output={out}", "--style=candy", "--", *map(str, inputs)])
    state = {inputs[0]: State.DONE}
    entries = [
        Entry(str(path), str(out / path.name), state.get(path, State.PENDING)) for path in inputs
    ]
    Manifest(Shard(1, 1), 3, "x", "candy", tuple(entries)).write(jobs.manifest(job.number))
    press(opened, "queue")
    queue = opened.queue
    qtbot.waitUntil(lambda: len(queue.rows) == 1, timeout=5000)
    (row,) = queue.rows
    assert row.words == tr(STOPPED, done=1, n=3)
    assert queue.actions["start"].text() == tr("Continue")
    said = end_words([*queue.rows, replace(row, number=2, state=RowState.DONE)], [], stopped=True)
    assert mentions(said, "4", "6")
    queue.runner.phase = Phase.RUNNING
    queue.runner.finishing = True
    queue.runner.changed.emit()
    button = queue.page.finish
    assert button.isChecked()
    pressed = button.grab().toImage()
    queue.runner.finishing = False
    queue.runner.changed.emit()
    assert not button.isChecked()
    assert button.grab().toImage() != pressed
    queue.runner.phase = Phase.IDLE


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_two_hundred_pictures_are_painted_while_the_window_answers(
    window, session, painter, tmp_path, qtbot, monkeypatch
):
    """Stop, continue, one broken picture, which is named, mended and tried again."""
    folder, broken = tmp_path / "many", "113.png"
    folder.mkdir()
    for number in range(200):
        write_pixels(folder / f"{number:03}.png", pixels(256, 192, seed=number))
    (folder / broken).write_text("<html>")
    sources = {path.name: path.read_bytes() for path in folder.iterdir()}
    session.config = session.config.mixed([("candy", 1.0)])
    with qtbot.waitSignal(session.styled, timeout=LONG):
        session.open(str(folder))
    queue, watch = window.queue, Watch()
    for _ in range(2):  # the page reads its icons when it is first shown
        press(window, "queue")
    watch.start()
    dialog = asked(window, qtbot)
    dialog.start.click()
    qtbot.waitUntil(lambda: bool(queue.rows) and sum(queue.rows[0].ended_files) > 5, timeout=LONG)
    assert "200" in queue.page.summary
    assert "200" in window.toolbar.button("queue").text()
    queue.actions["start"].trigger()
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(window, qtbot)
    assert queue.rows[0].state is RowState.WAITING
    queue.actions["start"].trigger()
    qtbot.waitUntil(lambda: queue.rows[0].state is RowState.FAILED, timeout=5 * LONG)
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(window, qtbot)
    watch.stop()
    out = folder / "Painted"
    assert len(list(out.iterdir())) == 199
    assert queue.rows[0].ended_files == (199, 1)
    assert queue.page.faults.isVisible()
    (told,) = [queue.page.faults.list.item(at).text() for at in (0,)]
    assert mentions(told, broken, "HTML")
    assert str(folder) not in told
    assert queue.page.faults.list.count() == 1
    write_pixels(folder / broken, pixels(256, 192, seed=113))
    sources[broken] = (folder / broken).read_bytes()
    queue.actions["retry"].trigger()
    qtbot.waitUntil(lambda: queue.rows[0].state is RowState.DONE, timeout=LONG)
    qtbot.waitUntil(lambda: not queue.runner.running, timeout=LONG)
    settled(window, qtbot)
    assert not queue.page.faults.isVisible()
    for name, data in sources.items():
        assert (folder / name).read_bytes() == data
        painted = read_pixels(out / f"{Path(name).stem}-candy.png").astype(int)
        assert painted.shape == (192, 256, 3)
        assert np.abs(painted - read_pixels(folder / name)).mean() > 5
    shown: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: bool(shown.append(url.toLocalFile())) or True
    )
    assert queue.page.results.isVisible()
    queue.page.results.click()
    qtbot.waitUntil(lambda: queue.results.shown, timeout=5000)
    queue.results.page.reveal.click()
    qtbot.waitUntil(lambda: bool(shown), timeout=5000)
    assert shown == [str(out)]
    assert watch.worst_cpu_ms < most_computed_ms(), watch.gaps
    assert not [wait for wait in watch.waits if "/proc/" not in wait]


def test_a_double_click_shows_the_paintings_of_a_row_in_the_window(opened, folder, qtbot):
    out = folder / "Painted"
    out.mkdir()
    jobs = JobQueue.default()
    inputs = sorted(path for path in folder.iterdir() if path.is_file())[:3]
    job = jobs.add([f"--output={out}", "--style=candy", "--", *map(str, inputs)])
    entries = []
    for at, path in enumerate(inputs):
        write_pixels(out / path.name, np.full((30, 40, 3), 50 * at, np.uint8))
        entries.append(Entry(str(path), str(out / path.name), State.DONE))
    Manifest(Shard(1, 1), 3, "x", "candy", tuple(entries)).write(jobs.manifest(job.number))
    jobs.finish(job)
    press(opened, "queue")
    rows = opened.queue.page.list
    qtbot.waitUntil(lambda: len(opened.queue.rows) == 1, timeout=5000)
    place = rows.visualRect(opened.queue.model.index(0)).center()
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: opened.queue.results.shown, timeout=5000)
    page = opened.queue.results.page
    assert page is not None

    def color() -> int:
        image = page.picture.pixmap.toImage()
        return -1 if image.isNull() else image.pixelColor(QPoint(5, 5)).red()

    qtbot.waitUntil(lambda: color() == 0, timeout=5000)
    QTest.keyClick(page, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: color() == 50, timeout=5000)
    assert session_stays(opened)
    QTest.mouseClick(page.next, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: color() == 100, timeout=5000)
    assert not page.next.isEnabled()
    assert page.hasFocus()
    for button in (page.previous, page.back):
        button.setFocus(Qt.FocusReason.TabFocusReason)
        key = Qt.Key.Key_Left if button is page.previous else Qt.Key.Key_Right
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, key)
        qtbot.waitUntil(lambda at=key: color() == (50 if at == Qt.Key.Key_Left else 100))
        assert session_stays(opened)
    page.next.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert opened.queue.shown
    assert rows.isVisible()
    assert rows.hasFocus()


def test_all_paintings_are_shown_those_of_the_chosen_row_first(opened, folder, qtbot):
    jobs, source = JobQueue.default(), min(folder.iterdir())
    for style in ("candy", "mosaic", "udnie"):
        made = folder / style / "0.png"
        made.parent.mkdir()
        write_pixels(made, pixels(8, 8))
        job = jobs.add([f"--output={made.parent}", f"--style={style}", "--", str(source)])
        entry = Entry(str(source), str(made), State.DONE)
        Manifest(Shard(1, 1), 1, "x", style, (entry,)).write(jobs.manifest(job.number))
        jobs.finish(job)
    press(opened, "queue")
    queue = opened.queue
    qtbot.waitUntil(lambda: len(queue.rows) == 3, timeout=5000)
    queue.page.list.choose([2])
    queue.page.results.click()
    qtbot.waitUntil(lambda: queue.results.shown, timeout=5000)
    shown = [Path(path).parent.name for path in queue.results.page._paths]
    assert shown == ["mosaic", "udnie", "candy"]


def test_the_pictures_are_shown_in_the_window_and_from_there_in_their_folder(
    opened, folder, qtbot, monkeypatch
):
    jobs, out = JobQueue.default(), folder / "Painted"
    source = min(folder.iterdir())
    out.mkdir()
    write_pixels(out / "0.png", pixels(8, 8))
    job = jobs.add([f"--output={out}", "--style=candy", "--", str(source)])
    entry = Entry(str(source), str(out / "0.png"), State.DONE)
    Manifest(Shard(1, 1), 1, "x", "candy", (entry,)).write(jobs.manifest(job.number))
    jobs.finish(job)
    press(opened, "queue")
    qtbot.waitUntil(lambda: opened.queue.page.results.isVisible(), timeout=5000)
    opened.queue.page.results.click()
    qtbot.waitUntil(lambda: opened.queue.results.shown, timeout=5000)
    page = opened.queue.results.page
    assert page.path == str(out / "0.png")
    asked_for: list[str] = []
    monkeypatch.setattr(
        QDesktopServices, "openUrl", lambda url: bool(asked_for.append(url.toLocalFile()))
    )
    with qtbot.waitSignal(opened.session.problem, timeout=5000) as told:
        QTest.keyClick(page, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert asked_for == [str(out)]
    assert mentions(told.args[0].summary, str(out))
    assert page.isVisible()


def session_stays(window: MainWindow) -> bool:
    """Return whether the arrow key stepped through results, not through the open pictures."""
    return window.session.position == 0
