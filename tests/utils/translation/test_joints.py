"""Texts joined with the punctuation of the chosen language."""

from __future__ import annotations

import pytest

from utils.translation import texts
from utils.translation.joints import clauses, enumerated, labeled, sentences


@pytest.fixture
def speak():
    yield texts.use
    texts.use("en")


def said() -> list[str]:
    return [sentences("a", "b"), clauses(["a", "b"]), enumerated(["a", "b"]), labeled("a", "b")]


@pytest.mark.parametrize(
    ("language", "joined"),
    [
        ("en", ["a. b", "a; b", "a, b", "a: b"]),
        ("de", ["a. b", "a; b", "a, b", "a: b"]),
        ("fr", ["a. b", "a\u202f; b", "a, b", "a\u00a0: b"]),
        ("ja", ["a\u3002b", "a\u3002b", "a\u3001b", "a: b"]),
        ("zh_CN", ["a\u3002b", "a\uff1bb", "a\uff0cb", "a\uff1ab"]),
    ],
)
def test_texts_are_joined_as_the_language_does(speak, language, joined):
    speak(language)
    assert said() == joined


def test_what_is_empty_leaves_no_sign_behind(speak):
    assert sentences("", "b") == "b"
    assert clauses(["a", ""]) == "a"
    assert enumerated([]) == ""
