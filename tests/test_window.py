"""The window on a real session: keys, names, views, drops, messages, what it remembers."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QImage,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QWidget,
)

from app.frames import Frame, SourceInfo
from app.problems import Problem
from app.session import Session
from app.settings import Settings
from app.sources import CameraName
from app.styled import Comparison, EngineConfig, Pace, Running, Styled, Timings
from app.styles import Library
from app.ui.actions import ACTIONS
from app.ui.beginning import Beginning
from app.ui.gui import NO_DISPLAY, run
from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from models.precision import Precision
from models.transformer_net import VARIANTS
from utils.image_utils import load_image, read_metadata, save_image
from utils.opencv import cv2

KEYS = ("candy", "mosaic", "udnie")


class Negative:
    """An engine without a network: gives the negative of a frame, in every config."""

    def __init__(self) -> None:
        self.config: EngineConfig | None = None

    def configure(self, config: EngineConfig) -> None:
        self.config = config

    def process(self, frame: Frame, **_: object) -> Styled:
        config = self.config
        assert config is not None
        negative = replace(frame, pixels=255 - frame.pixels)
        comparison = Comparison(
            negative, negative, "Fused", Pace(80.0, 90.0), Pace(50.0, 60.0),
            0.01, 90.0, "largest 0.5", True, 9,
        )  # fmt: skip
        return Styled(
            negative,
            frame,
            config,
            Timings(1.0, 1.0, 5.0, 1.0),
            (48, 32),
            Running(
                VARIANTS[config.kernels].title,
                config.precision,
                "CPU",
                ("no CUDA device",),
                config.style.title(),
            ),
            comparison if config.compare else None,
        )

    def lag(self, overhead_ms: float) -> None:
        pass

    def forget(self, key: str) -> None:
        pass

    def cut(self) -> None:
        pass

    def remeasure(self) -> None:
        pass


@pytest.fixture
def session(qtbot, tmp_path):
    for key in KEYS:
        pack = tmp_path / "builtin" / key
        pack.mkdir(parents=True)
        (pack / "weights.safetensors").touch()
        title = json.dumps(key.title())
        (pack / "style.toml").write_text(f'title = {title}\nweights = "weights.safetensors"\n')
    library = Library(tmp_path / "builtin", tmp_path / "user")
    session = Session(library, EngineConfig(device="cpu"), engine=Negative())  # type: ignore[arg-type]
    yield session
    session.shutdown()


@pytest.fixture
def saved() -> list[Settings]:
    return []


@pytest.fixture
def window(session, saved, qtbot):
    window = MainWindow(session, Settings(), saved.append)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    yield window
    window.theme.choice = "system"


@pytest.fixture
def picture(tmp_path) -> Path:
    path = tmp_path / "waves.png"
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[..., 0] = 255
    save_image(path, pixels)
    return path


@pytest.fixture
def streaming(window, session, picture, qtbot):
    """The window with a picture open and styled."""
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    qtbot.waitUntil(lambda: window.viewport.styled is not None)
    return window


def press(window: MainWindow, key: str) -> None:
    """The first key of an action, sent to the picture."""
    window.viewport.setFocus()
    QTest.keySequence(window, window.actions_by_key[key].shortcut())


def controls(window: QWidget) -> list[QWidget]:
    """Everything the user can operate."""
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QLineEdit, QAbstractItemView)
    found = [w for kind in kinds for w in window.findChildren(kind)]
    return [w for w in found if w.focusPolicy() != Qt.FocusPolicy.NoFocus and _is_ours(w)]


def _is_ours(widget: QWidget) -> bool:
    """False for what Qt puts inside a drop-down."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QComboBox):
            return False
        parent = parent.parentWidget()
    return True


# Names and keys


def test_every_control_has_an_accessible_name_and_a_tooltip(window, picture):
    window._offer_style(picture)
    window.panel.ask_address()
    found = controls(window)
    assert len(found) > 20
    nameless = [w for w in found if not w.accessibleName()]
    silent = [w for w in found if not w.toolTip()]
    assert (nameless, silent) == ([], [])
    assert window.viewport.accessibleName()


