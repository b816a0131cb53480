"""Handles survive a round trip through text, and an invalid text says why."""

from __future__ import annotations

import pytest

from utils.stroke_directions import (
    MOST_HANDLES,
    Handle,
    are_handles,
    format_handles,
    nearest_handle,
    parse_handles,
    rounded_handle,
)

HANDLES = Handle(0.25, 0.4, 30.0), Handle(0.0, 1.0, 0.0), Handle(0.7123, 0.0001, 179.9)


def test_handles_come_back_from_their_text():
    text = format_handles(HANDLES)
    assert text == "0.25,0.4,30;0,1,0;0.7123,0.0001,179.9"
    assert parse_handles(text) == HANDLES
    assert (format_handles(()), parse_handles(""), parse_handles(" ; ")) == ("", (), ())
    assert parse_handles(" 0.25 , 0.40,30 ;") == HANDLES[:1]


def test_handles_of_a_text_have_the_precision_of_their_text():
    (handle,) = parse_handles("0.123456,0.5,30.04")
    assert handle == Handle(0.1235, 0.5, 30.0)
    assert rounded_handle(0.5, 0.5, 179.97) == Handle(0.5, 0.5, 0.0)
    assert rounded_handle(0.5, 0.5, -30.0) == Handle(0.5, 0.5, 150.0)
    many = tuple(rounded_handle(n / 977, 1 - n / 977, n * 7.37) for n in range(MOST_HANDLES))
    assert parse_handles(format_handles(many)) == many


@pytest.mark.parametrize(
    "text", ["0.5,0.5", "0.5,0.5,30,1", "1.01,0.5,0", "0.5,-0.1,0", "0.5,0.5,180", "a,b,c",
             "0.5,0.5,nan", "nan,0.5,0", "0.5 0.5 30", "0.5,0.5,-1"], ids=str
)  # fmt: skip
def test_a_text_without_handles_says_what_one_is(text):
    with pytest.raises(ValueError, match=r"^a handle is x,y,angle, .* not '") as fault:
        parse_handles(f"0.25,0.4,30;{text}")
    assert str(fault.value).endswith(f"not '{text}'")


def test_more_handles_than_strokes_can_have_are_refused():
    handles = HANDLES[:1] * MOST_HANDLES
    assert are_handles(parse_handles(format_handles(handles)))
    with pytest.raises(ValueError, match=f"at most {MOST_HANDLES} .* {MOST_HANDLES + 1}$"):
        parse_handles(format_handles((*handles, HANDLES[1])))


def test_the_nearest_handle_is_the_one_nearest_on_the_screen():
    handles = Handle(0.5, 0.9, 0.0), Handle(0.2, 0.5, 0.0)
    assert nearest_handle(handles, 0.5, 0.5, 1.0) == 1
    assert nearest_handle(handles, 0.5, 0.5, 2.0) == 0, "a wide picture"
