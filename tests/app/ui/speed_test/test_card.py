"""The card has every engine's bar, the machine and the painting, legible in both themes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QColor, QImage

from app.speed_test.result import Row
from app.ui.speed_test.card import HEIGHT, MOST_BARS, PICTURE, WIDTH, card_of, paint_card
from app.ui.theme.tokens import DARK, LIGHT
from tests.app.speed_test.results import MACHINE, PLAIN, RESULT, time

RED = "#c81e1e"


def painted(tokens, qapp, result=RESULT) -> QImage:
    picture = QImage(640, 360, QImage.Format.Format_RGB32)
    logo = QImage(64, 64, QImage.Format.Format_ARGB32)
    picture.fill(QColor(RED))
    logo.fill(QColor("#00ff00"))
    return paint_card(card_of(result), picture, logo, tokens, qapp.font())


def test_each_measured_engine_has_a_bar_as_long_as_its_time():
    bars = card_of(RESULT).bars
    assert [(bar.title, bar.share) for bar in bars] == [
        ("StyleForge, CPU", 0.1), (PLAIN, 0.8), ("ONNX Runtime CPU", 0.9), ("OpenVINO CPU", 1.0),
    ]  # fmt: skip
    assert [bar.ours for bar in bars] == [True, False, False, False]
    assert bars[0].figures[:2] == ("50.0 ms", "20.0 fps")
    assert bars[0].figures[2].startswith("8.00")
    assert bars[1].figures[2] == ""
    assert bars[3].figures[2].startswith("0.80")


def test_the_card_states_machine_versions_and_conditions():
    card = card_of(RESULT)
    foot = "\n".join(card.foot)
    for fact in (MACHINE.processor, *MACHINE.gpus, MACHINE.system, *MACHINE.versions):
        assert fact in foot
    assert card.conditions == "1280x720, FP32, Candy, fine version"
    assert card.headline.startswith("8.00")


def test_a_slower_engine_of_ours_is_not_called_faster():
    slow = Row("StyleForge, CPU", True, time(800.0), ratio=0.5, beside=PLAIN)
    card = card_of(replace(RESULT, rows=(slow, *RESULT.rows[2:])))
    assert card.headline.startswith("0.50")


def test_many_engines_keep_the_one_that_the_headline_compares_with():
    others = tuple(Row(f"Runtime {n}", latency=time(60.0 + n), ratio=1.0) for n in range(9))
    card = card_of(replace(RESULT, rows=(*RESULT.rows[1:3], *others)))
    assert len(card.bars) == MOST_BARS
    assert PLAIN in [bar.title for bar in card.bars]
    assert "4" in card.left_out
    assert card_of(RESULT).left_out == ""


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
def test_the_painting_is_at_the_left_and_the_rest_has_the_theme(tokens, qapp):
    card = painted(tokens, qapp)
    assert (card.width(), card.height()) == (WIDTH, HEIGHT) == (1200, 630)
    for x, y in ((0, 0), (PICTURE - 2, HEIGHT - 1), (PICTURE // 2, HEIGHT // 2)):
        assert card.pixelColor(x, y).name() == RED
    for x, y in ((PICTURE + 2, 2), (WIDTH - 2, HEIGHT - 2)):
        assert card.pixelColor(x, y).name() == tokens.window


def test_a_card_without_any_time_has_no_bar(qapp):
    nothing = replace(RESULT, rows=RESULT.rows[:1])
    assert card_of(nothing).bars == ()
    assert painted(DARK, qapp, nothing).width() == WIDTH
