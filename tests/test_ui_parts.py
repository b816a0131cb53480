"""The parts of the window, each alone: what it shows, says and asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QWidget

from app.flicker import Flicker
from app.frames import Frame, SourceInfo
from app.meter import Reading
from app.problems import Problem
from app.settings import Settings
from app.styled import EngineConfig, Running, Styled, Timings
from app.styles import Style
from app.ui import actions
from app.ui.choice_box import Choice, ChoiceBox
from app.ui.dropping import understand
from app.ui.help_dialog import HelpDialog, key_words
from app.ui.icons import FOLDER, application_icon, icon
from app.ui.overlay import REDRAW_MS, Overlay, lines
from app.ui.preferences import config_of, settings_of, source_kept
from app.ui.problem_bar import NoticeBar, ProblemBar
from app.ui.question_bar import QuestionBar
from app.ui.status_line import source_words
from app.ui.style_gallery import StyleGallery
from app.ui.theme import CHOICES, Theme
from app.ui.tokens import DARK, LIGHT, Tokens
from app.ui.transport import TICKS, Transport
from models.network_shape import NetworkShape
from models.precision import Precision
from tests.conftest import add_style


def result() -> Styled:
    frame = Frame(np.zeros((24, 32, 3), np.uint8))
    running = Running("Fused", Precision.fp32, "CPU")
    return Styled(frame, frame, EngineConfig(), Timings(), (288, 208), running)


def at_once(work: Callable, done: Callable, *, doing: str) -> None:
    """A job that runs where it is asked for."""
    done(work())


# The table of actions


def test_no_two_actions_share_a_key():
    keys = [QKeySequence(key).toString() for entry in actions.ACTIONS for key in entry.keys]
    assert all(keys)
    assert len(keys) == len(set(keys))


def test_every_action_has_a_key_a_title_and_a_tip_and_its_icon_exists():
    for entry in actions.ACTIONS:
        assert entry.keys, entry.key
        assert entry.title, entry.key
        assert entry.tip, entry.key
        assert entry.group in actions.GROUPS
        assert not entry.icon or (FOLDER / f"{entry.icon}.svg").is_file(), entry.key


def test_the_help_lists_every_action(qtbot):
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    said = {label.text() for label in dialog.findChildren(QLabel)}
    for entry in actions.ACTIONS:
        if entry.key.startswith("style_"):
            assert "1 - 9" in said
        else:
            assert key_words(entry) in said
            assert entry.tip in said


def test_an_action_without_a_slot_is_refused(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    with pytest.raises(KeyError, match="quit"):
        actions.build(widget, {e.key: int for e in actions.ACTIONS if e.key != "quit"})


# Colors


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it."""

    def luminance(color: str) -> float:
        channels = (QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF())
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda t: t.name)
def test_text_and_edges_have_contrast_enough(tokens: Tokens):
    for back in (tokens.window, tokens.panel, tokens.raised, tokens.hover, tokens.canvas):
        assert contrast(tokens.text, back) >= 4.5
        assert contrast(tokens.muted, back) >= 4.5
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    assert contrast(tokens.on_alert, tokens.alert) >= 4.5
    assert contrast(tokens.on_calm, tokens.calm) >= 4.5
    for back in (tokens.window, tokens.panel, tokens.raised):
        assert contrast(tokens.accent, back) >= 3
    assert contrast(tokens.outline, tokens.panel) >= 3


