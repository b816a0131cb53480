"""The speed test has its own size and precision, measures all engines, and shares the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.live.session.choice import FixedInput
from app.speed_test import measuring
from app.speed_test.candidates import Candidate
from app.speed_test.measuring import Effort
from app.ui.main_window import MainWindow
from app.ui.speed.engine_controls import ONLY_HERE
from app.ui.speed.tested_input import long_side
from app.ui.speed_test import controller
from models.precision import Precision
from tests.app.speed_test.results import RESULT
from tests.app.ui.window.conftest import press
from tests.helpers.errors import mentions
from tests.helpers.tiny_style import write_tiny_weights
from utils.translation.texts import tr

BRIEF = Effort(warm_s=0.0, warm=1, timed_s=0.0, least=2, most=2)
ENGINES = (
    Candidate("StyleForge, CPU", "fused"),
    Candidate("Plain PyTorch, CPU", "baseline"),
    Candidate("OpenVINO", "openvino", reason="not installed"),
)


@pytest.fixture
def testing(streaming, qtbot) -> MainWindow:
    """Return the window in the speed test of a picture of 64x48 pixels."""
    press(streaming, "view_compare")
    qtbot.waitUntil(lambda: streaming.viewport.styled.comparison is not None)
    return streaming


@pytest.fixture
def measurable(testing, tmp_path, monkeypatch) -> MainWindow:
    """Return the window with real weights, and few engines that are measured briefly."""
    write_tiny_weights(tmp_path / "builtin" / "candy" / "weights.safetensors")

    def brief(catalog, task, stop, told, effort):
        return measuring.measure(catalog, task, stop, told, effort, lambda _: ENGINES)

    monkeypatch.setattr(controller, "measure", brief)
    testing.speed_test.effort = BRIEF
    return testing


@pytest.mark.parametrize(
    ("size", "source", "wanted"),
    [
        ("512", (1280, 720), 512),
        ("720p", (1920, 1080), 1280),
        ("720p", (640, 480), 960),
        ("1080p", (1080, 1920), 1920),
        ("source", (300, 1000), 1000),
    ],
)
def test_a_size_is_the_largest_of_the_shape_of_the_source(size, source, wanted):
    assert long_side(size, *source) == wanted


def test_the_test_has_a_size_of_its_own_and_the_stream_gets_its_own_back(testing, session):
    config = session.config
    assert session.choice.test == FixedInput(512, Precision.fp32, "fused", "full")
    assert session.choice.shown == config.tested(512, Precision.fp32, "fused", "full")
    size = testing.engine_bar.test_size
    assert size.isVisible()
    QTest.keyClick(size, Qt.Key.Key_Down)
    assert session.choice.test == FixedInput(960, Precision.fp32, "fused", "full")
    assert session.config == config
    press(testing, "view_styled")
    assert session.choice.shown == session.config == replace(config, compare=False)
    assert not size.isVisible()


def test_the_engine_computes_in_the_size_of_the_test(testing, session, qtbot):
    qtbot.waitUntil(lambda: testing.viewport.styled.config.size == 512)
    press(testing, "view_styled")
    qtbot.waitUntil(lambda: testing.viewport.styled.config.size is None)


def test_a_precision_of_the_test_is_not_the_streams(every_precision, testing, session):
    box = testing.engine_bar.lists.precision
    QTest.keyClick(box, Qt.Key.Key_End)
    test = session.choice.test
    assert test is not None
    assert test.precision is not Precision.fp32
    assert session.config.precision is Precision.fp32
    press(testing, "view_styled")
    assert box.currentText() == "FP32"


def test_a_test_offers_slow_precisions_and_disables_what_cannot_run(testing, qtbot):
    box = testing.engine_bar.lists.precision
    model = box.model()
    rows = {box.itemText(row): row for row in range(box.count())}

    def reason(title: str) -> str:
        return str(box.itemData(rows[title], Qt.ItemDataRole.ToolTipRole))

    def enabled(title: str) -> bool:
        return bool(model.index(rows[title], 0).flags() & Qt.ItemFlag.ItemIsEnabled)

    qtbot.waitUntil(lambda: not enabled("INT8"), timeout=5000)
    assert not enabled("TF32")
    assert enabled("FP16")
    assert enabled("BF16")
    assert enabled("AMP")
    assert mentions(reason("FP16"), "slower")
    assert mentions(reason("INT8"), "GPU")
    press(testing, "view_styled")
    assert not enabled("FP16")


def test_a_precision_that_a_runtime_lacks_is_disabled_with_the_reason(testing, session, qtbot):
    lists = testing.engine_bar.lists
    lists.test.choose_kernels("openvino")
    qtbot.waitUntil(lambda: bool(lists._offered.get("openvino")), timeout=20_000)
    row = lists.precision.findText("INT8")
    qtbot.waitUntil(
        lambda: not lists.precision.model().index(row, 0).flags() & Qt.ItemFlag.ItemIsEnabled
    )
    assert mentions(lists.precision.itemData(row, Qt.ItemDataRole.ToolTipRole), "OpenVINO", "INT8")


def test_a_test_that_the_engine_refuses_returns_to_the_streams_precision(testing, session):
    testing.engine_bar.test.choose_precision(Precision.fp16)
    session.choice.refuse(session.config)
    assert session.choice.test == FixedInput(512, Precision.fp32, "fused", "full")
    assert testing.engine_bar.lists.precision.currentText() == "FP32"


def test_an_engine_of_the_test_is_not_the_streams(testing, session):
    box, remark = testing.engine_bar.lists.kernels, testing.engine_bar.lists.kernels_remark
    QTest.keyClick(box, Qt.Key.Key_Home)
    test = session.choice.test
    assert test is not None
    assert test.kernels == session.choice.shown.kernels == "baseline"
    assert session.config.kernels == "fused"
    assert mentions(remark.text(), tr(ONLY_HERE))
    press(testing, "view_styled")
    assert session.choice.shown.kernels == "fused"
    assert box.currentText() == "Fused"
    assert not mentions(remark.text(), tr(ONLY_HERE))


def test_the_version_that_runs_stays_during_the_test(streaming, session, qtbot):
    fine = streaming.viewport.styled
    session.styled.emit(replace(fine, running=replace(fine.running, lite=True)))
    press(streaming, "view_compare")
    assert session.config.network == "auto"
    assert session.choice.shown.network == "lite"
    session.styled.emit(fine)
    assert session.choice.shown.network == "lite"
    press(streaming, "view_styled")
    assert session.choice.shown.network == "auto"


def test_a_version_that_the_user_chooses_is_tested(testing, session):
    session.config = replace(session.config, network="lite")
    assert session.choice.shown.network == "lite"


def test_a_saved_picture_has_the_settings_of_the_stream(testing, session, qtbot):
    qtbot.waitUntil(lambda: testing.viewport.styled.config.size == 512)
    whole, _ = testing.full_quality.render(testing.viewport.styled)
    assert whole.config == replace(session.config, compare=False)


def test_the_sheet_takes_the_place_of_the_gallery(testing):
    sheet = testing.speed_test.sheet
    assert sheet.isVisible()
    assert not testing.gallery.isVisible()
    press(testing, "view_split")
    assert not sheet.isVisible()
    assert testing.gallery.isVisible()


def test_a_command_of_the_gallery_ends_the_test(testing, session):
    testing.actions_by_key["search_styles"].trigger()
    assert testing.gallery.isVisible()
    assert not session.config.compare
    assert testing.viewport.view == "styled"


def test_the_curve_follows_the_comparison(testing, qtbot):
    curve = testing.speed_test.sheet.curve
    qtbot.waitUntil(lambda: len(curve.points) > 1)
    assert (curve.points[0].baseline_ms, curve.points[0].fused_ms) == (82.0, 49.0)
    press(testing, "view_styled")
    assert curve.points == ()


def test_all_engines_are_measured_and_shown_with_their_conditions(measurable, session, qtbot):
    speed, sheet = measurable.speed_test, measurable.speed_test.sheet
    assert not sheet.cancel.isVisible()
    assert not sheet.progress.isVisible()
    sheet.measure.click()
    assert speed.measuring
    qtbot.waitUntil(lambda: speed.result is not None, timeout=20_000)
    qtbot.waitUntil(lambda: not speed.measuring)
    rows = sheet.rows.rows_model.rows
    assert [row.title for row in rows] == [each.title for each in ENGINES]
    assert [row.latency is not None for row in rows] == [True, True, False]
    assert rows[0].beside == rows[1].title
    assert speed.result.size == (512, 384)
    assert mentions(sheet.caption.text(), "512x384", "FP32", "Candy")
    assert sheet.measure.isVisible()
    assert not sheet.cancel.isVisible()


def test_the_stream_rests_while_engines_are_measured(measurable, session, qtbot):
    loop = session._loop
    measurable.speed_test.sheet.measure.click()
    qtbot.waitUntil(lambda: loop._resting)
    qtbot.waitUntil(lambda: not measurable.speed_test.measuring, timeout=20_000)
    qtbot.waitUntil(lambda: not loop._resting)


def test_escape_cancels_the_measurement_and_keeps_the_result_before(measurable, qtbot):
    speed = measurable.speed_test
    speed.result = RESULT
    speed.effort = replace(BRIEF, least=10_000_000, most=10_000_000, longest_s=60.0)
    speed.sheet.measure.click()
    qtbot.waitUntil(lambda: bool(speed.sheet.rows.rows_model.rows))
    assert speed.sheet.progress.isVisible()
    press(measurable, "back")
    qtbot.waitUntil(lambda: not speed.measuring, timeout=20_000)
    assert speed.result is RESULT
    assert speed.sheet.rows.rows_model.rows == RESULT.rows


def test_leaving_the_test_ends_the_measurement(measurable, qtbot):
    speed = measurable.speed_test
    speed.effort = replace(BRIEF, least=10_000_000, most=10_000_000, longest_s=60.0)
    speed.sheet.measure.click()
    press(measurable, "view_styled")
    qtbot.waitUntil(lambda: not speed.measuring, timeout=20_000)
    assert speed.result is None


def test_a_measurement_that_fails_gives_the_stream_back(testing, session, qtbot):
    testing.speed_test.sheet.measure.click()  # the weights of these tests are empty
    qtbot.waitUntil(lambda: bool(testing.problems.problems), timeout=20_000)
    qtbot.waitUntil(lambda: not testing.speed_test.measuring)
    qtbot.waitUntil(lambda: not session._loop._resting)


def test_the_result_is_copied_as_text(testing, qtbot):
    testing.speed_test.result = RESULT
    testing.speed_test.copy_text()
    clipboard = QGuiApplication.clipboard()
    qtbot.waitUntil(lambda: "Some Processor" in clipboard.text())
    assert all(row.title in clipboard.text() for row in RESULT.rows)
    assert testing.notices.text


def test_the_notice_names_the_conditions_that_the_copied_table_was_measured_at(testing, qtbot):
    testing.speed_test.result = RESULT
    testing.speed_test.copy_text()
    qtbot.waitUntil(lambda: mentions(testing.notices.text, "1280x720", "FP32", "Candy"))


def test_no_banner_calls_the_picture_frozen_while_engines_are_measured(measurable, session, qtbot):
    shown: list[str] = []
    session.rests_changed.connect(lambda _: shown.append(measurable.camera.held.text))
    measurable.speed_test.sheet.measure.click()
    assert session.paused == session.streaming
    assert shown == [""]
    assert not measurable.camera.held.text
    qtbot.waitUntil(lambda: not measurable.speed_test.measuring, timeout=20_000)
    assert not measurable.camera.held.text


def test_without_a_measurement_the_comparison_is_copied(testing, qtbot):
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    testing.speed_test.copy_text()
    qtbot.waitUntil(lambda: "Plain PyTorch" in clipboard.text(), timeout=10_000)
    assert mentions(clipboard.text(), "48x32", "50.0 ms", "1.60", "80.0 ms")


def test_without_any_time_nothing_is_copied(window):
    window.speed_test.copy_text()
    assert window.notices.text


def test_the_card_is_copied_as_a_picture(testing, qtbot):
    testing.speed_test.result = RESULT
    testing.speed_test.copy_picture()
    clipboard = QGuiApplication.clipboard()
    qtbot.waitUntil(lambda: clipboard.image().width() == 1200)
    assert clipboard.image().height() == 630


def test_the_card_is_saved_as_a_file(testing, tmp_path, qtbot):
    speed = testing.speed_test
    speed.result = RESULT
    speed.save(tmp_path / "made" / "card", speed._card())
    path: Path = tmp_path / "made" / "card.png"
    qtbot.waitUntil(path.exists, timeout=10_000)
    with Image.open(path) as card:
        assert card.size == (1200, 630)
        assert card.getpixel((5, 5)) == tuple(testing.viewport.styled.frame.pixels[0, 0])


def test_saving_the_card_asks_for_a_name(testing):
    testing.speed_test.ask_file()
    [dialog] = [each for each in testing.file_dialogs._made.values() if each.isVisible()]
    assert dialog.defaultSuffix() == "png"
    dialog.reject()


def test_every_part_of_the_sheet_has_a_name_and_a_tooltip(testing):
    sheet = testing.speed_test.sheet
    for part in (
        sheet.measure,
        sheet.cancel,
        sheet.copy,
        sheet.progress,
        sheet.rows,
        sheet.curve,
        sheet.layers,
        sheet.tabs,
    ):
        assert part.accessibleName()
        assert part.toolTip()
    entries = sheet.copy.menu().actions()
    assert len(entries) == 3
    assert all(entry.toolTip() for entry in entries)


def test_the_size_has_a_label_with_a_letter_of_its_own(testing):
    labels = {label.buddy(): label.text() for label in testing.engine_bar.findChildren(QLabel)}
    assert "&" in labels[testing.engine_bar.test_size]


def test_the_layers_have_a_table_of_their_own(testing):
    sheet = testing.speed_test.sheet
    sheet.show_result(RESULT)
    assert sheet.rows.isVisible()
    assert not sheet.layers.isVisible()
    sheet.tabs.setFocus()
    QTest.keyClick(sheet.tabs, Qt.Key.Key_Right)
    assert sheet.layers.isVisible()
    assert not sheet.rows.isVisible()
    model = sheet.layers.layers_model
    told = [str(model.data(model.index(row))) for row in range(model.rowCount())]
    assert mentions(told[0], "conv1", "60.0 ms", "7.50 ms", "8.00")
    empty = sheet.layers.grab().toImage()
    sheet.show_result(None)
    assert sheet.layers.grab().toImage() != empty
