"""The panel writes the configuration and follows it, mixes styles, and opens sources."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

from app.engine.config import EngineConfig
from app.parameters import AUTO, PARAMETERS, AmountParameter, Group
from app.settings import Settings
from app.sources import CameraName
from app.ui.actions.table import ACTIONS
from app.ui.main_window import MainWindow
from app.ui.speed.timing import FrameTime
from kernels.table.registry import statuses
from models.families.any_style import AnyStyleFamily
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import VARIANTS
from tests.app.ui.window.conftest import install_colors, press
from tests.helpers.errors import mentions
from tests.helpers.fakes import NetworkCamera
from tests.helpers.precisions import offer_bf16, set_bf16_gains


def enter_address(window: MainWindow, address: str, way: str = "Enter") -> None:
    press(window, "address")
    QTest.keyClicks(window.panel.sources.address, address)
    if way == "Enter":
        QTest.keyClick(window.panel.sources.address, Qt.Key.Key_Return)
    else:
        window.panel.sources.connect_button.setFocus()
        window.panel.sources.connect_button.click()


def test_the_panel_writes_the_config(every_precision, window, session):
    panel = window.panel
    panel.controls["strength"].setValue(40)
    panel.controls["keep_colors"].setFocus()
    QTest.keyClick(panel.controls["keep_colors"], Qt.Key.Key_Space)
    QTest.keyClick(window.engine_bar.lists.precision, Qt.Key.Key_Down)
    QTest.keyClick(window.engine_bar.lists.kernels, Qt.Key.Key_Home)
    for slider in (panel.detail, panel.controls["strokes"]):
        slider.setFocus()
        QTest.keyClick(slider, Qt.Key.Key_Right)
    QTest.keyClick(window.engine_bar.controls["network"], Qt.Key.Key_End)
    panel.controls["upsampling"].setFocus()
    QTest.keyClick(panel.controls["upsampling"], Qt.Key.Key_Space)
    panel.controls["smoothing"].setValue(30)
    config = session.config
    assert (config.strokes, config.keep_strokes, config.network) == ("fine", True, "lite")
    assert (config.upsampling, config.smoothing) == ("smooth", 0.3)
    assert panel.controls["smoothing"].percent.text() == "30 %"
    assert config.strength == 0.4
    assert config.keep_colors
    assert config.precision is list(Precision)[1]
    assert config.kernels == next(iter(VARIANTS))
    assert config.size == 128
    assert panel.controls["strength"].percent.text() == "40 %"


def test_the_panel_is_in_groups_whose_check_boxes_come_last(window, qtbot):
    panel = window.panel
    heads = [group.head for group in panel.groups.values()]
    shown = [each for each in panel.controls.values() if each is not panel.remove_handles]
    others = [panel.sources.list, panel.speed.slider, panel.mix, panel.detail, panel.person_button]
    parts = [*heads, *shown, *others]
    parts.sort(key=lambda part: part.mapTo(panel, part.rect().topLeft()).y())
    assert [part.accessibleName() for part in parts] == [
        "Source", "Smooth or sharp",
        "Style", "Strength", "Mix with", PARAMETERS["mix_amount"].title,
        "Strokes and texture", "Texture", "Brushwork", "Stroke length", "Stroke width", "Detail",
        "Keep fine detail",
        "Colors", "Keep colors",
        "Motion", "Less flicker", "Fluid",
        "Person", "Person and background",
    ]  # fmt: skip


def test_a_group_folds_away_and_back_by_its_heading(window, qtbot):
    group = window.panel.groups[Group.STROKES]
    below = window.panel.groups[Group.COLORS]
    before = below.mapTo(window.panel, QPoint())
    QTest.mouseClick(group.head, Qt.MouseButton.LeftButton)
    assert not group.body.isVisible()
    qtbot.waitUntil(lambda: below.mapTo(window.panel, QPoint()).y() < before.y() - 150)
    group.head.setFocus()
    QTest.keyClick(group.head, Qt.Key.Key_Space)
    assert group.body.isVisible()


def test_a_control_in_a_folded_group_is_shown_once_it_is_asked_for(window):
    group = window.panel.groups[Group.MOTION]
    group.head.click()
    window.panel.reveal(window.panel.controls["smoothing"])
    assert window.panel.controls["smoothing"].hasFocus()
    assert in_view(window)


def test_a_folded_group_is_folded_at_the_next_start(window, session, qtbot):
    window.panel.groups[Group.COLORS].head.click()
    again = MainWindow(session, window.settings.value, lambda _: None)
    qtbot.addWidget(again)
    assert again.panel.folded == ["COLORS"]
    again.panel.groups[Group.COLORS].head.click()
    assert again.settings.value.folded_groups == ""


def test_the_panel_is_300_pixels_wide_and_fits_a_window_of_1280_by_800(streaming, qtbot):
    streaming.resize(1280, 800)
    qtbot.wait(30)
    panel = streaming.panel
    assert panel.width() == 300
    assert panel.widget().height() <= panel.viewport().height()
    assert panel.widget().width() <= panel.viewport().width()


def test_rows_are_32_pixels_high_and_headings_larger_than_labels(window):
    panel = window.panel
    sliders = [panel.controls[name] for name in ("texture", "strokes_length", "strokes")]
    places = [each.mapTo(panel, each.rect().center()).y() for each in (*sliders, panel.detail)]
    texture, *rows = places
    assert [rows[1] - rows[0], rows[2] - rows[1]] == [32, 32]
    assert rows[0] - texture == 64, "brushwork is between them"


def test_the_engine_is_shown_with_the_speed_test_or_by_its_key(window, saved):
    bar = window.engine_bar
    assert not bar.isVisible()
    press(window, "view_compare")
    assert bar.isVisible()
    press(window, "view_styled")
    assert not bar.isVisible()
    press(window, "advanced")
    assert bar.lists.device.hasFocus()
    press(window, "view_split")
    assert bar.isVisible()
    window.close()
    assert saved[-1].advanced


def test_the_engine_gives_the_focus_back_to_the_picture(window):
    press(window, "advanced")
    window.actions_by_key["advanced"].trigger()
    assert not window.engine_bar.isVisible()
    assert window.viewport.hasFocus()


def test_no_smoothing_is_called_off_and_no_strength_0_percent(window, session):
    session.config = replace(session.config, strength=0.0, smoothing=0.0)
    texts = [window.panel.controls[name].percent.text() for name in ("strength", "smoothing")]
    assert texts == ["0 %", "Off"]


def test_the_panel_follows_the_config_silently(window, session, qtbot):
    wanted = replace(session.config, strength=0.25, precision=Precision.bf16, size=512)
    seen: list[EngineConfig] = []
    session.config_changed.connect(seen.append)
    session.config = wanted
    qtbot.wait(20)
    assert seen == [wanted]
    panel = window.panel
    assert panel.controls["strength"].value() == 25
    assert window.engine_bar.lists.precision.currentText() == "BF16"
    assert panel.detail.reading.text() == "512 px"


def test_a_second_style_is_mixed_in_from_the_panel(window, session):
    panel = window.panel
    assert [panel.mix.itemText(n) for n in range(panel.mix.count())] == [
        "None",
        "Mosaic",
        "Udnie",
    ]
    share = panel.controls["mix_amount"]
    assert not share.isEnabled()
    assert not share.percent.isEnabled()
    QTest.keyClick(panel.mix, Qt.Key.Key_End)
    panel.controls["mix_amount"].setValue(40)
    assert (session.config.mix, session.config.mix_amount) == ("udnie", 0.4)
    assert panel.controls["mix_amount"].percent.text() == "40 %"
    assert share.isEnabled()
    assert share.percent.isEnabled()
    QTest.keyClick(panel.mix, Qt.Key.Key_Home)
    assert session.config.mix is None


def test_the_first_style_is_not_offered_as_the_second(window, session):
    session.config = replace(session.config, style="udnie")
    titles = [window.panel.mix.itemText(n) for n in range(window.panel.mix.count())]
    assert titles == ["None", "Candy", "Mosaic"]


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
    assert window.mixer.label() == "Candy 60 %, Udnie 40 %"
    model = window.gallery.model
    said = model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert mentions(said, "Udnie", "key 3", "40 %")
    session.config = replace(session.config, mix=None)
    assert model.index(2).data(Qt.ItemDataRole.AccessibleTextRole) == "Udnie, key 3"


def test_the_menu_of_a_style_offers_to_mix_it(window, session):
    actions = {a.text(): a for a in window.gallery.context_menu("udnie").actions()}
    actions["&Mix with this style"].trigger()
    assert session.config.mix == "udnie"
    actions = {a.text(): a for a in window.gallery.context_menu("udnie").actions()}
    actions["Stop &mixing"].trigger()
    assert session.config.mix is None
    alone = {a.text(): a.isEnabled() for a in window.gallery.context_menu("candy").actions()}
    assert not alone["&Use this style"]
    assert not alone["&Mix with this style"]


def test_the_panel_says_when_automatic_is_lite(streaming, session):
    styled = streaming.viewport.styled
    lite = replace(styled, running=replace(styled.running, lite=True))
    session.styled.emit(lite)
    assert streaming.engine_bar.version_remark.text() == "Fast version in use"
    session.styled.emit(styled)
    assert not streaming.engine_bar.version_remark.text().strip()


def test_the_automatic_size_names_what_it_is_now(streaming):
    detail = streaming.panel.detail
    assert detail.reading.text() == "Auto"
    assert "48x32" in detail.reading.toolTip()
    assert detail.accessibleDescription() == detail.reading.toolTip()


def test_devices_and_remarks_are_filled_in(window, qtbot):
    qtbot.waitUntil(lambda: window.engine_bar.lists.device.count() >= 2)
    qtbot.waitUntil(lambda: window.engine_bar.lists.kernels_remark.text() != "")
    assert (
        window.engine_bar.lists.device.currentText() == "Automatic"
        or window.session.config.device == "cpu"
    )


def test_the_runtimes_that_are_found_can_be_chosen_and_name_their_device(window, qtbot):
    kernels = window.engine_bar.lists.kernels
    qtbot.waitUntil(lambda: window.engine_bar.lists.kernels_remark.text() != "")
    assert not window.engine_bar.lists.runtimes_asked  # the search would cost seconds of CPU time
    assert kernels.findText("OpenVINO CPU") == -1
    kernels.setFocus()
    qtbot.waitUntil(lambda: kernels.findText("OpenVINO CPU") >= 0, timeout=60_000)
    there = {runtime.title for runtime in RUNTIMES.values() if not runtime.refusal()}
    listed = {kernels.itemText(n) for n in range(kernels.count())}
    assert listed == {variant.title for variant in VARIANTS.values()} | there
    for _ in range(kernels.findText("OpenVINO CPU") - kernels.currentIndex()):
        QTest.keyClick(kernels, Qt.Key.Key_Down)
    assert window.session.config.kernels == "openvino"
    assert window.engine_bar.lists.kernels_remark.text() == RUNTIMES["openvino"].device_title()


def test_cameras_are_listed_by_name(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    session.cameras_found.emit((CameraName(2, "HD Pro"),))
    box = window.panel.sources.list
    titles = [box.itemText(n) for n in range(box.count())]
    assert titles[0] == "HD Pro"
    assert "Animated scene" in titles
    window.opener.pick(box.itemData(0))
    assert opened == ["camera:HD Pro"]


def test_the_address_field_opens_an_address(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    window.panel.sources.entered.disconnect()
    window.panel.sources.entered.connect(session.open)
    press(window, "address")
    QTest.keyClicks(window.panel.sources.address, "http://cam/video")
    QTest.keyClick(window.panel.sources.address, Qt.Key.Key_Return)
    assert opened == ["http://cam/video"]


def test_an_address_without_its_scheme_is_http(window, session, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(session, "open", opened.append)
    window.panel.sources.entered.emit("192.168.1.5/video")
    assert opened == ["http://192.168.1.5/video"]


def test_escape_leaves_the_address_field_and_closes_it(window):
    press(window, "address")
    assert window.panel.sources.address.hasFocus()
    QTest.keyClick(window.panel.sources.address, Qt.Key.Key_Escape)
    assert window.viewport.hasFocus()
    assert not window.panel.sources.address.isVisible()


def test_once_an_address_is_open_its_field_closes_and_letters_are_keys_again(
    streaming, session, picture, qtbot
):
    with NetworkCamera() as camera:
        enter_address(streaming, camera.url("stream.mjpg"))
        qtbot.waitUntil(lambda: str(camera.port) in session.info.title, timeout=5000)
        qtbot.waitUntil(streaming.viewport.hasFocus)
        assert not streaming.panel.sources.address.isVisible()
        session.open(str(picture))  # or the camera would wait for its viewer to disconnect
        qtbot.waitUntil(lambda: session.info.title == "waves.png", timeout=5000)


@pytest.mark.parametrize("way", ["Enter", "Connect"])
def test_an_address_that_fails_stays_to_be_corrected(streaming, session, qtbot, way):
    panel, shown = streaming.panel, streaming.panel.sources.list.currentText()
    with NetworkCamera() as camera:
        address = camera.url("nothing")
        with qtbot.waitSignal(session.opening_failed, timeout=5000):
            enter_address(streaming, address, way)
    assert panel.sources.address.text() == address
    assert panel.sources.address.isVisible()
    assert panel.sources.address.hasFocus()
    assert panel.sources.list.currentText() == shown == "waves.png"
    assert streaming.problems.isVisible()
    press(streaming, "back")
    press(streaming, "back")
    assert not streaming.problems.isVisible()


def test_another_source_does_not_take_the_address_being_typed(streaming, session, picture, qtbot):
    press(streaming, "address")
    QTest.keyClicks(streaming.panel.sources.address, "http://10.0.0.")
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open([str(picture)])
    assert streaming.panel.sources.address.hasFocus()
    assert streaming.panel.sources.address.text() == "http://10.0.0."


def test_a_field_left_alone_closes_when_something_else_is_opened(
    streaming, session, picture, qtbot
):
    press(streaming, "address")
    streaming.viewport.setFocus()
    with qtbot.waitSignal(session.source_changed, timeout=5000):
        session.open([str(picture)])
    assert not streaming.panel.sources.address.isVisible()


def test_a_source_that_fails_leaves_the_list_as_it_was(streaming, session, tmp_path, qtbot):
    source = streaming.panel.sources.list
    session.cameras_found.emit((CameraName(77, "No camera of this name"),))
    with qtbot.waitSignal(session.opening_failed, timeout=20_000):
        source.setCurrentIndex(0)
        source.activated.emit(0)
    assert source.currentText() == "waves.png"


def test_the_wheel_over_the_panel_changes_nothing(window, session):
    before = session.config
    for control in (window.panel.controls["strength"], window.engine_bar.lists.precision):
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
    detail = window.panel.detail
    assert detail.reading.text() == "500 px"
    detail.setFocus()
    QTest.keyClick(detail, Qt.Key.Key_Left)
    assert session.config.size == 384, "it has its place among the others"


def test_the_sources_menu_marks_what_is_open(streaming):
    streaming.sources_menu.aboutToShow.emit()
    checked = [a.text() for a in streaming.sources_menu.actions() if a.isChecked()]
    assert checked == [streaming.session.info.title]


def test_a_precision_says_what_it_costs_in_bits_where_it_is_fast(
    every_precision, window, session, qtbot, monkeypatch
):
    monkeypatch.setattr(Precision, "remark", lambda *_: "")
    session.kernels_changed.emit(statuses("cpu"))  # makes the panel update its remarks
    session.config = replace(session.config, precision=Precision.tf32)
    said = "TF32 multiplies 11 of FP32's 24 bits"
    qtbot.waitUntil(lambda: window.engine_bar.lists.precision_remark.text() == said)
    session.config = replace(session.config, precision=Precision.fp32)
    qtbot.waitUntil(lambda: not window.engine_bar.lists.precision_remark.text().strip())


def offered(window: MainWindow) -> dict[str, str]:
    """Return the precisions of the list with the reason of a disabled one, else ""."""
    box, enabled = window.engine_bar.lists.precision, Qt.ItemFlag.ItemIsEnabled
    return {
        box.itemText(row): ""
        if box.model().index(row, 0).flags() & enabled
        else box.itemData(row, Qt.ItemDataRole.ToolTipRole)
        for row in range(box.count())
    }


def test_a_precision_that_does_not_help_on_the_cpu_is_disabled_with_the_reason(
    window, session, qtbot
):
    session.config = replace(session.config, precision=Precision.fp16)
    qtbot.waitUntil(lambda: bool(offered(window)["FP16"]), timeout=5000)
    reasons = offered(window)
    assert reasons.pop("FP32") == ""
    assert mentions(reasons["FP16"], "FP16: FP16", "slower than FP32")
    assert mentions(reasons["TF32"], "TF32 needs a GPU")
    assert all(reasons.values())
    assert window.engine_bar.lists.precision.currentText() == "FP16", "a stored choice stays shown"
    assert mentions(window.engine_bar.lists.precision_remark.text(), "FP16 is slower")
    assert session.config.precision is Precision.fp16


def test_bf16_is_offered_on_the_cpu_to_the_styles_that_it_helps(
    session, qtbot, color_styles, monkeypatch
):
    offer_bf16(monkeypatch)
    set_bf16_gains(monkeypatch, 0.7, any_style=1.2)
    install_colors(session, color_styles, "red")
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    qtbot.waitUntil(lambda: "not faster in BF16" in offered(window)["BF16"], timeout=5000)
    session.config = replace(session.config, style="red")
    qtbot.waitUntil(lambda: bool(offered(window)["FP16"]), timeout=5000)
    assert offered(window)["BF16"] == ""


def test_the_precisions_of_a_runtime_are_not_disabled_by_those_of_our_kernels(
    window, session, qtbot
):
    qtbot.waitUntil(lambda: bool(offered(window)["FP16"]), timeout=5000)
    session.config = replace(session.config, kernels="openvino")
    assert not any(offered(window).values())
    session.config = replace(session.config, kernels="fused")
    assert offered(window)["FP16"]


@pytest.fixture
def pictures_as_styles(session, color_styles):
    install_colors(session, color_styles, "red", "teal")


def test_a_control_without_a_meaning_for_the_family_is_disabled_with_the_reason(
    window, session, pictures_as_styles, monkeypatch
):
    monkeypatch.setattr(AnyStyleFamily, "unavailable", {"strokes": "they are all alike"})
    strokes, strength = (window.panel.controls[name] for name in ("strokes", "strength"))
    session.config = replace(session.config, style="red")
    assert not strokes.isEnabled()
    assert strokes.toolTip() == "They are all alike"
    assert strength.isEnabled()
    session.config = replace(session.config, style="mosaic")
    assert strokes.isEnabled()
    assert strokes.toolTip().startswith("Fine strokes")


def test_styles_of_pictures_have_the_choice_of_full_and_lite(window, session, pictures_as_styles):
    session.config = replace(session.config, style="red")
    assert window.engine_bar.controls["network"].isEnabled()
    assert not window.engine_bar.version_remark.text().strip()


def test_only_styles_of_one_family_are_offered_to_be_mixed(window, session, pictures_as_styles):
    def offered() -> list[str]:
        return [window.panel.mix.itemText(n) for n in range(window.panel.mix.count())]

    session.config = replace(session.config, style="candy", mix="udnie")
    assert offered() == ["None", "Mosaic", "Udnie"]
    window.mixer.choose_style("red")
    assert (session.config.style, session.config.mix) == ("red", None)
    assert offered() == ["None", "Teal"]
    press(window, "mix_next")
    assert session.config.mix == "teal"
    window.mixer.choose_style("teal")
    assert session.config.mix is None


# Auto is the end stop


def test_the_end_stop_tells_what_the_style_chose_at_the_moment(window, session):
    texture = window.panel.controls["texture"]
    texture.show_automatic(0.35)
    assert (texture.reading.text(), texture.at_end_stop) == ("Auto", True)
    assert mentions(texture.reading.toolTip(), "Auto", "35 %")
    assert mentions(texture.accessibleDescription(), "Auto", "35 %")
    texture.show_automatic(0.0)
    assert mentions(texture.reading.toolTip(), "Off")
    assert session.config.texture == AUTO


@pytest.mark.parametrize("name", ["texture", "strokes_length"])
def test_the_left_end_of_an_amount_makes_it_automatic_again(window, session, name):
    slider, row = window.panel.controls[name], PARAMETERS[name]
    assert isinstance(row, AmountParameter)
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert (getattr(session.config, name), slider.value()) == (0.0, 0)
    assert slider.reading.text() == slider.accessibleDescription() == row.zero
    QTest.keyClick(slider, Qt.Key.Key_End)
    assert getattr(session.config, name) == 1.0
    assert slider.accessibleDescription() == "100 %"
    QTest.keyClick(slider, Qt.Key.Key_Home)
    assert getattr(session.config, name) == AUTO
    assert slider.reading.text() == slider.accessibleDescription() == "Auto"
    session.config = replace(session.config, **{name: 0.04})
    QTest.keyClick(slider, Qt.Key.Key_PageDown)
    assert getattr(session.config, name) == AUTO


def test_a_drag_snaps_to_the_end_stop_or_to_nothing(window, session):
    texture = window.panel.controls["texture"]
    session.config = replace(session.config, texture=0.3)
    texture.setSliderDown(True)
    texture.setSliderPosition(texture.minimum() // 3)
    assert (session.config.texture, texture.value()) == (0.0, 0)
    texture.setSliderPosition(texture.minimum() + 1)
    assert (session.config.texture, texture.value()) == (AUTO, texture.minimum())
    texture.setSliderDown(False)
    assert session.config.texture == AUTO


def test_one_slider_sets_the_stroke_width_and_keeps_it_or_leaves_it_automatic(window, session):
    width, default = window.panel.controls["strokes"], session.config
    assert width.accessibleDescription() == "Auto"
    width.setFocus()
    seen = []
    for _ in range(3):
        QTest.keyClick(width, Qt.Key.Key_Right)
        seen.append((session.config.strokes, session.config.keep_strokes, width.reading.text()))
    assert seen == [("fine", True, "Fine"), ("medium", True, "Medium"), ("bold", True, "Bold")]
    QTest.keyClick(width, Qt.Key.Key_Home)
    assert session.config == default
    session.config = replace(default, strokes="bold")
    assert width.reading.text() == "Bold", "as a settings file of an earlier version has it"


def test_the_left_end_of_the_detail_makes_it_automatic_again(window, session):
    detail = window.panel.detail
    QTest.keyClick(detail, Qt.Key.Key_End)
    assert session.config.size == 7680
    QTest.keyClick(detail, Qt.Key.Key_Home)
    assert session.config.size is None
    assert detail.reading.text() == "Auto"


def test_the_angle_is_for_strokes_in_one_direction_alone(window, session):
    brushwork = window.panel.controls["strokes_direction"]
    assert not brushwork.angle.isEnabled()
    brushwork.setFocus()
    QTest.keyClick(brushwork, Qt.Key.Key_End)
    QTest.keyClick(brushwork, Qt.Key.Key_Up)
    assert session.config.strokes_direction == 45.0
    assert brushwork.angle.isEnabled()
    QTest.keyClick(brushwork.angle, Qt.Key.Key_End)
    assert session.config.strokes_direction == 179.0
    assert brushwork.degrees.text() == "179°"
    session.config = replace(session.config, strokes_direction="follow")
    assert brushwork.currentData() == "follow"
    assert not brushwork.angle.isEnabled()


def test_where_a_family_has_no_texture_its_value_says_so_too(window, session, monkeypatch):
    family = type(FAMILIES[FEED_FORWARD])
    monkeypatch.setattr(family, "unavailable", {"texture": "there is none here"})
    session.styles_changed.emit()
    texture = window.panel.controls["texture"]
    assert not any(part.isEnabled() for part in texture.parts)
    assert texture.toolTip() == "There is none here"


def test_a_frame_of_a_stream_tells_its_texture(streaming):
    texture = streaming.panel.controls["texture"]
    assert texture.at_end_stop
    assert "Off" in texture.accessibleDescription(), "the engine of the tests gives none"


# Nothing jumps when a line appears


def place(window, control):
    window.panel.widget().layout().activate()
    return control.mapTo(window, control.rect().topLeft()), control.size()


def test_remarks_and_rates_that_come_by_themselves_move_no_control(streaming, session):
    press(streaming, "advanced")
    panel, bar, styled = streaming.panel, streaming.engine_bar, streaming.viewport.styled
    panel.speed.show_steps(("a", "b", "c"), 1, None, None)
    controls = [panel.speed.slider, *panel.controls.values(), *bar.lists.boxes.values()]
    before = [place(streaming, control) for control in controls]
    panel.speed.show_steps(("a", "b", "c"), 1, FrameTime(50.0, True), FrameTime(90.0, False))
    session.styled.emit(replace(styled, running=replace(styled.running, lite=True)))
    assert bar.version_remark.text().strip()
    QApplication.processEvents()  # the layout
    assert [place(streaming, control) for control in controls] == before


# Controls opened by a key are in view


def in_view(window) -> bool:
    control, panel = window.focusWidget(), window.panel.viewport()
    corner = control.mapTo(panel, control.rect().topLeft())
    return panel.rect().contains(QRect(corner, control.size()))


def test_what_a_key_opens_in_the_panel_is_scrolled_to_and_has_the_focus(window, qtbot):
    window.resize(1280, 600)
    press(window, "advanced")
    seen = window.engine_bar.lists.device.visibleRegion().boundingRect()
    assert window.engine_bar.lists.device.hasFocus()
    assert seen == window.engine_bar.lists.device.rect()
    window.panel.verticalScrollBar().setValue(window.panel.verticalScrollBar().maximum())
    press(window, "address")
    assert window.focusWidget() is window.panel.sources.address
    assert in_view(window)


def test_a_key_shows_the_panel_that_has_what_it_opens(window, qtbot):
    press(window, "panel")
    assert not window.panel.isVisible()
    press(window, "address")
    assert window.panel.isVisible()
    assert in_view(window)


# open windows
# They open something of their own: a menu, a window, another program.
ELSEWHERE = ("menu", "sources", "language", "projector", "train", "help", "questions", "new_window")
LONG = ("quit", "fullscreen", "copy_report", "virtual_camera", "compare", "view_compare")
OPENS = [entry.key for entry in ACTIONS if entry.key not in (*ELSEWHERE, *LONG)]


@pytest.mark.full
def test_after_no_action_the_focus_is_out_of_sight(streaming, qtbot, monkeypatch):
    """All actions are triggered, except ones that open a menu or a window, or close this one."""
    streaming.resize(1280, 640)
    monkeypatch.setattr(QDialog, "open", lambda dialog: None)
    for key in OPENS:
        streaming.viewport.setFocus()
        streaming.actions_by_key[key].trigger()
        qtbot.wait(1)
        focused = streaming.focusWidget()
        if focused is None or focused.window() is not streaming:
            continue
        seen = focused.visibleRegion().boundingRect()
        assert seen.height() >= min(focused.height(), 24), key
