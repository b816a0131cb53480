"""The palette finds titles and texts by words, and puts the likeliest first."""

from __future__ import annotations

import pytest

from app.ui.palette.recent import MOST, keys_of, with_newest
from app.ui.palette.search import Index, folded, ranked

TEXTS = {
    "webcam": ("Webcam", ""),
    "camera": ("Camera", "Paint a scene"),
    "virtual": ("Virtual camera", ""),
    "size": ("Size and rate", "of the camera"),
    "über": ("Größe der Übermalung", "Élan"),
    "影像": ("虚拟摄像头设置", "选择大小"),
}


def found(query: str, *recent: str) -> list[str]:
    return ranked(list(TEXTS), Index(TEXTS.values()), query, recent, str)


def test_titles_that_begin_come_first_then_words_then_parts_then_texts():
    assert found("cam") == ["camera", "virtual", "webcam", "size"]


def test_all_words_are_needed_in_any_order():
    assert found("camera virtual") == found("virt CAM") == ["virtual"]
    assert found("camera nothing") == []


def test_the_recently_used_come_first_among_equals():
    assert found("cam", "virtual") == ["virtual", "camera", "webcam", "size"]
    assert found("cam", "size", "webcam") == ["camera", "virtual", "webcam", "size"]
    assert found("", "size", "virtual")[:2] == ["size", "virtual"]


@pytest.mark.parametrize("query", ["grosse", "GRÖSSE", "ubermal", "elan", "große"])
def test_case_and_accents_are_ignored(query):
    assert found(query) == ["über"]


@pytest.mark.parametrize("query", ["摄像头", "虚拟", "设置 摄像", "大小"])
def test_chinese_is_found_inside(query):
    assert found(query) == ["影像"]


def test_parts_of_longer_texts_are_found_by_chance_and_left_out():
    assert found("cene") == []
    assert found("scene") == ["camera"]


def test_kana_with_another_sound_are_other_letters():
    assert folded("ガラス") != folded("カラス")
    assert folded("ﾃｽﾄ") == folded("テスト")


def test_the_newest_keys_are_kept_once_each():
    stored = ""
    for number in range(2 * MOST):
        stored = with_newest(stored, str(number))
    stored = with_newest(stored, str(2 * MOST - 3))
    assert keys_of(stored)[:3] == [str(2 * MOST - back) for back in (3, 1, 2)]
    assert len(keys_of(stored)) == MOST