def test_tab_reaches_every_control_on_screen(streaming, qtbot):
    window = streaming
    window.problems.add(Problem("a"))
    window.notices.show_notice("b")
    window.transport.show_source(SourceInfo("film", 8, 8, 25.0, 9.0))
    wanted = {w for w in controls(window) if w.isVisible() and w.isEnabled()} | {window.viewport}
    window.viewport.setFocus()
    reached: set[QWidget] = set()
    for _ in range(3 * len(wanted)):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert wanted <= reached


def test_every_label_of_the_panel_leads_to_its_control(window):
    buddies = {label.buddy() for label in window.panel.findChildren(QLabel)}
    panel = window.panel
    assert {
        panel.source,
        panel.strength,
        panel.mix,
        panel.mix_amount,
        panel.network_size,
        panel.strokes,
        panel.smoothing,
        panel.network,
        panel.precision,
        panel.kernels,
        panel.device,
    } <= buddies


def test_no_two_mnemonics_of_the_panel_are_the_same(window):
    texts = [w.text() for w in window.panel.findChildren(QLabel)]
    texts += [w.text() for w in window.panel.findChildren(QAbstractButton)]
    letters = [t[t.index("&") + 1].lower() for t in texts if "&" in t]
    assert len(letters) == len(set(letters)) == 14


def test_every_action_is_in_the_menu(window):
    inside = {a for menu in window.toolbar.menu.actions() for a in menu.menu().actions()}
    missing = {entry.key for entry in ACTIONS if window.actions_by_key[entry.key] not in inside}
    assert missing == {"menu"}


def test_space_on_a_focused_button_presses_the_button(streaming, session):
    button = streaming.toolbar.findChild(QWidget, "segments").findChildren(QAbstractButton)[1]
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert streaming.viewport.view == "split"
    assert not session.paused


def test_letters_typed_into_a_field_are_no_shortcuts(streaming, session):
    streaming.panel.ask_address()
    QTest.keyClicks(streaming.panel.address, "nsc 1")
    assert streaming.panel.address.text() == "nsc 1"
    assert streaming.viewport.view == "styled"
    assert not session.paused


def test_keys_choose_styles(streaming, session):
    press(streaming, "style_3")
    assert session.config.style == "udnie"
    press(streaming, "next_style")
    assert session.config.style == "candy"
    press(streaming, "previous_style")
    assert session.config.style == "udnie"
    press(streaming, "style_9")
    assert session.config.style == "udnie"
    assert streaming.gallery.view.currentIndex().data() == "Udnie"


def test_space_pauses_and_goes_on(streaming, session):
    press(streaming, "pause")
    assert session.paused
    press(streaming, "pause")
    assert not session.paused
    assert not streaming.actions_by_key["pause"].isChecked()


def test_full_screen_shows_the_picture_alone_and_escape_leaves_it(streaming):
    press(streaming, "fullscreen")
    assert streaming.isFullScreen()
    chrome = (streaming.toolbar, streaming.panel, streaming.status, streaming.gallery)
    assert not any(part.isVisible() for part in chrome)
    press(streaming, "back")
    assert not streaming.isFullScreen()
    assert all(part.isVisible() for part in chrome)


def test_the_help_opens_beside_the_stream(streaming):
    press(streaming, "help")
    assert streaming._help.isVisible()
    assert not streaming._help.isModal()


# Views


def test_keys_change_the_view(streaming, session, qtbot):
    press(streaming, "view_split")
    assert streaming.viewport.view == "split"
    press(streaming, "compare")
    assert session.config.compare
    qtbot.waitUntil(lambda: streaming.viewport.styled.comparison is not None)
    press(streaming, "compare")
    assert streaming.viewport.view == "split"
    assert not session.config.compare
    press(streaming, "cycle_view")
    press(streaming, "cycle_view")
    assert streaming.viewport.view == "styled"
    assert streaming.actions_by_key["view_styled"].isChecked()


def test_a_config_without_comparison_leaves_the_compare_view(streaming, session):
    streaming.set_view("compare")
    session.config = replace(session.config, compare=False)
    assert streaming.viewport.view == "styled"


def test_in_the_split_view_arrow_keys_move_the_divider_first(streaming):
    press(streaming, "view_split")
    QTest.keyClick(streaming.viewport, Qt.Key.Key_Left)
    assert streaming.viewport.split == pytest.approx(0.48)


