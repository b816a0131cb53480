"""External text is shown visibly, on one line and with bounded length."""

import pytest

from utils.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Great Wave", "Great Wave"),
        ("Grüße, 波, 🌊", "Grüße, 波, 🌊"),
        ("at 3.45\u202fPM", "at 3.45\u202fPM"),
        ("C:\\pictures\\new", "C:\\pictures\\new"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("\x1b[31mred\x07\x9b2J\x7f\0", "\\x1b[31mred\\x07\\x9b2J\\x7f\\x00"),
        ("a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\x85d"),
        ("photo\u202egpj.exe\u200b\ufeff", "photo\\u202egpj.exe\\u200b\\ufeff"),
        ("wrong\udcff byte", "wrong\\udcff byte"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_cannot_be_seen_becomes_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert printable("a" * 10, limit=10) == "a" * 10
    assert printable("a" * 11, limit=10) == "a" * 7 + "..."
    assert printable("\x1b" * 10, limit=10) == "\\x1b\\x1..."
    assert len(printable("\n" * 50_000_000)) == 300
