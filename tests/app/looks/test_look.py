"""Looks survive a round trip through JSON, and an invalid one raises an error that says why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.engine.config import EngineConfig
from app.looks.look import Look, LookError, parse_look
from app.looks.look_file import DAMAGED, LookFile, NamedLook, look_name
from models.precision import Precision
from tests.helpers.errors import mentions
from utils.stroke_directions import Handle
from utils.translation import texts

MIXED = replace(
    EngineConfig(style="udnie", mix="candy", mix_amount=0.3, strength=0.7, keep_colors=True),
    strokes="fine",
    texture=0.25,
)
LOOK = Look.of(MIXED)


def test_what_is_no_value_of_a_setting_is_told_in_the_chosen_language(monkeypatch):
    stored = json.dumps({"styles": {"udnie": 1}, "keep_colors": "maybe"})
    with pytest.raises(LookError, match=r"keep colors .*'maybe'"):
        parse_look(stored)
    german = {
        "its {setting} cannot be {value}": "{value} geht nicht bei {setting}",
        "Keep colors": "Farben behalten",
    }
    monkeypatch.setattr(texts, "_Chosen", type("Chosen", (), {"key": "de", "texts": german}))
    with pytest.raises(LookError, match=r"^'maybe' geht nicht bei Farben behalten$"):
        parse_look(stored)


def test_a_look_comes_back_and_changes_nothing_else():
    other = replace(EngineConfig(), size=512, precision=Precision.bf16, smoothing=0.5, compare=True)
    applied = parse_look(LOOK.text()).applied(other)
    wanted = replace(
        other, style="udnie", mix="candy", mix_amount=0.3, strength=0.7, keep_colors=True,
        strokes="fine", texture=0.25,
    )  # fmt: skip
    assert replace(applied, mix_amount=0.3) == wanted
    assert applied.mix_amount == pytest.approx(0.3)


def test_a_look_of_several_styles_and_automatic_texture_comes_back():
    parts = (("a", 0.25), ("b", 0.5), ("c", 0.25))
    look = parse_look(Look(parts).text())
    assert look == Look(parts)
    assert look.applied(EngineConfig()).parts == parts


def test_a_look_has_the_handles_of_strokes_that_are_combed_by_hand_alone():
    handles = Handle(0.25, 0.4, 30.0), Handle(0.7, 0.6, 120.5)
    combed = EngineConfig(strokes_direction="hand", strokes_handles=handles)
    look = Look.of(combed)
    assert json.loads(look.text())["strokes_handles"] == "0.25,0.4,30;0.7,0.6,120.5"
    assert parse_look(look.text()) == look
    assert look.applied(EngineConfig()) == combed
    assert Look.of(replace(combed, strokes_direction="swirl")).strokes_handles == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "it is not valid JSON"),
        ("[]", "it names no styles"),
        ('{"styles": {}}', "it has 0 styles, not 1 to 4"),
        ('{"styles": {"a": "1"}}', "the share of a style is not a number"),
        ('{"styles": {"a": 0.5}}', "the shares of its styles do not add up to 1"),
        ('{"styles": {"a": NaN}}', "it has a number that is not finite or too large"),
        ('{"styles": {"a": 1}, "strength": 2.5}', "its strength cannot be 2.5"),
        ('{"styles": {"a": 1}, "strokes": "wild"}', "its stroke width cannot be 'wild'"),
        ('{"styles": {"a": 1}, "texture": "some"}', "its texture cannot be 'some'"),
        ('{"styles": {"a": 1}, "strokes_handles": "1,2"}', "its strokes by hand cannot be '1,2'"),
        ('{"styles": {"a": 1}, "strokes_handles": [1]}', r"its strokes by hand cannot be \[1\]"),
        ('{"styles": {"a": 1}, "keep_colors": 1}', "its keep colors cannot be 1.0"),
    ],
)
def test_what_is_no_look_says_why_in_one_sentence(text, fault):
    with pytest.raises(LookError, match=f"^{fault}$"):
        parse_look(text)


def test_a_look_of_a_style_that_is_not_there_says_which():
    assert LOOK.missing({"udnie", "candy"}) == ""
    assert mentions(LOOK.missing({"udnie"}), "candy", "not installed")


def test_saved_looks_come_back(tmp_path):
    file = LookFile(tmp_path / "user" / "looks.json")
    looks = [NamedLook("Evening", LOOK, b"\x89PNG"), NamedLook("Plain", Look((("udnie", 1.0),)))]
    assert file.read() == ([], "")
    file.write(1, looks)
    assert LookFile(file.path).read() == (looks, "")
    assert [path.name for path in file.path.parent.iterdir()] == ["looks.json"]


def test_older_looks_never_replace_newer_ones(tmp_path):
    file = LookFile(tmp_path / "looks.json")
    file.write(2, [NamedLook("New", LOOK)])
    file.write(1, [])
    assert [each.name for each in file.read()[0]] == ["New"]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"{", "it is not valid JSON"),
        (b"[1]", "it has no list of looks"),
    ],
)
def test_a_damaged_file_is_one_sentence_and_a_copy_is_kept(tmp_path, data, fault):
    path = tmp_path / "looks.json"
    path.write_bytes(data)
    looks, said = LookFile(path).read()
    assert looks == []
    assert mentions(said, str(path), f"({fault})", DAMAGED)
    assert (tmp_path / DAMAGED).read_bytes() == data


def test_of_a_file_with_damaged_looks_the_others_are_kept(tmp_path):
    path = tmp_path / "looks.json"
    good = {"name": "Good", **LOOK.stored()}
    bad = [{"name": "x"}, {**good, "name": ""}, {**good, "picture": "%"}]
    path.write_text(json.dumps({"looks": [*bad, good]}))
    looks, said = LookFile(path).read()
    assert [each.name for each in looks] == ["Good"]
    assert mentions(said, "look 1:", "2 more")


def test_a_name_is_one_line():
    assert look_name("  red\n\x1b[0m sea " + 80 * "x") == ("red [0m sea " + 80 * "x")[:60]