def test_the_overlay_leaves_a_comparison_free(streaming, qtbot):
    streaming.resize(streaming.minimumSizeHint())
    streaming.set_view("compare")
    qtbot.waitUntil(lambda: streaming.viewport.styled.comparison is not None)
    qtbot.waitUntil(lambda: streaming.viewport._headroom > 0)
    overlay = streaming.overlay.geometry()
    assert streaming.viewport.rect().contains(overlay)
    assert streaming.viewport._headroom >= overlay.bottom()
    assert overlay.bottom() < streaming.viewport.height() / 2
    press(streaming, "overlay")
    assert streaming.viewport._headroom == 0


def test_the_overlay_toggles(streaming):
    assert streaming.overlay.isVisible()
    press(streaming, "overlay")
    assert not streaming.overlay.isVisible()


def test_the_status_line_says_what_runs_where(streaming):
    assert streaming.status.running.text() == "Fused, FP32, CPU: no CUDA device"
    assert "64x48" in streaming.status.source.text()


def test_each_picture_is_reported_as_shown(streaming, session, qtbot):
    qtbot.waitUntil(lambda: session.meter.reading(time.perf_counter()).paint_ms > 0)


# The panel


def test_the_panel_writes_the_config(window, session):
    panel = window.panel
    panel.strength.setValue(40)
    panel.keep_colors.setFocus()
    QTest.keyClick(panel.keep_colors, Qt.Key.Key_Space)
    QTest.keyClick(panel.precision, Qt.Key.Key_Down)
    QTest.keyClick(panel.kernels, Qt.Key.Key_Home)
    QTest.keyClick(panel.network_size, Qt.Key.Key_Down)
    QTest.keyClick(panel.strokes, Qt.Key.Key_Home)
    QTest.keyClick(panel.network, Qt.Key.Key_End)
    panel.sharpen.setFocus()
    QTest.keyClick(panel.sharpen, Qt.Key.Key_Space)
    panel.smoothing.setValue(30)
    config = session.config
    assert (config.strokes, config.network) == ("fine", "lite")
    assert (config.upsampling, config.smoothing) == ("smooth", 0.3)
    assert panel.smoothing_percent.text() == "30 %"
    assert config.strength == 0.4
    assert config.keep_colors
    assert config.precision is list(Precision)[1]
    assert config.kernels == next(iter(VARIANTS))
    assert config.size == 128
    assert panel.percent.text() == "40 %"


def test_the_panel_follows_the_config_silently(window, session, qtbot):
    wanted = replace(session.config, strength=0.25, precision=Precision.bf16, size=512)
    seen: list[EngineConfig] = []
    session.config_changed.connect(seen.append)
    session.config = wanted
    qtbot.wait(20)
    assert seen == [wanted]
    panel = window.panel
    assert panel.strength.value() == 25
    assert panel.precision.currentText() == "BF16"
    assert panel.network_size.currentText() == "512 px"


def test_a_second_style_is_mixed_in_from_the_panel(window, session):
    panel = window.panel
    assert [panel.mix.itemText(n) for n in range(panel.mix.count())] == [
        "Nothing",
        "Mosaic",
        "Udnie",
    ]
    assert not panel.mix_amount.isEnabled()
    QTest.keyClick(panel.mix, Qt.Key.Key_End)
    panel.mix_amount.setValue(40)
    assert (session.config.mix, session.config.mix_amount) == ("udnie", 0.4)
    assert panel.mix_percent.text() == "40 %"
    assert panel.mix_amount.isEnabled()
    QTest.keyClick(panel.mix, Qt.Key.Key_Home)
    assert session.config.mix is None


def test_the_first_style_is_not_offered_as_the_second(window, session):
    session.config = replace(session.config, style="udnie")
    titles = [window.panel.mix.itemText(n) for n in range(window.panel.mix.count())]
    assert titles == ["Nothing", "Candy", "Mosaic"]


def test_a_key_mixes_and_stops_and_mixes_with_the_same_again(window, session):
    press(window, "mix")
    assert session.config.mix == "mosaic"
    press(window, "mix_next")
    assert session.config.mix == "udnie"
    press(window, "mix")
    assert session.config.mix is None
    press(window, "mix")
    assert session.config.mix == "udnie"
    press(window, "mix_next")
    assert session.config.mix == "mosaic"


