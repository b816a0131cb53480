"""File dialogs: their first folder, their filters, what they remember and suggest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QWidget

from app.errors import Problem
from app.settings import Settings
from app.ui.file_dialogs import OPEN_FILES, PICTURES, SAVE_PICTURE, suggested_name
from app.ui.main_window import MainWindow
from app.ui.picker import PickerDialog
from tests.app.ui.window.conftest import press
from tests.helpers.file_dialogs import choose, folder_of, open_dialogs, open_picker

PICKERS = {"open": "open_folder", "open_folder": "open_folder", "install_style": "weights_folder"}


def ask(window: MainWindow, key: str) -> QFileDialog | PickerDialog:
    window.actions_by_key[key].trigger()
    return asked(window)


def asked(window: QWidget) -> QFileDialog | PickerDialog:
    [dialog] = open_dialogs(window)
    return dialog


def ask_where_to_save(window: MainWindow) -> QFileDialog:
    dialog = ask(window, "save")
    assert isinstance(dialog, QFileDialog)
    return dialog


@pytest.fixture
def own_folders_of_the_system(tmp_path) -> Path:
    """Point the system's folders for pictures, videos and downloads to missing ones."""
    config = tmp_path / "config"
    config.mkdir()
    names = ("PICTURES", "VIDEOS", "DOWNLOAD")
    lines = (f'XDG_{name}_DIR="{tmp_path / "home" / name.title()}"\n' for name in names)
    (config / "user-dirs.dirs").write_text("".join(lines))
    return tmp_path / "home"


@pytest.mark.parametrize("key", ["open", "open_folder"])
def test_the_first_picker_begins_with_pictures_or_else_videos(
    window, own_folders_of_the_system, key
):
    places = own_folders_of_the_system
    (places / "Videos").mkdir(parents=True)
    dialog = ask(window, key)
    assert folder_of(dialog) == places / "Videos"
    dialog.reject()
    (places / "Pictures").mkdir()
    dialog = ask(window, key)
    assert folder_of(dialog) == places / "Pictures"
    dialog.reject()


def test_the_first_picker_of_styles_begins_with_downloads(window, own_folders_of_the_system):
    (own_folders_of_the_system / "Download").mkdir(parents=True)
    dialog = ask(window, "install_style")
    assert folder_of(dialog) == own_folders_of_the_system / "Download"
    dialog.reject()


def test_a_picker_begins_where_the_last_of_its_kind_ended(
    window, session, saved, picture, tmp_path, qtbot
):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "wave.pth").touch()
    dialog = ask(window, "open")
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        choose(dialog, picture, qtbot)
    choose(ask(window, "install_style"), tmp_path / "models" / "wave.pth", qtbot)
    qtbot.waitUntil(lambda: not open_dialogs(window))
    for key, folder in (("open", picture.parent), ("install_style", tmp_path / "models")):
        dialog = ask(window, key)
        assert folder_of(dialog) == folder
        dialog.reject()
    window.close()
    kept = saved[-1]
    assert kept.open_folder == str(picture.parent)
    assert kept.weights_folder == str(tmp_path / "models")


def test_a_chosen_folder_is_where_the_next_one_begins(window, session, picture, qtbot):
    picker = ask(window, "open_folder")
    assert isinstance(picker, PickerDialog)
    picker.go_to(picture.parent)
    qtbot.waitUntil(lambda: picker.folder == picture.parent and picker.foot.open.isEnabled())
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        picker.foot.open.click()
    assert folder_of(ask(window, "open_folder")) == picture.parent


def test_a_picker_that_was_open_is_opened_again_and_answers_once(window, session, picture, qtbot):
    """Destroying a dialog would block the window."""
    opened: list[object] = []
    session.source_changed.connect(opened.append)
    first = ask(window, "open")
    first.reject()
    second = ask(window, "open")
    assert second is first
    choose(second, picture, qtbot)
    qtbot.waitUntil(lambda: bool(opened))
    qtbot.wait(100)
    assert len(opened) == 1


def test_a_damaged_file_leaves_a_way_to_another(window, session, picture, tmp_path, qtbot):
    damaged = tmp_path / "corrupt.jpg"
    damaged.write_bytes(picture.read_bytes()[:100])
    session.open(str(damaged))
    qtbot.waitUntil(window.problems.another.isVisible)
    QTest.mouseClick(window.problems.another, Qt.MouseButton.LeftButton)
    assert not window.problems.isVisible()
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        choose(asked(window), picture, qtbot)
    session.problem.emit(Problem("Could not save it"))
    assert not window.problems.another.isVisible()


def test_the_folders_are_remembered_from_one_start_to_the_next(session, tmp_path, qtbot):
    for name in ("films", "models", "results"):
        (tmp_path / name).mkdir()
    kept = Settings(
        open_folder=str(tmp_path / "films"),
        weights_folder=str(tmp_path / "models"),
        save_folder=str(tmp_path / "gone"),
    )
    window = MainWindow(session, kept, lambda _: None)
    qtbot.addWidget(window)
    window.show()
    for key, field in PICKERS.items():
        dialog = ask(window, key)
        assert str(folder_of(dialog)) == getattr(kept, field)
        dialog.reject()


