"""The history names changes, merges gestures, and leaves no trace of a refused change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.engine.config import EngineConfig
from app.ui.looks.history import LIMIT, History, change_title
from models.precision import Precision

START = EngineConfig()


def with_strength(strength: float) -> EngineConfig:
    return replace(START, strength=strength)


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"style": "udnie"}, "Style"),
        ({"mix": "udnie", "mix_amount": 0.3}, "Mix"),
        ({"strength": 0.4}, "Strength"),
        ({"strokes": "fine"}, "Stroke width"),
        ({"strokes": "fine", "keep_strokes": True}, "Stroke width"),
        ({"texture": 0.4}, "Texture"),
        ({"keep_colors": True}, "Keep colors"),
        ({"size": 512}, "Detail"),
        ({"precision": Precision.bf16}, "Precision"),
        ({"kernels": "baseline"}, "Engine"),
        ({"device": "cuda:0"}, "Device"),
        ({"network": "lite", "size": 256}, "Smooth or sharp"),
        ({"style": "udnie", "strength": 0.4}, "Look"),
        ({"compare": True}, ""),
    ],
)
def test_a_change_has_the_name_of_its_control(changes, title):
    assert change_title(START, replace(START, **changes)) == title


def test_undo_and_redo_go_through_all_changes():
    history = History(START)
    assert (history.undo_title, history.redo_title) == ("", "")
    history.record(with_strength(0.5))
    history.record(replace(with_strength(0.5), style="udnie"))
    assert history.undo_title == "Style"
    assert history.undo() == with_strength(0.5)
    assert (history.undo_title, history.redo_title) == ("Strength", "Style")
    assert history.undo() == history.undo() == START
    assert history.redo() == with_strength(0.5)
    assert history.redo() == history.redo() == replace(with_strength(0.5), style="udnie")


def test_a_change_after_an_undo_replaces_what_was_taken_back():
    history = History(START)
    history.record(with_strength(0.5))
    history.undo()
    history.record(replace(START, keep_colors=True))
    assert history.redo_title == ""
    assert history.undo() == START


def test_a_gesture_is_one_change_and_two_gestures_are_two():
    history = History(START)
    for strength in (0.9, 0.8, 0.7):
        history.record(with_strength(strength), 1)
    for strength in (0.6, 0.5):
        history.record(with_strength(strength), 2)
    assert history.undo() == with_strength(0.7)
    assert history.undo() == START


def test_another_control_within_a_gesture_is_another_change():
    history = History(START)
    history.record(with_strength(0.5), 1)
    history.record(replace(with_strength(0.5), style="udnie"), 1)
    assert history.undo() == with_strength(0.5)


def test_the_bar_from_smooth_to_sharp_is_one_change_whatever_it_sets():
    history = History(START)
    history.record(replace(START, network="lite"), 1)
    history.record(replace(START, network="lite", size=256), 1)
    assert history.undo_title == "Smooth or sharp"
    assert history.undo() == START


def test_a_gesture_that_ends_where_it_began_changes_nothing():
    history = History(START)
    history.record(with_strength(0.5), 1)
    history.record(START, 1)
    assert history.undo_title == ""


def test_a_gesture_does_not_go_on_after_an_undo():
    history = History(START)
    history.record(with_strength(0.9), 1)
    history.undo()
    history.record(with_strength(0.8), 1)
    assert history.undo() == START


def test_a_hundred_changes_are_kept():
    history = History(START)
    for step in range(LIMIT + 20):
        history.record(with_strength(step / 1000))
    undone = [history.undo() for _ in range(LIMIT + 20)]
    assert undone[-1] == with_strength(0.019)


def test_a_refused_choice_leaves_no_entry():
    history = History(START)
    history.record(with_strength(0.5))
    bad = replace(with_strength(0.5), device="cuda:9")
    history.record(bad)
    history.record(replace(bad, strength=0.4))
    history.refuse(with_strength(0.5))
    assert history.current == with_strength(0.5)
    assert (history.undo_title, history.redo_title) == ("Strength", "")


def test_a_choice_that_is_refused_when_it_is_done_again_leaves_no_entry():
    history = History(START)
    bad = replace(START, style="broken")
    history.record(bad)
    history.record(replace(bad, style="udnie"))
    assert history.undo() == bad
    history.refuse(replace(bad, style="udnie"))
    assert history.redo_title == ""
    assert history.undo_title == "Style"
    assert history.undo() == START


def test_a_refusal_within_a_gesture_keeps_what_was_before_it():
    history = History(START)
    history.record(with_strength(0.9), 1)
    history.record(with_strength(0.8), 1)
    history.record(replace(with_strength(0.8), device="cuda:9"))
    history.refuse(with_strength(0.9))
    assert history.current == with_strength(0.9)
    assert history.undo() == START


def test_the_first_choice_of_all_may_be_refused():
    history = History(replace(START, device="cuda:9"))
    history.refuse(START)
    assert history.current == START
    assert history.undo_title == ""


def test_choices_of_a_removed_style_are_left_out():
    history = History(START)
    for style in ("udnie", "mosaic", "udnie"):
        history.record(replace(START, style=style))
    history.record(replace(START, style="mosaic"))
    history.keep_styles({"candy", "mosaic"})
    assert history.current == replace(START, style="mosaic")
    assert history.undo() == START
