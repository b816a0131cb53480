"""The table of languages: how each is called by those who speak it, and its forms of plurals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SYSTEM = "system"  # the choice of the system's language
SOURCE = "en"  # the language that texts have in the source


@dataclass(frozen=True, slots=True)
class Language:
    """One language.

    Attributes:
        title: Its name in itself.
        forms: Names of its forms of plurals, as in the plural rules of Unicode CLDR.
        form: Returns the form for a number of things, one of `forms`.
        offered: Whether it can be chosen in the window: once nearly all is translated.
    """

    title: str
    forms: tuple[str, ...]
    form: Callable[[int], str]
    offered: bool = False


def _one(number: int) -> str:
    return "one" if number == 1 else "other"


def _none_or_one(number: int) -> str:
    return "one" if number in (0, 1) else "other"


def _other(_number: int) -> str:
    return "other"


# By the names that Qt and the system give them; a language with another script or a country's own
# words has that in its name.
LANGUAGES: dict[str, Language] = {
    "en": Language("English", ("one", "other"), _one, offered=True),
    "de": Language("Deutsch", ("one", "other"), _one, offered=True),
    "es": Language("Español", ("one", "other"), _one, offered=True),
    "fr": Language("Français", ("one", "other"), _none_or_one, offered=True),
    "ja": Language("日本語", ("other",), _other, offered=True),
    "zh_CN": Language("简体中文", ("other",), _other, offered=True),
}