def test_pickers_show_what_can_be_opened(window):
    shown = {}
    for key in PICKERS:
        dialog = ask(window, key)
        assert isinstance(dialog, PickerDialog)
        shown[key] = dialog.foot.offered
        titles = [title for title, _ in dialog.foot.offered]
        assert [dialog.foot.kinds.itemText(row) for row in range(len(titles))] == titles
        dialog.reject()
    titles = [title for title, _ in shown["open"]]
    assert titles == ["Pictures and videos", "Pictures", "Videos", "All files"]
    both, pictures, videos, _ = (set(endings) for _, endings in shown["open"])
    assert both == pictures | videos
    assert {".jpg", ".png", ".heic"} <= pictures
    assert {".mp4", ".mov"} <= videos
    assert shown["install_style"][0][1] == (".styleforge", ".pth", ".pt", ".safetensors")


def test_every_picture_shown_by_a_picker_is_one_that_can_be_read():
    Image.init()
    optional = {".heic", ".heif"}  # for these, a sentence names what to install
    assert set(PICTURES) - optional <= Image.registered_extensions().keys()


def test_the_studio_asks_where_its_files_were_found_last(window, tmp_path, qtbot):
    (tmp_path / "art").mkdir()
    window.settings.update(open_folder=str(tmp_path / "art"))
    press(window, "train")
    form = window.training_launcher.window.form
    form.picture.click()
    assert folder_of(asked(form)) == tmp_path / "art"
    assert open_picker(form).foot.offered[0] == ("Pictures", PICTURES)
    asked(form).reject()
    qtbot.waitUntil(lambda: not open_dialogs(form))
    form.choose_folder.click()
    assert folder_of(asked(form)) == tmp_path / "art"
    asked(form).reject()
    window.training_launcher.close()


def test_save_as_suggests_the_sources_name_with_the_style(streaming, session, tmp_path, qtbot):
    dialog = ask_where_to_save(streaming)
    assert [Path(name).name for name in dialog.selectedFiles()] == ["waves, Candy.png"]
    choose(dialog, tmp_path / "results.png", qtbot)
    qtbot.waitUntil(lambda: streaming.saved_card.text.startswith("Saved "), timeout=5000)
    assert (tmp_path / "results.png").is_file()
    styled = streaming.viewport.styled
    running = replace(styled.running, style="Candy 60 %, Udnie 40 %")
    streaming.viewport.show_styled(replace(styled, running=running))
    dialog = ask_where_to_save(streaming)
    assert folder_of(dialog) == tmp_path
    assert Path(dialog.selectedFiles()[0]).name == "waves, Candy 60 %, Udnie 40 %.png"
    dialog.reject()


@pytest.mark.parametrize(
    ("source", "style", "name"),
    [
        ("holiday.JPG", "Candy", "holiday, Candy.png"),
        ("Animated scene", "Candy", "Animated scene, Candy.png"),
        ("Cam 2.0", "Candy", "Cam 2.0, Candy.png"),
        ("http://10.0.0.5:8080/a?b", "Candy", "http_10.0.0.5_8080_a_b, Candy.png"),
        ("a\nb.png", 'The "Wave"', "a_b, The _Wave_.png"),
        ("", "Candy", "Candy.png"),
        ("", "CON", "_CON.png"),
    ],
)
def test_suggested_names_can_be_used_on_every_system(source, style, name):
    assert suggested_name(source, style) == name


def test_a_suggested_name_is_never_too_long():
    assert len(suggested_name("x" * 300 + ".png", "y" * 300)) <= 250


def test_qts_own_file_dialog_leads_to_pictures_and_videos(window, tmp_path, monkeypatch):
    place = QStandardPaths.StandardLocation
    names = {place.PicturesLocation: "Pictures", place.MoviesLocation: "Videos"}
    for name in names.values():
        (tmp_path / name).mkdir()
    monkeypatch.setattr(
        QStandardPaths,
        "standardLocations",
        lambda each: [str(tmp_path / names[each])] if each in names else [],
    )
    dialog = window.file_dialogs.saving(window, "Any title", SAVE_PICTURE, print)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    dialog.show()
    assert [Path(url.toLocalFile()).name for url in dialog.sidebarUrls()] == ["Pictures", "Videos"]
    dialog.close()


def test_where_the_system_has_dialogs_they_are_used(window, monkeypatch):
    monkeypatch.setattr("app.ui.file_dialogs.is_native", lambda dialog: True)
    window.file_dialogs.of_the_system = True
    mode = QFileDialog.FileMode.ExistingFiles
    dialog = window.file_dialogs.dialog(window, "Any title", OPEN_FILES, mode, print)
    assert isinstance(dialog, QFileDialog)
    assert dialog.fileMode() == mode
    assert dialog.nameFilters()[0].startswith("Pictures and videos (*.png ")


def test_a_theme_whose_portal_does_not_run_leads_to_the_picker(window):
    window.file_dialogs.of_the_system = True
    mode = QFileDialog.FileMode.ExistingFiles
    dialog = window.file_dialogs.dialog(window, "Any title", OPEN_FILES, mode, print)
    assert isinstance(dialog, PickerDialog)
    assert window.file_dialogs.of_the_system is False
