"""The gallery sorts styles by favorites, then by group, by hand and by the catalog."""

from __future__ import annotations

from pathlib import Path

from app.styles.pack import Style
from app.ui.gallery.arrangement import (
    arranged,
    found,
    grouped,
    groups_of,
    keys_of,
    moved,
    text_of,
    with_group,
)


def style(key: str, group: str = "", credit: str = "") -> Style:
    return Style(key, key.title(), Path("w.safetensors"), credit, group=group)


STYLES = (style("a"), style("b", "Sea"), style("c", "Ice"), style("d", "Sea"), style("e"))


def keys(styles) -> str:
    return "".join(each.key for each in styles)


def test_styles_of_a_group_stand_together_after_those_without_one():
    assert keys(arranged(STYLES, (), ())) == "aecbd"


def test_an_order_by_hand_is_kept_within_the_groups():
    assert keys(arranged(STYLES, ("d", "e"), ())) == "eacdb"


def test_groups_of_the_user_go_before_those_of_packs():
    setting = with_group(with_group("", "a", "  My   own "), "b", "")
    assert groups_of(setting) == {"a": "My own", "b": ""}
    assert [each.group for each in grouped(STYLES, groups_of(setting))] == [
        "My own",
        "",
        "Ice",
        "Sea",
        "",
    ]


def test_a_setting_of_groups_that_was_damaged_gives_what_can_be_read():
    assert groups_of("a\n\n b\nc Sea") == {"c": "Sea"}


def test_favorites_come_first_in_the_order_by_hand():
    assert keys(arranged(STYLES, ("d", "a"), ("a", "d", "gone"))) == "daecb"
    assert keys(arranged(STYLES, (), ("c",))) == "caebd"


def test_every_word_of_a_search_has_to_be_found_in_whatever_case():
    styles = (style("wave", "Sea", "after Hokusai"), style("scream", credit="after Munch"))
    assert keys(found(styles, "SEA hoku")) == "wave"
    assert keys(found(styles, "after")) == "wavescream"
    assert keys(found(styles, "sea munch")) == ""
    assert keys(found(styles, "  ")) == "wavescream"


def test_keys_are_kept_as_lines_each_once():
    assert keys_of(text_of(("a", "b"))) == ("a", "b")
    assert keys_of("a\n\nb\na") == ("a", "b")


def test_a_style_is_moved_before_another_or_to_the_end():
    assert moved("abc", "c", "a") == ("c", "a", "b")
    assert moved("abc", "a", "") == ("b", "c", "a")