def test_shift_click_mixes_a_style_in_and_takes_it_out(window, session, qtbot):
    view = window.gallery.view
    place = view.visualRect(window.gallery.model.index(1)).center()
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, shift, place)
    assert (session.config.style, session.config.mix) == ("candy", "mosaic")
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, shift, place)
    assert session.config.mix is None


def test_the_second_style_chosen_as_the_first_is_used_alone(window, session):
    session.config = replace(session.config, mix="udnie", mix_amount=0.3)
    press(window, "style_3")
    assert (session.config.style, session.config.mix) == ("udnie", None)


def test_a_mix_is_named_on_the_picture_and_in_the_gallery(window, session):
    session.config = replace(session.config, mix="udnie", mix_amount=0.4)
    assert window.mixer.words() == "Candy 60 %, Udnie 40 %"
    model = window.gallery.model
    said = model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "Udnie, key 3, 40 % of the mix"
    session.config = replace(session.config, mix=None)
    assert model.index(2).data(Qt.ItemDataRole.AccessibleTextRole) == "Udnie, key 3"


def test_the_menu_of_a_style_offers_to_mix_it(window, session):
    actions = {a.text(): a for a in window.gallery.menu_of("udnie").actions()}
    actions["&Mix with this style"].trigger()
    assert session.config.mix == "udnie"
    actions = {a.text(): a for a in window.gallery.menu_of("udnie").actions()}
    actions["Stop &mixing"].trigger()
    assert session.config.mix is None
    alone = {a.text(): a.isEnabled() for a in window.gallery.menu_of("candy").actions()}
    assert alone == {"&Use this style": False, "&Mix with this style": False}


def test_the_panel_says_when_automatic_is_lite(streaming, session):
    styled = streaming.viewport.styled
    lite = replace(styled, running=replace(styled.running, lite=True))
    session.styled.emit(lite)
    assert streaming.panel.network_remark.text() == "Lite now"
    session.styled.emit(styled)
    assert streaming.panel.network_remark.text() == ""


def test_the_automatic_size_names_what_it_is_now(streaming):
    assert streaming.panel.network_size.currentText() == "Automatic, 48x32"


def test_devices_and_remarks_are_filled_in(window, qtbot):
    qtbot.waitUntil(lambda: window.panel.device.count() >= 2)
    qtbot.waitUntil(lambda: window.panel.kernels_remark.text() != "")
    assert window.panel.device.currentText() == "Automatic" or window.session.config.device == "cpu"


