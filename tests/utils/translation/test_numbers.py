"""Numbers and lists in the format of the chosen language."""

from __future__ import annotations

import pytest

from utils.translation import numbers, texts
from utils.translation.joints import either, listed
from utils.translation.numbers import number, significant


@pytest.fixture
def comma():
    numbers.use(lambda value, decimals: f"{value:.{decimals}f}".replace(".", ","))
    yield
    numbers.use(None)


def test_numbers_are_english_until_a_language_is_chosen():
    assert number(1234.56, 1) == "1,234.6"
    assert number(7) == "7"


def test_the_language_writes_every_number(comma):
    assert number(29.97, 1) == "30,0"
    assert significant(29.97, 4) == "29,97"


@pytest.mark.parametrize(
    ("value", "said"), [(30.0, "30"), (29.970, "29.97"), (119.88, "119.9"), (0.5, "0.5")]
)
def test_zeros_behind_the_decimal_sign_are_left_out(value, said):
    assert significant(value, 4) == said


def test_a_large_number_is_written_out():
    assert significant(123456.0, 3) == "123,000"


@pytest.mark.parametrize(
    ("words", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ([*"abc"], "a, b and c")]
)
def test_things_are_listed_in_one_sentence(words, said):
    assert listed(words) == said


def test_a_list_has_the_signs_of_the_language():
    texts.use("zh_CN")
    assert listed([*"abc"]) == "a\u3001b \u548c c"
    texts.use("en")


@pytest.mark.parametrize(
    ("words", "said"),
    [([], ""), (["a"], "a"), (["a", "b"], "a or b"), ([*"abc"], "a or b or c")],
)
def test_what_can_be_chosen_is_listed_in_one_sentence(words, said):
    assert either(words) == said