@pytest.fixture
def theme(qapp: QApplication, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    theme = Theme(qapp, window)
    yield theme
    theme.choice = "system"


def test_the_theme_changes_live(theme, qapp, qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    for choice, tokens in (("dark", DARK), ("light", LIGHT)):
        with qtbot.waitSignal(theme.changed):
            theme.choice = choice
        qtbot.waitUntil(lambda t=tokens: widget.palette().window().color().name() == t.window)
        assert tokens.accent in theme.parent().styleSheet()
    assert not qapp.styleSheet()  # which would hold the window up


def test_the_system_theme_follows_the_system(theme, qapp, monkeypatch):
    theme.choice = "system"
    for scheme, tokens in ((Qt.ColorScheme.Light, LIGHT), (Qt.ColorScheme.Dark, DARK)):
        monkeypatch.setattr(type(qapp.styleHints()), "colorScheme", lambda _, s=scheme: s)
        qapp.styleHints().colorSchemeChanged.emit(scheme)
        assert theme.tokens == tokens


def test_an_unknown_theme_is_refused(theme):
    with pytest.raises(ValueError, match="no theme 'pink'"):
        theme.choice = "pink"
    assert theme.choice in CHOICES


def test_icons_take_the_color_of_the_theme(qapp):
    image = icon("pause", DARK).pixmap(32, 32).toImage()
    inks = {
        image.pixelColor(x, 16).name() for x in range(32) if image.pixelColor(x, 16).alpha() == 255
    }
    assert inks == {DARK.text}  # fmt: skip
    assert not application_icon().isNull()


def test_every_icon_takes_its_color_from_the_theme_or_is_named_for_one():
    for path in FOLDER.glob("*.svg"):
        fixed = path.stem.endswith(("-light", "-dark")) or path.stem == "styleforge"
        assert fixed or "currentColor" in path.read_text("utf-8"), path.name


# The overlay


@pytest.fixture
def reading() -> Reading:
    timings = Timings(1.0, 0.5, 40.0, 0.7, (("encoder", 10.0), ("decoder", 12.0)), 3.5)
    verdict = "limited by the network"
    return Reading(30.0, 24.9, 24.9, 61.0, 70.0, 3, timings, 2.0, verdict, Flicker(3.0, 2.0))


def test_the_overlay_has_a_line_for_every_figure(reading):
    said = dict(lines(reading, result()))
    assert said["Captured"] == "30.0 fps"
    assert said["Capture to paint"] == "61 ms, p95 70 ms"
    assert said["Dropped"] == "3"
    assert said["Network input"] == "288 x 208"
    assert said["    Encoder"] == "10.0 ms"
    assert said["Blend"] == "3.5 ms"
    assert said["Paint"] == "2.0 ms"
    assert said["Flicker"] == "1.50x the source's change"


def test_rates_that_are_not_known_are_left_out():
    assert "Captured" not in dict(lines(Reading(), result()))


def test_the_overlay_text_is_drawn_at_most_four_times_a_second(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(400, 400)
    asked: list[int] = []

    def read() -> Reading:
        asked.append(len(asked))
        return replace(reading, dropped=len(asked))

    overlay = Overlay(read, result, lambda _: None, parent)
    parent.show()
    qtbot.waitExposed(parent)
    before = overlay.redraws
    for _ in range(40):  # as a stream does
        overlay.repaint()
        qtbot.wait(25)
    assert REDRAW_MS >= 250
    assert 1 <= overlay.redraws - before <= 5
    assert overlay.redraws == len(asked)
    assert "limited by the network" in overlay.accessibleDescription()


def test_a_hidden_overlay_reads_nothing(qtbot, reading):
    parent = QWidget()
    qtbot.addWidget(parent)
    overlay = Overlay(lambda: pytest.fail("read"), result, lambda _: None, parent)
    overlay.hide()
    overlay.refresh()
    assert overlay.redraws == 0


# Bars


@pytest.fixture
def problems(qtbot) -> ProblemBar:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    bar = ProblemBar(parent)
    bar.keep_alive = parent  # type: ignore[attr-defined]
    return bar


def test_problems_queue_with_a_counter_and_are_dismissed_one_by_one(problems):
    first, second = Problem("one", "trace"), Problem("two")
    for problem in (first, second, first):
        problems.add(problem)
    assert problems.problems == (first, second)
    assert problems.isVisible()
    assert problems.accessibleDescription() == "one"
    assert any(label.text() == "1 of 2" for label in problems.findChildren(QLabel))
    problems.dismiss()
    assert problems.accessibleDescription() == "two"
    problems.dismiss()
    assert not problems.isVisible()
    problems.dismiss()


def test_the_details_of_a_problem_can_be_copied(problems):
    problems.add(Problem("Could not open 'a.jpg'", "Traceback: line 1"))
    problems.copy_details()
    assert QGuiApplication.clipboard().text() == "Could not open 'a.jpg'\n\nTraceback: line 1\n"


def test_a_notice_goes_by_itself_and_a_state_stays(qtbot, monkeypatch):
    monkeypatch.setattr("app.ui.problem_bar.NOTICE_MS", 30)
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    bar = NoticeBar(parent)
    bar.show_state("The camera was unplugged")
    bar.show_notice("Saved it")
    assert bar.text == "Saved it"
    qtbot.waitUntil(lambda: bar.text == "The camera was unplugged", timeout=2000)
    qtbot.wait(60)
    assert bar.isVisible()
    bar.show_state("")
    assert not bar.isVisible()


def test_a_question_gives_its_answer_once_and_a_no_gives_none(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    bar = QuestionBar(parent)
    answers: list[str] = []
    bar.ask("Install?", "&Install", answers.append, label="&Title:", text="Waves")
    assert bar.field.accessibleName() == "Title"
    QTest.keyClicks(bar.field, "Big ")
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert answers == ["Big"]  # typing replaced the text, which was selected
    assert not bar.isVisible()
    bar.ask("Remove?", "&Remove", answers.append)
    assert not bar.field.isVisible()
    bar.dismiss()
    bar.accept.click()
    assert answers == ["Big"]


# Choices


def test_a_choice_box_speaks_only_when_the_user_does(qtbot):
    box = ChoiceBox("Precision", "tip")
    qtbot.addWidget(box)
    box.offer([Choice(1, "One"), Choice(2, "Two", "slower here")])
    picked: list[object] = []
    box.picked.connect(picked.append)
    box.show_choice(2)
    assert (box.currentText(), box.remark, picked) == ("Two", "slower here", [])
    box.offer([Choice(2, "Two"), Choice(3, "Three")])
    assert (box.currentText(), box.remark) == ("Two", "")
    QTest.keyClick(box, Qt.Key.Key_Down)
    assert picked == [3]
    box.show_choice("gone")
    assert box.currentIndex() == -1


# The gallery


def style(key: str, thumbnail: Path | None = None) -> Style:
    return Style(key, key.title(), Path("w.safetensors"), "by me", "CC0", "", thumbnail)


@pytest.fixture
def gallery(qtbot, tmp_path) -> StyleGallery:
    picture = tmp_path / "t.png"
    image = QImage(30, 10, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    assert image.save(str(picture))
    gallery = StyleGallery(at_once, QToolButton())
    qtbot.addWidget(gallery)
    gallery.set_styles((style("candy", picture), style("mosaic"), style("udnie")), "mosaic")
    gallery.resize(600, 140)
    gallery.show()
    return gallery


def test_the_gallery_marks_the_chosen_style_without_saying_so(gallery, qtbot):
    with qtbot.assertNotEmitted(gallery.chosen):
        gallery.choose("udnie")
    assert gallery.view.currentIndex().data() == "Udnie"


def test_clicking_a_style_chooses_it(gallery, qtbot):
    place = gallery.view.visualRect(gallery.model.index(0)).center()
    with qtbot.waitSignal(gallery.chosen) as blocker:
        QTest.mouseClick(gallery.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert blocker.args == ["candy"]


def test_arrow_keys_choose_styles(gallery, qtbot):
    with qtbot.waitSignal(gallery.chosen) as blocker:
        QTest.keyClick(gallery.view, Qt.Key.Key_Right)
    assert blocker.args == ["udnie"]


def test_the_next_style_wraps(gallery):
    assert gallery.neighbor(1) == "udnie"
    assert gallery.neighbor(2) == "candy"
    assert gallery.key_at(0) == "candy"
    assert gallery.key_at(9) == ""


def test_styles_have_names_for_screen_readers_and_credits_in_tooltips(gallery):
    index = gallery.model.index(0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Candy, key 1"
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "Candy\nby me\nCC0"


def test_the_gallery_draws_thumbnails_and_initials(gallery):
    image = gallery.grab().toImage()
    view = gallery.view
    first = view.viewport().mapTo(gallery, view.visualRect(gallery.model.index(0)).center())
    assert image.pixelColor(first - QPoint(0, 8)) == QColor("red")


# Drops


def dropped(*names: str | Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl(str(n)) if "://" in str(n) else QUrl.fromLocalFile(str(n)) for n in names])
    return data


@pytest.mark.parametrize("name", ["a.jpg", "a.PNG", "a.webp", "a.tiff", "a.mp4", "a.mkv", "a.mov"])
def test_pictures_and_videos_open(name):
    assert understand(dropped(f"/x/{name}")).spec == f"/x/{name}"


def test_several_pictures_make_a_strip_and_what_else_there_is_stays_out():
    drop = understand(dropped("/x/a.jpg", "/x/b.png", "/x/notes.txt"))
    assert drop.spec == ["/x/a.jpg", "/x/b.png"]
    assert drop.detail == "2 pictures, as a strip to step through; 1 other file left out"


@pytest.mark.parametrize("name", ["a.pth", "a.PT", "a.safetensors"])
def test_weights_offer_to_install_a_style(name):
    drop = understand(dropped(f"/x/{name}"))
    assert drop.weights == Path(f"/x/{name}")
    assert drop.title == "Drop to install this style"


def test_a_folder_opens_and_a_pack_installs(tmp_path):
    assert understand(dropped(tmp_path)).spec == str(tmp_path)
    (tmp_path / "style.toml").touch()
    assert understand(dropped(tmp_path)).weights == tmp_path


def test_addresses_open_dropped_or_as_text():
    assert understand(dropped("http://cam/video.mjpg")).spec == "http://cam/video.mjpg"
    data = QMimeData()
    data.setText(" rtsp://cam/1 \n")
    assert understand(data).spec == "rtsp://cam/1"


@pytest.mark.parametrize("name", ["/x/a.pdf", "/x/noending", "ftp://host/a.jpg"])
def test_anything_else_says_what_can_be_dropped(name):
    drop = understand(dropped(name))
    assert not drop.welcome
    assert drop.title.endswith("cannot be opened")
    assert ".safetensors" in drop.detail


def test_two_videos_at_once_are_refused():
    assert understand(dropped("/x/a.mp4", "/x/b.mp4")).title == "Only one video at a time"


def test_prose_and_nothing_are_no_drop():
    prose = QMimeData()
    prose.setText("hello\nworld")
    for data in (prose, QMimeData()):
        assert not understand(data).welcome


# Position, status, settings


@pytest.fixture
def transport(qtbot) -> Transport:
    parent = QWidget()
    qtbot.addWidget(parent)
    made = actions.build(parent, {entry.key: int for entry in actions.ACTIONS})
    transport = Transport(made, parent)
    parent.show()
    transport.keep_alive = parent  # type: ignore[attr-defined]
    return transport


def test_the_transport_shows_only_for_videos_and_strips(transport):
    for info, shown in (
        (SourceInfo("camera", 64, 48, 30.0), False),
        (SourceInfo("film", 64, 48, 25.0, duration=65.0), True),
        (SourceInfo("strip", 64, 48, count=3), True),
        (None, False),
    ):
        transport.show_source(info)
        assert transport.isVisible() == shown


def test_the_slider_follows_the_video_silently_and_seeks_when_moved(transport, qtbot):
    transport.show_source(SourceInfo("film", 64, 48, 25.0, duration=65.0))
    with qtbot.assertNotEmitted(transport.sought):
        transport.show_position(30.0)
    assert transport.slider.value() == 30 * TICKS
    assert any(label.text() == "0:30 / 1:05" for label in transport.findChildren(QLabel))
    with qtbot.waitSignal(transport.sought) as blocker:
        QTest.keyClick(transport.slider, Qt.Key.Key_Home)
    assert blocker.args == [0.0]


def test_a_strip_counts_its_pictures(transport):
    transport.show_source(SourceInfo("strip", 64, 48, count=3))
    transport.show_position(2.0)
    assert any(label.text() == "3 of 3" for label in transport.findChildren(QLabel))


def test_the_source_is_described_in_words():
    info = SourceInfo("Camera", 640, 480, 30.0, note="asked for 1280x720")
    assert source_words(info) == "Camera, 640x480, 30 fps; asked for 1280x720"
    assert source_words(SourceInfo("film", 8, 8, 29.97, 3725.0)) == "film, 8x8, 29.97 fps, 1:02:05"
    assert source_words(SourceInfo("strip", 8, 8, count=3)) == "strip, 8x8, 3 pictures"
    assert source_words(None) == "No source"


def test_settings_survive_the_way_to_a_config_and_back(library, tmp_path):
    settings = Settings(
        precision="bf16",
        kernels="norm",
        size=256,
        strength=0.5,
        keep_colors=True,
        device="cpu",
        network="lite",
        mix="second",
        mix_amount=0.25,
        strokes="bold",
        upsampling="smooth",
        smoothing=0.75,
    )
    add_style(tmp_path, "second", 1, NetworkShape(1, (4, 4, 4), 3))
    library.reload()
    config = config_of(settings, library)
    assert (config.mix, config.mix_amount, config.network) == ("second", 0.25, "lite")
    assert config.precision is Precision.bf16
    assert config.size == 256
    assert settings_of(settings, config) == replace(settings, style=config.style)


def test_settings_that_name_what_is_gone_become_the_default(library):
    settings = Settings(
        style="removed",
        precision="fp7",
        kernels="magic",
        mix="gone",
        network="tiny",
        strokes="thin",
        upsampling="magic",
    )
    config = config_of(settings, library)
    default = EngineConfig()
    assert replace(config, style=default.style) == default
    assert config.style != "removed"


def test_the_sheet_names_only_files_that_exist(theme):
    names = re.findall(r'url\("([^"]+)"\)', theme.parent().styleSheet())
    assert names
    assert all(Path(name).is_file() for name in names)


def test_a_folder_among_dropped_pictures_stands_for_what_it_holds(tmp_path):
    drop = understand(dropped(tmp_path, tmp_path / "a.png", tmp_path / "a.txt"))
    assert drop.spec == [str(tmp_path), str(tmp_path / "a.png")]
    assert drop.detail.startswith("1 picture and 1 folder, as a strip to step through; ")
    assert drop.detail.endswith("1 other file left out")


def test_two_styles_at_once_are_refused():
    assert understand(dropped("/x/a.pth", "/x/b.pt")).title == "Only one style at a time"


def test_a_dropped_address_keeps_its_escapes():
    data = QMimeData()
    data.setUrls([QUrl("http://cam/a%20b?x=%26")])
    assert understand(data).spec == "http://cam/a%20b?x=%26"


def test_a_picture_that_stands_still_goes_on_showing_what_it_took():
    styled = replace(result(), timings=Timings(1.0, 0.5, 40.0, 0.7))
    said = dict(lines(Reading(), styled))
    assert said["Network"] == "40.0 ms"
    assert "Paint" not in said
    assert "Dropped" not in said


def test_a_long_summary_is_cut_and_its_details_are_whole(problems):
    problems.add(Problem("missing " + "res1.conv1.conv2d.weight, " * 60, "trace"))
    assert len(problems._text.text()) < 500
    problems.copy_details()
    assert QGuiApplication.clipboard().text().count("res1.conv1") == 60


def test_a_path_is_kept_from_wherever_the_program_is_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source_kept("film.mp4") == str(tmp_path / "film.mp4")
    assert source_kept(["a.png", "/b.png"]) == f"{tmp_path / 'a.png'}\n/b.png"
    for spec in ("", "scene", "camera:0", "http://cam/x"):
        assert source_kept(spec) == spec
