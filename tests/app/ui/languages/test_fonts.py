"""The font families requested in each language."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication, QLabel

from app.ui.languages import apply_fonts, families
from utils.translation.languages import LANGUAGES


@pytest.fixture
def app(qapp):
    before = qapp.font()
    yield qapp
    apply_fonts(qapp, "en")
    assert qapp.font().families() == before.families()


@pytest.fixture
def installed(monkeypatch):
    def install(*names: str) -> None:
        monkeypatch.setattr(QFontDatabase, "hasFamily", lambda name: name in names)

    return install


def test_japanese_and_chinese_ask_for_their_own_forms_first(installed):
    installed("Noto Sans CJK JP", "Noto Sans CJK SC", "Yu Gothic UI", "Sans")
    assert families("ja", ["Sans"]) == ["Noto Sans CJK JP", "Yu Gothic UI", "Sans"]
    assert families("zh_CN", ["Sans"]) == ["Noto Sans CJK SC", "Sans"]
    assert families("de", ["Sans"]) == ["Sans"]


def test_only_families_that_there_are_are_asked_for(installed):
    installed("Hiragino Sans")
    assert families("ja", ["Sans"]) == ["Hiragino Sans", "Sans"]
    installed()
    assert families("ja", ["Sans"]) == ["Sans"]


def test_a_family_of_the_system_is_asked_for_once(installed):
    installed("Noto Sans CJK SC", "Noto Sans CJK JP")
    wanted = families("ja", ["Noto Sans CJK SC", "Noto Sans CJK JP"])
    assert wanted == ["Noto Sans CJK JP", "Noto Sans CJK SC"]


def test_widgets_have_the_families_and_those_of_the_system_in_the_next_language(
    app: QApplication, qtbot, monkeypatch
):
    before = app.font()
    there = next(name for name in QFontDatabase.families() if name not in before.families())
    japanese = replace(LANGUAGES["ja"], fonts=("No Such Family", there))
    monkeypatch.setitem(LANGUAGES, "ja", japanese)
    apply_fonts(app, "ja")
    label = QLabel()
    qtbot.addWidget(label)
    assert label.font().families() == [there, *before.families()]
    assert label.font().pointSizeF() == before.pointSizeF()
    apply_fonts(app, "de")
    assert app.font().families() == before.families()
