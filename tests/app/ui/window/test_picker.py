"""The program's own dialog for opening files, on a real folder of the window."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAccessible, QColor, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialogButtonBox,
    QFileDialog,
    QSplitter,
    QToolButton,
)

from app.ui.file_dialogs import OPEN_FILES, SAVE_PICTURE
from app.ui.picker import PickerDialog
from app.ui.picker.new_folder import NewFolder
from app.ui.picker.places import Place
from app.ui.picker.system import has_dialogs, is_native, system_has_dialogs
from tests.app.ui.window.surfaces import accessible
from tests.helpers.fakes import write_video
from tests.helpers.file_dialogs import choose, open_dialogs, open_picker, select
from utils.text import printable
from utils.translation.texts import tr

LONG = 10_000
Key, Role = Qt.Key, Qt.ItemDataRole
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def album(tmp_path) -> Path:
    """Return a folder with photos 1 to 12, of which 12 is the newest, and other entries."""
    folder = tmp_path / "album"
    for name in ("winter", "family"):
        (folder / name).mkdir(parents=True)
    for number in range(1, 13):
        path = folder / f"photo {number}.png"
        Image.new("RGB", (320, 240), (20 * number, 90, 60)).save(path)
        age(path, number)
    for name, seconds in (("winter", 5), ("family", 3)):
        age(folder / name, seconds)
    shutil.copy(folder / "photo 1.png", folder / "winter")
    (folder / ".hidden.png").touch()
    (folder / "notes.txt").touch()
    return folder


@pytest.fixture
def picker(window, album, qtbot) -> PickerDialog:
    return opened(window, "open", album, qtbot)


def age(path: Path, seconds: int) -> None:
    """Set when a file or folder was last written."""
    moment = 1_000_000_000 + seconds
    os.utime(path, (moment, moment))


def opened(window, key: str, folder: Path, qtbot) -> PickerDialog:
    window.settings.update(open_folder=str(folder))
    window.actions_by_key[key].trigger()
    dialog = open_picker(window)
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0)
    with qtbot.waitActive(dialog):
        dialog.activateWindow()
    return dialog


def names(picker: PickerDialog) -> list[str]:
    return [entry.path.name for entry in picker.model.entries]


def chosen(picker: PickerDialog) -> list[str]:
    return [entry.path.name for entry in picker.chosen]


def answers_of(picker: PickerDialog) -> list[list[str]]:
    answers: list[list[str]] = []
    picker.filesSelected.connect(answers.append)
    return answers


def all_read(picker: PickerDialog, qtbot) -> None:
    def read() -> bool:
        shown = [entry for entry in picker.grid.in_view() if not entry.folder]
        return bool(shown) and all(picker.thumbnails.known(entry) for entry in shown)

    qtbot.waitUntil(read, timeout=LONG)


def test_folders_come_first_and_the_newest_before_the_others(picker):
    photos = [f"photo {number}.png" for number in range(12, 0, -1)]
    assert names(picker) == ["winter", "family", *photos]


def test_by_name_numbers_are_in_their_order(picker, qtbot):
    picker.order.setFocus()
    qtbot.keyClick(picker.order, Key.Key_Down)
    photos = [f"photo {number}.png" for number in range(1, 13)]
    assert names(picker) == ["family", "winter", *photos]


def test_pictures_and_first_frames_of_films_are_shown(picker, album, qtbot):
    write_video(album / "film.mp4")
    picker.go_to(album)
    qtbot.waitUntil(lambda: "film.mp4" in names(picker))
    all_read(picker, qtbot)
    film, photo = (
        picker.thumbnails.known(picker.model.entries[picker.model.row_of(album / name)])
        for name in ("film.mp4", "photo 12.png")
    )
    assert film.seconds > 0
    assert photo.pixmap.toImage().pixelColor(9, 9).getRgb()[:3] == (240, 90, 60)
    assert photo.pixmap.width() <= 2 * 144
    assert not film.pixmap.isNull()


def test_a_file_that_cannot_be_shown_says_why(picker, album, qtbot):
    (album / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    select(picker, qtbot, album / "broken.png")
    all_read(picker, qtbot)
    row = picker.model.row_of(album / "broken.png")
    fault = picker.thumbnails.known(picker.model.entries[row]).fault
    assert "broken.png" in fault
    assert picker.foot.details.text() == fault
    assert picker.model.index(row).data(Role.ToolTipRole) == f"broken.png\n{fault}"
    whole = picker.model.index(picker.model.row_of(album / "photo 12.png"))
    assert whole.data(Role.ToolTipRole) == "photo 12.png"


def test_tags_in_a_name_are_shown_in_its_tip(picker, album, qtbot):
    path = album / "<b>bold.png"
    Image.new("RGB", (4, 4)).save(path)
    select(picker, qtbot, path)
    tip = picker.model.index(picker.model.row_of(path)).data(Role.ToolTipRole)
    assert "&lt;b&gt;bold.png" in tip


def test_the_sizes_of_the_choice_are_told(picker, album, qtbot):
    select(picker, qtbot, album / "photo 3.png")
    all_read(picker, qtbot)
    size = (album / "photo 3.png").stat().st_size
    assert picker.foot.details.text() == f"320 x 240, {size / 1000:.1f} KB"
    select(picker, qtbot, album / "photo 3.png", album / "photo 5.png")
    assert picker.foot.details.text().startswith("2 files, ")


def test_of_many_files_only_the_visible_ones_are_read(window, tmp_path, qtbot):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5000):
        (folder / f"{number}.png").touch()
    picker = opened(window, "open", folder, qtbot)
    assert picker.model.rowCount() == 5000
    all_read(picker, qtbot)
    shown = len(picker.grid.in_view())
    assert 0 < shown < 60
    qtbot.waitUntil(lambda: picker.thumbnails.reading == 0)
    read = [entry for entry in picker.model.entries if picker.thumbnails.known(entry)]
    assert len(read) == shown
    for key in (Key.Key_Home, Key.Key_End):
        qtbot.keyClick(picker.grid, key)
    all_read(picker, qtbot)
    assert picker.thumbnails.known(picker.model.entries[-1])
    read = [entry for entry in picker.model.entries if picker.thumbnails.known(entry)]
    assert len(read) < 4 * shown


def test_a_closed_dialog_reads_no_more(picker, album, qtbot):
    for number in range(40):
        shutil.copy(album / "photo 1.png", album / f"copy {number}.png")
    picker.setDirectory(str(album))
    picker.reject()
    qtbot.waitUntil(lambda: picker.thumbnails.reading == 0)
    qtbot.wait(100)
    assert picker.thumbnails.reading == 0
    assert picker.model.rowCount() == 0


def test_return_opens_a_folder_and_backspace_leaves_it(picker, album, qtbot):
    select_row(picker, "winter")
    qtbot.keyClick(picker.grid, Key.Key_Return)
    assert picker.folder == album / "winter"
    qtbot.waitUntil(lambda: names(picker) == ["photo 1.png"])
    qtbot.keyClick(picker.grid, Key.Key_Backspace)
    assert picker.folder == album
    qtbot.waitUntil(lambda: chosen(picker) == ["winter"])
    QTest.keyClick(picker, Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert picker.folder == album.parent


def select_row(picker: PickerDialog, name: str) -> None:
    picker.grid.setCurrentIndex(picker.model.index(names(picker).index(name)))


def test_the_button_goes_into_a_folder_and_opens_a_file(picker, album, qtbot):
    answers = answers_of(picker)
    assert not picker.foot.open.isEnabled()
    select_row(picker, "winter")
    picker.foot.open.click()
    qtbot.waitUntil(lambda: names(picker) == ["photo 1.png"])
    assert answers == []
    select_row(picker, "photo 1.png")
    picker.foot.open.click()
    assert answers == [[str(album / "winter" / "photo 1.png")]]
    assert not picker.isVisible()


def test_several_files_are_opened_in_the_order_shown(picker, album, qtbot):
    answers = answers_of(picker)
    select(picker, qtbot, album / "photo 3.png", album / "photo 5.png")
    qtbot.keyClick(picker.grid, Key.Key_Return)
    assert answers == [[str(album / "photo 5.png"), str(album / "photo 3.png")]]


def test_a_dialog_for_one_file_selects_one(window, album, qtbot):
    window.settings.update(weights_folder=str(album))
    (album / "a.pth").touch()
    (album / "b.pth").touch()
    window.actions_by_key["install_style"].trigger()
    picker = open_picker(window)
    qtbot.waitUntil(lambda: {"a.pth", "b.pth"} <= set(names(picker)))
    qtbot.keyClick(picker.grid, Key.Key_A, CONTROL)
    assert len(picker.chosen) <= 1
    assert not any(name.endswith(".png") for name in names(picker))
    picker.reject()


def test_letters_filter_the_names_until_another_folder_is_shown(picker, album, qtbot):
    qtbot.keyClicks(picker.grid, "1")
    focused = picker.focusWidget()
    assert focused is picker.filter
    qtbot.keyClicks(picker.filter, "2")
    assert names(picker) == ["photo 12.png"]
    answers = answers_of(picker)
    qtbot.keyClick(picker.filter, Key.Key_Return)
    assert answers == [[str(album / "photo 12.png")]]
    picker.setDirectory(str(album))
    qtbot.waitUntil(lambda: len(names(picker)) == 14)


def test_the_down_key_goes_from_the_filter_to_the_files(picker, qtbot):
    picker.filter.setFocus()
    qtbot.keyClicks(picker.filter, "photo")
    qtbot.keyClick(picker.filter, Key.Key_Down)
    assert picker.focusWidget() is picker.grid
    assert chosen(picker) == ["photo 12.png"]


def test_escape_leaves_the_path_and_then_the_dialog(picker, qtbot):
    QTest.keyClick(picker, Key.Key_L, CONTROL)
    field = picker.path.field
    assert picker.focusWidget() is field
    qtbot.keyClick(field, Key.Key_Escape)
    assert picker.isVisible()
    assert picker.focusWidget() is picker.grid
    qtbot.keyClick(picker.grid, Key.Key_Escape)
    assert not picker.isVisible()


@pytest.mark.parametrize("text", ["{path}", "'{path}'", "file://{path}", "photo 7.png"])
def test_a_typed_path_is_shown(picker, album, qtbot, text):
    QTest.keyClick(picker, Key.Key_L, CONTROL)
    picker.path.field.setText(text.format(path=album / "photo 7.png"))
    qtbot.keyClick(picker.path.field, Key.Key_Return)
    qtbot.waitUntil(lambda: chosen(picker) == ["photo 7.png"])
    assert picker.isVisible()


def test_a_dropped_file_of_another_kind_is_shown_among_all_files(picker, album, qtbot):
    select(picker, qtbot, album / "notes.txt")
    assert picker.foot.endings == ("",)
    assert picker.foot.open.isEnabled()


def test_a_path_that_does_not_exist_is_a_fault_until_the_next_choice(picker, album, qtbot):
    QTest.keyClick(picker, Key.Key_L, CONTROL)
    picker.path.field.setText("/no/such/thing")
    qtbot.keyClick(picker.path.field, Key.Key_Return)
    qtbot.waitUntil(lambda: "/no/such/thing" in picker.foot.details.text())
    assert picker.folder == album
    select_row(picker, "photo 3.png")
    assert "/no/such/thing" not in picker.foot.details.text()


def test_a_folder_that_cannot_be_read_says_why(picker, tmp_path, qtbot):
    picker.go_to(tmp_path / "gone")
    qtbot.waitUntil(lambda: "'gone'" in picker.message.text())
    assert not picker.foot.open.isEnabled()


@pytest.mark.parametrize("dropped", ["photo 4.png", "winter"])
def test_a_drop_goes_there_and_takes_nothing_away(picker, album, tmp_path, qtbot, dropped):
    picker.go_to(tmp_path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(album / dropped))])
    both = Qt.DropAction.MoveAction | Qt.DropAction.CopyAction
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entered = QDragEnterEvent(QPoint(99, 99), both, data, left, plain)
    QApplication.sendEvent(picker, entered)
    assert entered.isAccepted()
    drop = QDropEvent(QPointF(99, 99), both, data, left, plain)
    QApplication.sendEvent(picker, drop)
    assert drop.dropAction() == Qt.DropAction.CopyAction
    if dropped == "winter":
        qtbot.waitUntil(lambda: picker.folder == album / "winter")
    else:
        qtbot.waitUntil(lambda: chosen(picker) == ["photo 4.png"])


def test_the_shown_folder_is_opened_unless_another_one_is_selected(window, album, qtbot):
    picker = opened(window, "open_folder", album, qtbot)
    answers = answers_of(picker)
    assert "notes.txt" not in names(picker)
    photo = picker.model.index(names(picker).index("photo 1.png"))
    assert not photo.flags() & Qt.ItemFlag.ItemIsSelectable
    assert tr("Folder: {name}", name="album") == picker.foot.details.text()
    assert picker.foot.open.text() == tr("&Use this folder")
    select_row(picker, "winter")
    assert tr("Folder: {name}", name="winter") == picker.foot.details.text()
    qtbot.keyClick(picker.grid, Key.Key_Return)
    assert answers == []
    assert picker.folder == album / "winter"
    qtbot.waitUntil(lambda: names(picker) == ["photo 1.png"])
    picker.foot.open.click()
    assert answers == [[str(album / "winter")]]


def new_folder(picker: PickerDialog) -> NewFolder:
    assert picker.new_folder is not None
    return picker.new_folder


def test_a_new_folder_is_made_shown_and_chosen(window, album, qtbot):
    picker = opened(window, "open_folder", album, qtbot)
    answers, new = answers_of(picker), new_folder(picker)
    new.button.click()
    assert new.name.hasFocus()
    assert new.name.selectedText() == new.name.text()
    QTest.keyClicks(new.name, "summer")
    QTest.keyClick(new.name, Key.Key_Return)
    qtbot.waitUntil(lambda: picker.folder == album / "summer")
    assert (album / "summer").is_dir()
    assert new.button.isVisible()
    picker.foot.open.click()
    assert answers == [[str(album / "summer")]]


def test_a_new_folder_that_is_left_is_not_made(window, album, qtbot):
    picker = opened(window, "open_folder", album, qtbot)
    before = set(album.iterdir())
    new = new_folder(picker)
    QTest.keySequence(picker, "Ctrl+Shift+N")
    qtbot.waitUntil(new.name.isVisible)
    QTest.keyClick(new.name, Key.Key_Escape)
    assert picker.isVisible()
    assert not new.name.isVisible()
    assert set(album.iterdir()) == before


@pytest.mark.parametrize("name", ["winter", "winter/b", "..", " ", "x" * 300])
def test_a_name_that_no_folder_can_have_is_refused_in_a_sentence(window, album, qtbot, name):
    picker = opened(window, "open_folder", album, qtbot)
    before, new = set(album.rglob("*")), new_folder(picker)
    new.button.click()
    new.name.setText(name)
    QTest.keyClick(new.name, Key.Key_Return)
    shown = printable(name.strip(), 80)
    qtbot.waitUntil(lambda: f"'{shown}'" in picker.foot.details.text())
    assert new.name.isVisible()
    assert set(album.rglob("*")) == before
    QTest.keyClick(new.name, Key.Key_Escape)
    assert picker.foot.details.text() == tr("Folder: {name}", name=album.name)


def test_only_a_dialog_for_folders_makes_folders(picker):
    assert picker.new_folder is None
    assert picker.foot.open.text() == tr("&Open")


def test_hidden_files_are_shown_on_request(picker):
    assert ".hidden.png" not in names(picker)
    QTest.keyClick(picker, Key.Key_H, CONTROL)
    assert ".hidden.png" in names(picker)
    QTest.keyClick(picker, Key.Key_H, CONTROL)
    assert ".hidden.png" not in names(picker)


def test_the_crumbs_lead_up_and_the_last_ones_are_shown(picker, tmp_path, qtbot):
    deep = tmp_path.joinpath(*(f"a rather long name {number}" for number in range(12)))
    deep.mkdir(parents=True)
    picker.go_to(deep)
    buttons = picker.path.crumbs.buttons
    assert buttons[-1].isVisible()
    assert not buttons[0].isVisible()
    assert buttons[-1].accessibleName() == deep.name
    room = picker.path.crumbs.width()
    assert all(each.geometry().right() <= room for each in buttons if each.isVisible())
    buttons[-2].setFocus()
    buttons[-2].click()
    assert picker.folder == deep.parent
    assert picker.focusWidget() is picker.grid


def test_what_was_opened_is_recent_unless_sources_are_forgotten(window, session, album, qtbot):
    picker = opened(window, "open", album, qtbot)
    with qtbot.waitSignal(session.source_changed, timeout=LONG):
        choose(picker, album / "photo 2.png", qtbot)
    picker = opened(window, "open", album, qtbot)
    with qtbot.waitSignal(session.source_changed, timeout=LONG):
        choose(picker, album / "photo 9.png", qtbot)
    window.actions_by_key["open"].trigger()
    recent: Place = picker.places.item(0).data(Role.UserRole)
    assert recent.folder is None
    QTest.mouseClick(
        picker.places.viewport(),
        Qt.MouseButton.LeftButton,
        pos=picker.places.visualItemRect(picker.places.item(0)).center(),
    )
    qtbot.waitUntil(lambda: names(picker) == ["photo 9.png", "photo 2.png"])
    picker.reject()
    assert window.settings.current().recent_files.count("\n") == 1
    window.settings.value = replace(window.settings.value, remember_source="never")
    assert window.settings.current().recent_files == ""


def test_a_place_is_marked_while_its_folder_is_shown(window, album, qtbot, monkeypatch):
    monkeypatch.setattr(
        "app.ui.picker.dialog.usual_places", lambda: [Place("Album", "photo", album)]
    )
    picker = opened(window, "open", album, qtbot)
    assert picker.places.currentRow() == 1
    picker.go_up()
    assert picker.places.currentRow() == -1
    picker.places.setCurrentRow(1)
    qtbot.keyClick(picker.places, Key.Key_Return)
    assert picker.folder == album
    assert picker.isVisible()


def test_a_tile_is_told_with_its_kind_and_its_size(picker, album, qtbot):
    all_read(picker, qtbot)
    cells = accessible(picker.grid)
    told = [cells.child(row).text(QAccessible.Text.Name) for row in range(cells.childCount())]
    assert told[0] == "winter, folder"
    assert told[2] == "photo 12.png, 320 x 240"


def test_the_icons_follow_the_theme(window, picker, qtbot):
    icons = picker.up.icon, picker.places.item(0).icon

    def ink(icon) -> int:
        image = icon().pixmap(20, 20).toImage()
        return max(
            image.pixelColor(x, y).lightness()
            for x in range(20)
            for y in range(20)
            if image.pixelColor(x, y).alpha() > 200
        )

    window.theme.choice = "dark"
    qtbot.waitUntil(lambda: all(ink(each) > 200 for each in icons))
    window.theme.choice = "light"
    qtbot.waitUntil(lambda: all(ink(each) < 60 for each in icons))


def test_qts_own_dialog_is_not_taken_for_the_systems(window):
    """Off screen and on a bare X server, there is no other dialog."""
    assert not is_native(QFileDialog(window))
    assert not system_has_dialogs()


@pytest.mark.parametrize(
    ("library", "has"),
    [
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", True),
        ("PySide6/Qt/plugins/platformthemes/libqxdgdesktopportal.so", True),
        ("qt6/plugins/platformthemes/KDEPlasmaPlatformTheme6.so", True),
        ("qt6/plugins/platformthemes/libqt6ct.so", False),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", False),
    ],
)
def test_a_theme_of_the_desktop_brings_a_dialog(library, has):
    line = "7f70a000-7f70b000 r-xp 00000000 fe:01 131 /usr/lib/{}\n"
    assert has_dialogs(line.format("libc.so.6") + line.format(library)) is has


def test_one_dialog_of_a_title_is_opened_again(window, album, qtbot):
    mode = QFileDialog.FileMode.ExistingFile
    asked: list[list[str]] = []
    first = window.file_dialogs.dialog(window, "Any title", OPEN_FILES, mode, asked.append, album)
    again = window.file_dialogs.dialog(window, "Any title", OPEN_FILES, mode, asked.append, album)
    assert again is first
    assert open_dialogs(window) == []
    assert asked == []


def test_qts_dialog_for_saving_has_icons_of_the_theme_and_one_primary_button(window):
    dialog = window.file_dialogs.saving(window, "Any title", SAVE_PICTURE, print)
    box = dialog.findChild(QDialogButtonBox)
    roles = {str(each.property("role")): each.icon().isNull() for each in box.buttons()}
    assert roles == {"primary": True, "None": True}
    up = dialog.findChild(QToolButton, "toParentButton")
    ink = up.icon().pixmap(20, 20).toImage().pixelColor(10, 10)
    assert abs(ink.lightness() - QColor(window.theme.tokens.text).lightness()) < 9
    splitter = dialog.findChild(QSplitter)
    assert splitter.sizes()[0] > splitter.sizes()[1] // 5
