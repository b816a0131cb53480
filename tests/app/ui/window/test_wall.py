"""The wall shows the newest source painted in every style; one painting grows."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.frame import SourceInfo
from app.live.previews.painter import Preview
from app.settings import Settings
from app.sources import SCENE, CameraName
from app.sources.scene import Scene
from app.ui.main_window import MainWindow
from app.ui.wall.first_source import first_source
from app.ui.wall.growing import GROW_MS
from app.ui.wall.page import TILES
from app.ui.wall.sources import NO_CAMERA
from app.ui.wall.tile import Tile
from tests.app.ui.window.conftest import KEYS, press
from tests.helpers.fakes import Negative, write_video
from tests.helpers.file_dialogs import open_picker
from tests.helpers.windows import show_window
from utils.images.writing import write_pixels
from utils.translation.texts import tr

CAMERA = CameraName(0, "HD Pro")
CYAN = "#00ffff"  # the negative of the picture


@pytest.fixture(autouse=True)
def no_camera(session, monkeypatch) -> None:
    monkeypatch.setattr(session, "cameras", lambda: None)


def colors(window) -> dict[str, str]:
    """Return the color of each painting on the page, by style."""
    return {
        tile.key: tile.painting.toImage().pixelColor(5, 5).name()
        for tile in window.wall.page.tiles
        if tile.key and not tile.painting.isNull()
    }


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


@pytest.fixture
def wall(window, picture, qtbot):
    """Return the window with a wall of finished paintings of the red picture."""
    window.wall.begin(str(picture))
    qtbot.waitUntil(lambda: colors(window) == dict.fromkeys(KEYS, CYAN), timeout=20_000)
    return window


@pytest.fixture
def bare(window, monkeypatch):
    """Return the window with a wall without a source."""
    monkeypatch.setattr(window.wall.sources, "open_first", lambda _spec: None)
    window.wall.begin("")
    return window


@pytest.fixture
def configs(monkeypatch) -> list:
    """Return the configs of all engines, from now on."""
    taken: list = []
    kept = Negative.configure
    monkeypatch.setattr(Negative, "configure", lambda e, c: (taken.append(c), kept(e, c)))
    return taken


def add_styles(session, count: int) -> None:
    built_in: Path = session.catalog.user.parent / "builtin"
    for number in range(count):
        shutil.copytree(built_in / "candy", built_in / f"style{number:02}")
    session.catalog.reload()
    session.styles_changed.emit()


# Painting


def test_the_newest_source_is_painted_in_every_style_and_the_rest_is_hidden(wall, picture):
    assert wall.session.spec == str(picture)
    hidden = (wall.toolbar, wall.status, wall.bottom_bars, wall.panel)
    assert [part.isVisible() for part in hidden] == [False] * len(hidden)
    assert picture.name in wall.wall.page.bar._source.text()


def test_the_paintings_are_of_the_fine_networks(window, configs, picture, qtbot):
    window.wall.begin(str(picture))
    qtbot.waitUntil(lambda: len(colors(window)) == len(KEYS), timeout=20_000)
    painted = [config for config in configs if config.size is not None]
    assert {config.style for config in painted} == set(KEYS)
    assert {config.network for config in painted} == {"full"}


def test_the_stream_is_not_styled_behind_the_wall(window, session, picture, qtbot):
    styled: list[object] = []
    session.styled.connect(styled.append)
    window.wall.begin(str(picture))
    qtbot.waitUntil(lambda: len(colors(window)) == len(KEYS), timeout=20_000)
    assert styled == []
    assert session.wall.shown


def test_a_tile_says_its_name_and_key_and_that_it_waits(bare):
    tile = bare.wall.page.tiles[0]
    assert (tile.accessibleName(), tile.toolTip()) == ("Candy, 1", "Paint with Candy (1)")
    assert tile.accessibleDescription()
    assert tile.hasFocus()


def test_a_tile_says_why_its_style_cannot_paint(wall, session):
    session.wall._take(Preview("mosaic", None, "its weights are damaged"))
    tile = wall.wall.page.tile_of("mosaic")
    assert "weights are damaged" in tile.toolTip()
    QTest.mouseClick(tile, Qt.MouseButton.LeftButton)
    assert wall.wall.shown


def test_a_moving_source_is_painted_again_and_again(bare, session, qtbot):
    painted: list[Preview] = []
    session.wall.painted.connect(painted.append)
    session.play(Scene(160, 90))
    qtbot.waitUntil(lambda: len(painted) > 3 * len(KEYS), timeout=20_000)


def test_a_wall_that_is_not_seen_paints_nothing(bare, session, qtbot):
    session.play(Scene(160, 90))
    qtbot.waitUntil(lambda: len(colors(bare)) == len(KEYS), timeout=20_000)
    with qtbot.waitSignal(session.styled, timeout=20_000):
        press(bare, "queue")
    painted: list[Preview] = []
    session.wall.painted.connect(painted.append)
    qtbot.wait(300)
    assert (painted, session.wall.shown) == ([], False)
    with qtbot.waitSignal(session.wall.painted, timeout=20_000):
        press(bare, "queue")


def test_a_film_waits_while_its_painting_is_chosen(window, session, tmp_path, qtbot):
    window.wall.begin(str(write_video(tmp_path / "film.mp4")))
    qtbot.waitUntil(lambda: len(colors(window)) == len(KEYS), timeout=20_000)
    assert session.paused
    with qtbot.waitSignal(session.styled, timeout=20_000):
        window.wall.choose_number(1)
    assert not session.paused


# Choosing


@pytest.mark.parametrize("way", ["click", "number", "arrows", "command"])
def test_a_painting_grows_to_the_whole_picture(wall, session, picture, qtbot, way):
    page = wall.wall.page
    with qtbot.waitSignal(session.styled, timeout=20_000):
        if way == "click":
            QTest.mouseClick(page.tiles[1], Qt.MouseButton.LeftButton)
        elif way == "number":
            QTest.keyClick(focused(), Qt.Key.Key_2)
        elif way == "arrows":
            QTest.keyClick(focused(), Qt.Key.Key_Right)
            QTest.keyClick(focused(), Qt.Key.Key_Return)
        else:
            wall.actions_by_key["style_2"].trigger()
        assert wall.wall.growing.growth.duration() == GROW_MS
    assert (session.config.styles, session.spec) == (("mosaic",), str(picture))
    assert wall.viewport.styled.config.style == "mosaic"
    assert wall.viewport.hasFocus()
    assert wall.toolbar.isVisible()
    assert not page.isVisible()
    qtbot.waitUntil(lambda: wall.wall.growing is None)


def test_nothing_grows_slowly_if_motion_is_reduced(wall, qtbot):
    wall.theme.reduce_motion = True
    qtbot.waitUntil(lambda: "growing" in wall.viewport.styleSheet())
    wall.wall.choose_number(1)
    assert wall.wall.growing.growth.duration() == 0


def test_escape_returns_to_the_wall_whose_paintings_are_still_there(wall, session, qtbot):
    with qtbot.waitSignal(session.styled, timeout=20_000):
        wall.wall.choose_number(1)
    press(wall, "back")
    assert wall.wall.page.isVisible()
    assert colors(wall) == dict.fromkeys(KEYS, CYAN)


def test_escape_leaves_full_screen_and_messages_before_the_picture(streaming, qtbot):
    press(streaming, "fullscreen")
    press(streaming, "back")
    assert not streaming.isFullScreen()
    streaming.notices.show_notice("Saved")
    press(streaming, "back")
    assert (streaming.notices.text, streaming.wall.shown) == ("", False)
    press(streaming, "back")
    assert streaming.wall.shown
    assert streaming.wall.page.isVisible()


def test_one_key_opens_the_wall_from_anywhere(streaming):
    press(streaming, "queue")
    press(streaming, "wall")
    assert streaming.wall.page.isVisible()


def test_the_same_key_and_a_button_lead_back_to_the_picture(streaming):
    press(streaming, "wall")
    press(streaming, "wall")
    assert not streaming.wall.shown
    press(streaming, "wall")
    button = streaming.wall.page.bar.back_button
    assert button.isVisible()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not streaming.wall.shown
    assert streaming.viewport.isVisible()


def test_the_first_wall_has_no_way_back(window):
    window.wall.begin("")
    assert window.wall.shown
    assert not window.wall.page.bar.back_button.isVisible()
    press(window, "wall")
    assert window.wall.shown


def test_a_recording_keeps_the_stream(wall, session, qtbot):
    session.hold(True)
    assert not wall.wall.shown
    press(wall, "wall")
    assert not wall.wall.shown
    assert wall.notices.text
    session.hold(False)
    press(wall, "wall")
    assert wall.wall.shown


@pytest.mark.parametrize("key", ["panel", "view_split", "search_styles"])
def test_what_shows_a_part_of_the_window_leaves_the_wall(wall, key):
    wall.actions_by_key[key].trigger()
    assert not wall.wall.shown
    assert wall.toolbar.isVisible()


def test_the_present_style_is_marked_and_the_keyboard_begins_there(wall, session):
    page = wall.wall.page
    session.config = session.config.mixed([("udnie", 1.0)])
    assert [tile.key for tile in page.tiles if tile.current] == ["udnie"]
    assert tr("The present style") in page.tile_of("udnie").accessibleDescription()
    page.focus_tile()
    assert focused() is page.tile_of("udnie")
    session.config = session.config.mixed([("udnie", 0.5), ("candy", 0.5)])
    assert not any(tile.current for tile in page.tiles)


def test_a_ring_has_the_accent_on_the_present_style_alone(wall, session):
    page = wall.wall.page
    session.config = session.config.mixed([("udnie", 1.0)])
    accent = page.palette().highlight().color()

    def ringed(tile: Tile) -> bool:
        image = tile.grab().toImage()
        return image.pixelColor(image.width() // 2, 1) == accent

    assert [tile.key for tile in page.tiles if tile.key and ringed(tile)] == ["udnie"]


def test_the_camera_is_recommended_until_something_else_is_open(window, session, picture, qtbot):
    camera = window.wall.page.sources.buttons["open_camera"]
    window.wall.begin("")
    qtbot.waitUntil(lambda: session.spec == SCENE and session.info is not None)
    assert camera.property("role") == "primary"
    session.open(str(picture))
    qtbot.waitUntil(lambda: not camera.property("role"))


# Pages


def test_more_styles_have_more_pages(wall, session, qtbot):
    page = wall.wall.page
    assert not page.bar.dots.isVisible()
    add_styles(session, 12)
    qtbot.waitUntil(lambda: page.pages == 2)
    assert page.keys == wall.gallery.keys[:TILES]
    first = page.tiles[0]
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_PageDown)
    assert page.keys == wall.gallery.keys[TILES:]
    qtbot.waitUntil(lambda: len(colors(wall)) == len(page.keys), timeout=20_000)
    assert page.bar.dots.accessibleName() == "Page 2 of 2"
    QTest.keyClick(focused(), Qt.Key.Key_PageUp)
    assert page.page == 0
    QTest.mouseClick(page.bar.dots, Qt.MouseButton.LeftButton)
    assert page.page == 1


def test_arrow_keys_go_from_tile_to_tile_and_to_the_next_page(wall, session, qtbot):
    page = wall.wall.page
    add_styles(session, 12)
    qtbot.waitUntil(lambda: page.pages == 2)
    page.tiles[0].setFocus()
    places = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Right):
        QTest.keyClick(focused(), key)
        tile = focused()
        assert isinstance(tile, Tile)
        places.append((page.page, tile.number))
    assert places == [(0, 4), (0, 5), (0, 9), (1, 1)]


# Cameras


class Scripted:
    def __init__(self, session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[object] = []
        monkeypatch.setattr(session, "open", self.opened.append)


@pytest.fixture
def script(session, monkeypatch) -> Scripted:
    return Scripted(session, monkeypatch)


@pytest.mark.parametrize("stored", ["", "camera:HD Pro", "rtsp://camera.local/stream", "scene"])
def test_the_wall_opens_no_camera_unasked(window, session, script, stored):
    window.wall.begin(stored)
    session.cameras_found.emit((CAMERA,))
    assert script.opened == ["scene"]
    assert window.questions.isVisible()


def test_a_folder_of_pictures_is_opened_again():
    assert first_source(["/a.png", "/b.png"]) == ["/a.png", "/b.png"]


def test_the_wall_asks_once_and_opens_the_camera_always_if_told(
    window, session, saved, script, qtbot
):
    window.wall.begin("")
    session.cameras_found.emit((CAMERA,))
    window.questions.accept.click()
    assert script.opened == ["scene", "camera:HD Pro"]
    window.close()
    assert saved[-1].wall_camera == "always"
    later = MainWindow(session, Settings(wall_camera="always"), saved.append)
    qtbot.addWidget(later)
    later.wall.begin("")
    session.cameras_found.emit((CAMERA,))
    assert script.opened[2:] == ["camera:HD Pro"]
    later.theme.choice = "system"


def test_an_allowed_camera_that_is_not_there_gives_way_to_the_picture(session, script, qtbot):
    window = MainWindow(session, Settings(wall_camera="always"), lambda _: None)
    qtbot.addWidget(window)
    window.wall.begin("/waves.png")
    assert script.opened == []
    session.cameras_found.emit(())
    assert script.opened == ["/waves.png"]
    window.theme.choice = "system"


def test_this_time_opens_the_camera_and_keeps_no_answer(window, session, saved, script):
    window.wall.begin("")
    session.cameras_found.emit((CAMERA,))
    window.questions.other.click()
    session.cameras_found.emit((CAMERA,))
    assert not window.questions.isVisible()
    window.close()
    assert script.opened == ["scene", "camera:HD Pro"]
    assert saved[-1].wall_camera == "ask"


def test_escape_opens_no_camera_and_the_next_start_asks_again(window, session, saved, script):
    window.wall.begin("")
    session.cameras_found.emit((CAMERA,))
    assert window.wall.page.isAncestorOf(focused()), "the question takes no key of the wall"
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Escape)
    assert not window.questions.isVisible()
    assert window.wall.shown
    window.close()
    assert script.opened == ["scene"]
    assert saved[-1].wall_camera == "ask"


def test_a_camera_that_is_open_already_is_not_asked_about(window, session, monkeypatch):
    monkeypatch.setattr(type(session), "spec", property(lambda _: "camera:HD Pro"))
    monkeypatch.setattr(type(session), "info", property(lambda _: SourceInfo("HD Pro", 8, 8)))
    window.wall.show()
    session.cameras_found.emit((CAMERA,))
    assert not window.questions.isVisible()


def test_no_is_an_answer_that_is_kept(window, session, saved, script):
    window.wall.begin("")
    session.cameras_found.emit((CAMERA,))
    window.questions.cancel.click()
    window.close()
    assert saved[-1].wall_camera == "never"
    assert script.opened == ["scene"]


def test_the_camera_button_opens_the_only_camera(window, session, script):
    window.wall.begin("")
    window.wall.page.sources.buttons["open_camera"].click()
    session.cameras_found.emit((CAMERA,))
    assert script.opened == ["scene", "camera:HD Pro"]


def test_the_camera_button_asks_which_of_several(window, session, script):
    window.wall.begin("")
    window.wall.page.sources.buttons["open_camera"].click()
    session.cameras_found.emit((CAMERA, CameraName(1, "Other")))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.actions()[1].trigger()
    menu.close()
    assert script.opened[1:] == ["camera:Other"]


def test_the_camera_button_says_that_there_is_no_camera(window, session, script):
    window.wall.begin("")
    window.wall.page.sources.buttons["open_camera"].click()
    session.cameras_found.emit(())
    assert window.notices.text == NO_CAMERA


def test_the_menu_changes_the_answer(window, saved):
    window.actions_by_key["wall_camera"].trigger()
    window.close()
    assert saved[-1].wall_camera == "always"
    assert window.actions_by_key["wall_camera"].isChecked()


# Other sources


def test_the_last_source_is_stored_only_if_the_user_allows_it(streaming, saved, picture):
    streaming.settings.save_now()
    assert saved[-1].source == str(picture)
    press(streaming, "remember_source")
    streaming.close()
    assert (saved[-1].remember_source, saved[-1].source) == ("never", "")


@pytest.mark.parametrize(
    ("key", "title"), [("open_photo", "Open photos"), ("open_film", "Open a film")]
)
def test_the_buttons_of_files_ask_for_their_kind(window, script, key, title):
    window.wall.begin("")
    window.wall.page.sources.buttons[key].click()
    dialog = open_picker(window)
    assert dialog.windowTitle() == title
    dialog.reject()


def test_what_is_dropped_on_the_wall_is_painted_there(wall, session, tmp_path, qtbot):
    blue = np.zeros((48, 64, 3), np.uint8)
    blue[..., 2] = 255
    write_pixels(tmp_path / "blue.png", blue)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "blue.png"))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0))
    page = wall.wall.page
    assert not page.tiles[0].acceptDrops(), "the drag reaches the window"
    QApplication.sendEvent(wall, QDragEnterEvent(QPoint(200, 200), *how))
    assert not page.isVisible(), "the picture says what dropping does"
    QApplication.sendEvent(wall, QDropEvent(QPointF(200, 200), *how))
    assert page.isVisible()
    qtbot.waitUntil(lambda: colors(wall) == dict.fromkeys(KEYS, "#ffff00"), timeout=20_000)


def test_a_picture_that_is_gone_gives_way_to_the_scene(window, session, tmp_path, qtbot):
    window.wall.begin(str(tmp_path / "gone.png"))
    qtbot.waitUntil(lambda: session.spec == "scene", timeout=20_000)
    assert window.wall.page.isVisible()


def test_the_menu_opens_at_the_button_of_the_wall(wall):
    wall.wall.page.bar.menu_button.click()
    menu = QApplication.activePopupWidget()
    assert menu is wall.toolbar.menu
    wall.toolbar.menu.close()


@pytest.mark.parametrize("size", [(900, 600), (1280, 800)])
def test_every_tile_and_button_is_on_the_screen(window, script, qtbot, size):
    window.wall.begin("")
    page = window.wall.page
    window.resize(*size)
    qtbot.waitUntil(lambda: page.size() == window.viewport.size())
    QTest.qWait(50)
    for part in (*page.tiles[: len(KEYS)], *page.sources.buttons.values(), page.bar.menu_button):
        corner = part.mapTo(page, part.rect().bottomRight())
        assert page.rect().contains(corner), part.accessibleName()


def test_the_wall_has_its_icons_in_the_colors_of_the_theme(session, qtbot):
    inks = []
    for theme in ("dark", "light"):
        window = MainWindow(session, Settings(theme=theme), lambda _: None)
        qtbot.addWidget(window)
        image = window.wall.page.bar.menu_button.icon().pixmap(24, 24).toImage()
        inks.append({image.pixelColor(12, y).name() for y in range(24)})
        window.theme.choice = "system"
    assert inks[0] != inks[1]


def test_a_window_that_was_given_a_source_does_not_show_the_wall(session, picture, qtbot):
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    show_window(window, qtbot)
    assert not window.wall.page.isVisible()
    window.theme.choice = "system"
