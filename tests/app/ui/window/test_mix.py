"""Mixing styles in the window: up to four picture styles on a wheel, two or three networks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from app.settings import Settings
from app.ui.controllers.settings_mapping import config_from_settings, settings_with_config
from app.ui.gallery.cards_view import MIME
from models.precision import Precision
from tests.app.ui.window.conftest import COLORS, install_colors, press
from tests.helpers.errors import mentions


@pytest.fixture
def colors(session, color_styles):
    """Install five styles of an any-style network and choose the first."""
    install_colors(session, color_styles, *COLORS)
    session.config = replace(session.config, style="gold")


def options(window) -> dict[str, bool]:
    box = window.panel.mix
    enabled = Qt.ItemFlag.ItemIsEnabled
    return {
        box.itemText(row): bool(box.model().index(row, 0).flags() & enabled)
        for row in range(box.count())
    }


def test_the_wheel_appears_where_styles_of_pictures_are_mixed(window, session, colors):
    panel, slider = window.panel, window.panel.controls["mix_amount"]
    assert not panel.wheel.isVisible()
    assert slider.isVisible()
    window.mixer.toggle_mix("red")
    assert panel.wheel.isVisible()
    assert not slider.isVisible()
    assert not slider.percent.isVisible()
    assert panel.wheel.accessibleDescription() == "Gold 50 %, Red 50 %"
    window.mixer.choose_style("candy")
    assert not panel.wheel.isVisible()
    press(window, "mix")
    assert session.config.mix == "mosaic"
    assert not panel.wheel.isVisible()
    assert slider.isVisible()


def test_the_wheel_changes_the_shares(window, session, colors):
    for key in ("red", "teal"):
        window.mixer.toggle_mix(key)
    wheel = window.panel.wheel
    wheel.setFocus()
    QTest.keyClick(wheel, Qt.Key.Key_PageUp)
    shares = dict(session.config.parts)
    assert shares["gold"] > 0.45
    assert shares["red"] == pytest.approx(shares["teal"])
    assert sum(shares.values()) == pytest.approx(1)
    assert window.mixer.label() == wheel.accessibleDescription()
    QTest.keyClick(wheel, Qt.Key.Key_Left)  # not a shortcut of the window
    assert session.config.styles == ("gold", "red", "teal")
    assert dict(session.config.parts)["teal"] > shares["teal"]


def test_up_to_four_styles_are_mixed_and_a_fifth_is_refused(window, session, colors):
    for key in ("plum", "red", "teal"):
        window.mixer.toggle_mix(key)
    assert session.config.styles == ("gold", "plum", "red", "teal")
    before = session.config
    window.mixer.toggle_mix("wheat")
    assert session.config == before
    assert "At most 4 styles" in window.notices.text
    assert not options(window)["Wheat"]
    assert options(window)["Teal"]


def test_a_style_is_taken_out_of_a_mix_and_the_others_keep_their_proportions(
    window, session, colors
):
    parts = (("gold", 0.5), ("plum", 0.25), ("red", 0.25))
    session.config = session.config.mixed(parts)
    window.mixer.toggle_mix("gold")
    assert session.config.parts == (("plum", 0.5), ("red", 0.5))
    window.mixer.toggle_mix("red")
    assert session.config.parts == (("plum", 1.0),)


def test_the_list_mixes_in_and_takes_out(window, session, colors):
    panel = window.panel
    assert panel.mix.currentText() == "None"
    for expected in (("gold", "plum"), ("gold", "plum", "red")):
        panel.mix.setCurrentIndex(panel.mix.findText(expected[-1].title()))
        panel.mix.activated.emit(panel.mix.currentIndex())
        assert session.config.styles == expected
    assert panel.mix.currentIndex() == -1
    assert panel.mix.placeholderText() == "3 styles"
    row = panel.mix.findText("Plum")
    assert "take it out" in panel.mix.itemData(row, Qt.ItemDataRole.ToolTipRole)
    panel.mix.activated.emit(row)
    assert session.config.styles == ("gold", "red")
    assert panel.mix.currentText() == "Red"
    panel.mix.activated.emit(0)
    assert session.config.styles == ("gold",)


def test_a_mix_of_several_is_switched_off_and_on(window, session, colors):
    parts = (("gold", 0.5), ("plum", 0.3), ("red", 0.2))
    session.config = session.config.mixed(parts)
    press(window, "mix")
    assert session.config.styles == ("gold",)
    press(window, "mix")
    assert session.config.parts == parts
    press(window, "mix_next")
    assert session.config.styles == ("gold", "plum", "teal")


def test_a_mix_that_was_left_at_one_end_begins_in_halves_again(window, session):
    session.config = session.config.mixed((("candy", 0.0), ("mosaic", 1.0)))
    press(window, "mix")
    press(window, "mix")
    assert session.config.parts == (("candy", 0.5), ("mosaic", 0.5))
    session.config = session.config.mixed((("candy", 0.0), ("mosaic", 1.0)))
    window.mixer.choose_style("udnie")
    assert session.config.parts == (("udnie", 0.5), ("mosaic", 0.5)), "the choice is seen"


def test_the_share_of_a_mix_that_ended_is_not_saved(window, session):
    session.config = session.config.mixed((("candy", 0.02), ("mosaic", 0.98)))
    window.mixer.stop_mix()
    assert window.settings.current().mix_amount == 0.5


def test_every_style_of_the_mix_has_its_share_in_the_gallery(window, session, colors):
    session.config = session.config.mixed((("gold", 0.5), ("plum", 0.3), ("red", 0.2)))
    model = window.gallery.model
    said = {
        key: model.index(model.row_of(key)).data(Qt.ItemDataRole.AccessibleTextRole)
        for key in ("gold", "plum", "red", "teal")
    }
    assert "50 % of the mix" in said["gold"]
    assert "30 % of the mix" in said["plum"]
    assert "20 % of the mix" in said["red"]
    assert "of the mix" not in said["teal"]


def test_a_mix_of_several_is_saved_and_restored(window, session, colors):
    parts = (("gold", 0.4), ("plum", 0.3), ("red", 0.2), ("teal", 0.1))
    session.config = session.config.mixed(parts)
    stored = settings_with_config(Settings(), session.config)
    restored = config_from_settings(stored, session.catalog).parts
    assert [key for key, _ in restored] == ["gold", "plum", "red", "teal"]
    assert [share for _, share in restored] == pytest.approx([0.4, 0.3, 0.2, 0.1])


def test_a_style_that_is_removed_leaves_the_mix(window, session, colors, qtbot):
    session.config = session.config.mixed((("gold", 0.5), ("plum", 0.25), ("red", 0.25)))
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        session.user_styles.remove("gold")
    assert session.config.parts == (("plum", 0.5), ("red", 0.5))


# Controls without a meaning for picture styles


def test_what_a_style_of_a_picture_cannot_do_is_disabled_with_the_reason(
    every_precision, window, session, colors
):
    enabled = Qt.ItemFlag.ItemIsEnabled

    def state(box, text: str) -> tuple[bool, str]:
        row = box.findText(text)
        index = box.model().index(row, 0)
        return bool(index.flags() & enabled), box.itemData(row, Qt.ItemDataRole.ToolTipRole)

    offered, reason = state(window.engine_bar.lists.precision, "INT8")
    assert not offered
    assert mentions(reason, "INT8:", "any-style network")
    assert state(window.engine_bar.lists.precision, "FP16")[0]
    allowed, said = state(window.engine_bar.lists.kernels, "Fused norm")
    assert not allowed
    assert mentions(said, "Fused norm:", "any-style network")
    assert window.engine_bar.lists.kernels.currentText() == "Fused"
    assert "PyTorch's kernels" in window.engine_bar.lists.kernels_remark.text()
    window.mixer.choose_style("candy")
    assert state(window.engine_bar.lists.precision, "INT8")[0]
    assert state(window.engine_bar.lists.kernels, "Fused norm")[0]
    assert window.engine_bar.lists.kernels.currentText() == "Fused"


def test_a_precision_that_was_chosen_before_stays_shown(window, session, colors):
    session.config = replace(session.config, style="candy", precision=Precision.int8)
    session.config = replace(session.config, style="gold")
    assert window.engine_bar.lists.precision.currentText() == "INT8"


def test_a_style_of_another_kind_is_not_mixed_in_and_the_reason_is_told(window, session, colors):
    before = session.config
    window.mixer.toggle_mix("candy")
    assert session.config == before
    said = "Gold and Candy cannot be mixed: Gold is a code of an any-style network, and Candy is a"
    assert window.notices.text.startswith(said)
    menu = window.gallery.context_menu("candy")
    mix = next(action for action in menu.actions() if action.text() == "&Mix with this style")
    assert not mix.isEnabled()
    assert mix.toolTip() == window.notices.text
    menu = window.gallery.context_menu("red")
    mix = next(action for action in menu.actions() if action.text() == "&Mix with this style")
    assert mix.isEnabled()


def drop_on(window, key: str, onto: str) -> None:
    view, model = window.gallery.view, window.gallery.model
    data = QMimeData()
    data.setData(MIME, key.encode())
    place = QPointF(view.visualRect(model.index(model.row_of(onto))).center())
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    view.dropEvent(QDropEvent(place, Qt.DropAction.MoveAction, data, *none))


def test_a_card_that_is_dropped_on_another_is_mixed_with_it(window, session):
    window.resize(1600, 900)
    drop_on(window, "udnie", "mosaic")
    assert session.config.styles == ("mosaic", "udnie")
    assert window.gallery.keys == ["candy", "mosaic", "udnie"]
    drop_on(window, "udnie", "udnie")
    assert session.config.styles == ("mosaic", "udnie")


def test_a_third_card_makes_a_triangle_of_a_mix(window, session, colors):
    window.resize(1600, 900)
    drop_on(window, "red", "gold")
    drop_on(window, "teal", "red")
    assert session.config.styles == ("gold", "red", "teal")
    assert window.panel.wheel.isVisible()
    assert len(window.panel.wheel.shares) == 3


def test_a_third_network_makes_a_triangle_and_two_have_a_slider(window, session):
    window.mixer.toggle_mix("mosaic")
    assert not window.panel.wheel.isVisible()
    window.mixer.toggle_mix("udnie")
    assert session.config.styles == ("candy", "mosaic", "udnie")
    assert window.panel.wheel.isVisible()
    assert window.panel.wheel.shares == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_a_card_of_another_kind_is_not_mixed_and_the_reason_is_told(window, session, colors, qtbot):
    window.resize(1600, 900)
    with qtbot.waitSignal(session.notice) as blocker:
        drop_on(window, "candy", "red")
    assert mentions(blocker.args[0], "Red", "Candy", "cannot be mixed")
    assert session.config.styles == ("gold",)