def test_cameras_are_listed_by_name(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    session.cameras_found.emit((CameraName(2, "HD Pro"),))
    titles = [window.panel.source.itemText(n) for n in range(window.panel.source.count())]
    assert titles[0] == "HD Pro"
    assert "Animated scene" in titles
    window.opener.pick(window.panel.source.itemData(0))
    assert opened == ["camera:HD Pro"]


def test_the_address_field_opens_an_address(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    window.panel.address_entered.disconnect()
    window.panel.address_entered.connect(session.open)
    press(window, "address")
    QTest.keyClicks(window.panel.address, "http://cam/video")
    QTest.keyClick(window.panel.address, Qt.Key.Key_Return)
    assert opened == ["http://cam/video"]


def test_an_address_without_its_scheme_is_http(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    window.panel.address_entered.emit("192.168.1.5/video")
    assert opened == ["http://192.168.1.5/video"]


def test_escape_leaves_the_address_field(window):
    press(window, "address")
    assert window.panel.address.hasFocus()
    QTest.keyClick(window.panel.address, Qt.Key.Key_Escape)
    assert window.viewport.hasFocus()


def test_once_an_address_is_open_letters_are_keys_again(streaming, session, picture, qtbot):
    press(streaming, "address")
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open([str(picture)])
    assert streaming.viewport.hasFocus()


def test_the_wheel_over_the_panel_changes_nothing(window, session):
    before = session.config
    for control in (window.panel.strength, window.panel.precision):
        turn = QWheelEvent(
            QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(control, turn)
    assert session.config == before


def test_a_size_set_by_hand_is_shown(session, qtbot):
    session.config = replace(session.config, size=500)
    window = MainWindow(session, Settings(size=500), lambda _: None)
    qtbot.addWidget(window)
    assert window.panel.network_size.currentText() == "500 px"


def test_the_sources_menu_marks_what_is_open(streaming):
    streaming.sources_menu.aboutToShow.emit()
    checked = [a.text() for a in streaming.sources_menu.actions() if a.isChecked()]
    assert checked == [streaming.session.info.title]


# Drop and paste


def drop(window: MainWindow, data: QMimeData) -> None:
    drag(window, data)
    QApplication.sendEvent(window, QDropEvent(*_at(data)))


def drag(window: MainWindow, data: QMimeData) -> None:
    place, *rest = _at(data)
    QApplication.sendEvent(window, QDragEnterEvent(place.toPoint(), *rest))


def _at(data: QMimeData) -> tuple:
    left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    return QPointF(200, 200), Qt.DropAction.CopyAction, data, left, plain


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def test_a_dropped_picture_opens(window, session, picture, qtbot):
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        drop(window, files(picture))
    assert "waves" in window.windowTitle()


def test_dropped_pictures_make_a_strip_to_step_through(window, session, picture, tmp_path, qtbot):
    second = tmp_path / "second.png"
    save_image(second, np.zeros((48, 64, 3), np.uint8))
    with qtbot.waitSignal(session.styled, timeout=5000):
        drop(window, files(picture, second))
    qtbot.waitUntil(window.transport.isVisible)
    press(window, "next")
    qtbot.waitUntil(lambda: session.position == 1.0)


def test_a_dropped_document_is_refused_with_a_reason(window):
    drop(window, files(Path("/x/letter.pdf")))
    [problem] = window.problems.problems
    assert problem.summary.startswith("'letter.pdf' cannot be opened. Pictures,")
    assert window.viewport._offer is None


def test_a_drag_that_leaves_takes_its_words_along(window):
    drag(window, files(Path("/x/a.png")))
    assert window.viewport._offer[0] == "Drop to open"
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert window.viewport._offer is None


def test_dropped_weights_ask_for_a_title_and_install(window, session, monkeypatch):
    installed: list[tuple[Path, str]] = []
    monkeypatch.setattr(session, "install_style", lambda *args: installed.append(args))
    drop(window, files(Path("/x/deep_sea.pth")))
    assert window.questions.field.text() == "Deep Sea"
    QTest.keyClick(window.questions.field, Qt.Key.Key_Return)
    assert installed == [(Path("/x/deep_sea.pth"), "Deep Sea")]
    assert not window.questions.isVisible()


def test_a_copied_picture_is_pasted(window, session, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    QGuiApplication.clipboard().setImage(image)
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        press(window, "paste")
    assert (session.info.width, session.info.height) == (40, 30)


def test_pasting_nothing_says_so(window):
    QGuiApplication.clipboard().clear()
    press(window, "paste")
    [problem] = window.problems.problems
    assert "nothing on the clipboard" in problem.summary


# Out of the window


def test_copy_gives_the_styled_picture(streaming):
    press(streaming, "copy")
    image = QGuiApplication.clipboard().image()
    assert (image.width(), image.height()) == (64, 48)
    assert image.pixelColor(5, 5) == QColor(0, 255, 255)


def test_a_snapshot_is_saved_at_once_and_says_where(streaming, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(streaming.exporter, "_folder", lambda: tmp_path / "shots")
    press(streaming, "snapshot")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    [path] = (tmp_path / "shots").iterdir()
    assert str(path) in streaming.notices.text
    assert read_metadata(path)["Style"] == "Candy"


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp"])
def test_saving_keeps_the_picture_and_how_it_was_made(streaming, tmp_path, qtbot, name):
    path = tmp_path / name
    streaming.exporter.save(streaming.viewport.styled, path)
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    assert np.abs(load_image(path).astype(int) - [0, 255, 255]).max() <= 4
    assert read_metadata(path)["Precision"] == "FP32"


def test_there_is_nothing_to_save_before_the_first_picture(window):
    press(window, "snapshot")
    assert window.notices.text == "There is no picture yet"


def test_a_folder_that_cannot_be_written_is_a_problem(streaming, tmp_path, qtbot):
    (tmp_path / "file").touch()
    streaming.exporter.save(streaming.viewport.styled, tmp_path / "file" / "a.png")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=5000)
    assert "a.png" in streaming.problems.problems[0].summary


def test_a_recording_begins_and_ends_with_a_key(streaming, session, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "films")
    press(streaming, "record")
    assert streaming.actions_by_key["record"].isChecked()
    assert streaming.notices.text.startswith("Recording to ")
    press(streaming, "record")
    qtbot.waitUntil(lambda: streaming.notices.text.startswith("Saved "), timeout=5000)
    assert not streaming.actions_by_key["record"].isChecked()
    [path] = (tmp_path / "films").iterdir()
    assert cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT) >= 1


def test_closing_the_window_completes_a_recording(streaming, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "films")
    press(streaming, "record")
    streaming.close()
    [path] = (tmp_path / "films").iterdir()
    assert path.suffix == ".mp4"
    assert cv2.VideoCapture(str(path)).isOpened()


def test_a_recording_that_fails_is_a_problem_and_ends(streaming, tmp_path, monkeypatch, qtbot):
    (tmp_path / "file").touch()
    monkeypatch.setattr(streaming.exporter, "_films_folder", lambda: tmp_path / "file")
    press(streaming, "record")
    press(streaming, "record")
    qtbot.waitUntil(lambda: bool(streaming.problems.problems), timeout=5000)
    assert "could not be written" in streaming.problems.problems[0].summary
    assert not streaming.actions_by_key["record"].isChecked()


def test_there_is_nothing_to_record_before_the_first_picture(window):
    press(window, "record")
    assert window.notices.text == "There is no picture yet"
    assert not window.actions_by_key["record"].isChecked()


# Messages


def test_very_long_words_do_not_widen_the_window(streaming):
    before = streaming.minimumSizeHint().width()
    streaming.problems.add(Problem(f"Could not open '{'z' * 250}.png'"))
    streaming.notices.show_notice("n" * 300)
    streaming._offer_style(Path(f"/x/{'y' * 240}.pth"))
    assert streaming.minimumSizeHint().width() == before


def test_problems_come_in_the_bar_and_escape_dismisses_them(window, session):
    session.problem.emit(Problem("one", "trace"))
    session.problem.emit(Problem("two"))
    assert window.problems.isVisible()
    press(window, "copy_details")
    assert "trace" in QGuiApplication.clipboard().text()
    press(window, "back")
    press(window, "back")
    assert not window.problems.isVisible()


def test_a_source_that_is_away_is_said_until_it_is_back(window, session):
    session.source_status.emit("The camera was unplugged; waiting for it to come back.")
    assert window.notices.isVisible()
    session.source_status.emit("")
    assert not window.notices.isVisible()


def test_opening_is_announced_in_the_viewport(window, session):
    session.opening_changed.emit("Opening camera...")
    assert window.viewport.accessibleDescription() == "Opening camera..."
    session.opening_changed.emit("")
    assert window.viewport.accessibleDescription().startswith("Drop a picture")


def test_a_style_that_takes_long_is_announced(streaming, session, monkeypatch, qtbot):
    monkeypatch.setattr(session, "_configure", type("Never", (), {"emit": lambda *_: None})())
    session.config = replace(session.config, style="udnie")
    qtbot.waitUntil(lambda: streaming.viewport._waiting == "Loading Udnie...", timeout=2000)


def test_a_built_in_style_is_not_removed(window):
    press(window, "remove_style")
    assert window.notices.text == "Candy is built in and cannot be removed"


# What it remembers


def test_what_was_chosen_is_saved_on_closing(streaming, session, saved, picture):
    session.config = replace(session.config, style="mosaic", strength=0.5)
    press(streaming, "view_split")
    press(streaming, "overlay")
    press(streaming, "theme")
    streaming.close()
    kept = saved[-1]
    assert (kept.style, kept.strength, kept.view) == ("mosaic", 0.5, "split")
    assert (kept.overlay, kept.theme) == (False, "light")
    assert kept.source == str(picture)
    assert kept.geometry


def test_a_change_is_saved_a_little_later(window, saved, qtbot):
    press(window, "overlay")
    qtbot.waitUntil(lambda: bool(saved), timeout=4000)
    assert not saved[-1].overlay


def test_what_was_saved_comes_back(session, qtbot):
    kept = Settings(view="split", split=0.3, overlay=False, show_panel=False, theme="dark")
    window = MainWindow(session, kept, lambda _: None)
    qtbot.addWidget(window)
    window.show()
    assert window.viewport.view == "split"
    assert window.viewport.split == 0.3
    assert not window.overlay.isVisible()
    assert not window.panel.isVisible()
    assert window.theme.tokens.name == "dark"
    window.theme.choice = "system"


def test_a_pasted_picture_is_not_remembered(window, session, saved, qtbot):
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("blue"))
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        window.opener.open_image(image)
    window.close()
    assert saved[-1].source == ""


def test_settings_that_cannot_be_written_are_a_problem(session, qtbot):
    def full(_: Settings) -> None:
        raise OSError("no space left on device")

    window = MainWindow(session, Settings(), full)
    qtbot.addWidget(window)
    window._save()
    assert "no space left" in window.problems.problems[0].summary


# Beginning


class Scripted:
    """Records what a Beginning opens."""

    def __init__(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[object] = []
        monkeypatch.setattr(session, "open", self.opened.append)
        monkeypatch.setattr(session, "cameras", lambda: None)


def test_the_first_camera_opens_or_the_scene(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    beginning = Beginning(session, "")
    assert script.opened == []
    session.cameras_found.emit((CameraName(0, "HD Pro"), CameraName(1, "Other")))
    assert script.opened == ["camera:HD Pro"]
    beginning.deleteLater()
    Beginning(session, "")
    session.cameras_found.emit(())
    assert script.opened[-1] == "scene"


def test_a_source_that_is_gone_gives_way_to_the_scene(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    Beginning(session, "/gone.png")
    session.opening_failed.emit()
    session.opening_failed.emit()
    assert script.opened == ["/gone.png", "scene"]


def test_another_problem_does_not_cost_the_first_camera(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    Beginning(session, "")
    session.problem.emit(Problem("there is no device 'cuda:7'"))
    session.cameras_found.emit((CameraName(0, "HD Pro"),))
    assert script.opened == ["camera:HD Pro"]


def test_who_opens_something_at_once_is_not_overruled_by_the_first_camera(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    Beginning(session, "")
    session.opening_changed.emit("Opening 'mine.png'...")
    session.cameras_found.emit((CameraName(0, "HD Pro"),))
    assert script.opened == []


def test_a_later_problem_opens_nothing(session, monkeypatch):
    script = Scripted(session, monkeypatch)
    Beginning(session, "/here.png")
    session.source_changed.emit(SourceInfo("here", 8, 8))
    session.opening_failed.emit()
    assert script.opened == ["/here.png"]


def test_without_a_display_it_says_so_in_one_sentence(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("app.ui.gui.sys.platform", "linux")
    assert run(None) == 1  # type: ignore[arg-type]  (it does not get as far as its options)
    assert capsys.readouterr().err == NO_DISPLAY
    assert "styleforge stylize" in NO_DISPLAY


# Looks


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_no_text_is_cut_off_at_1280_by_800(streaming, choice, qtbot):
    theme: Theme = streaming.theme
    theme.choice = choice
    streaming.resize(1280, 800)
    qtbot.wait(50)
    assert (streaming.width(), streaming.height()) == (1280, 800)
    for widget in streaming.findChildren(QWidget):
        if not widget.isVisible() or not isinstance(widget, (QAbstractButton, QLabel)):
            continue
        wraps = isinstance(widget, QLabel) and widget.wordWrap()
        needed = widget.minimumSizeHint()
        assert wraps or widget.width() >= needed.width(), widget.text()
        assert widget.height() >= needed.height() or wraps, widget.text()


def test_the_window_fits_1280_by_800_with_larger_fonts(session, qapp, qtbot):
    font = qapp.font()
    larger = qapp.font()
    larger.setPointSizeF(font.pointSizeF() * 1.25)
    qapp.setFont(larger)
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    try:
        window.show()
        assert window.minimumSizeHint().width() <= 1280
        assert window.minimumSizeHint().height() <= 800
    finally:
        qapp.setFont(font)
        window.theme.choice = "system"
