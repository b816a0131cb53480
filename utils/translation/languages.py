"""The table of languages: the name of each in itself, and its plural forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SYSTEM = "system"  # choice of the system's language
SOURCE = "en"  # language of the texts in the source


@dataclass(frozen=True, slots=True)
class Signs:
    """The punctuation between texts, with the spaces around it.

    Attributes:
        stop: Between sentences.
        semicolon: Between parts of a sentence.
        listing: Between items of a list that ends in "and".
    """

    stop: str = ". "
    semicolon: str = "; "
    comma: str = ", "
    colon: str = ": "
    listing: str = ", "


@dataclass(frozen=True, slots=True)
class Language:
    """One language.

    Attributes:
        title: Its name in itself.
        forms: Names of its plural forms, as in the plural rules of Unicode CLDR.
        form: Returns the form for a number, one of `forms`.
        fonts: Fonts with the language's own forms of characters, the best first; empty if the
            system's have them.
        offered: Whether the window offers it: once nearly everything is translated.
    """

    title: str
    forms: tuple[str, ...]
    form: Callable[[int], str]
    signs: Signs = Signs()
    fonts: tuple[str, ...] = ()
    offered: bool = False


def _one(number: int) -> str:
    return "one" if number == 1 else "other"


def _none_or_one(number: int) -> str:
    return "one" if number in (0, 1) else "other"


def _other(_number: int) -> str:
    return "other"


_JAPANESE = (
    *("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "Yu Gothic UI", "Meiryo"),
    *("Hiragino Sans", "IPAexGothic", "IPAPGothic", "TakaoPGothic", "VL PGothic"),
)
_CHINESE = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Microsoft YaHei UI"),
    *("PingFang SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
)

# Keyed by the names of Qt and the system. A language with another script or a country's own words
# includes the script or the country in its name.
LANGUAGES: dict[str, Language] = {
    "en": Language("English", ("one", "other"), _one, offered=True),
    "de": Language("Deutsch", ("one", "other"), _one, offered=True),
    "es": Language("Español", ("one", "other"), _one, offered=True),
    "fr": Language(
        "Français",
        ("one", "other"),
        _none_or_one,
        Signs(semicolon="\u202f; ", colon="\u00a0: "),  # with no-break spaces
        offered=True,
    ),
    "ja": Language(
        "日本語",
        ("other",),
        _other,
        Signs("。", "。", "、", ": ", "、"),
        _JAPANESE,
        offered=True,
    ),
    "zh_CN": Language(
        "简体中文",
        ("other",),
        _other,
        Signs("。", "；", "，", "：", "、"),  # noqa: RUF001  (the signs of Chinese)
        _CHINESE,
        offered=True,
    ),
}
