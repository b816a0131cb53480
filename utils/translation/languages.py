"""The table of languages: how each is called by those who speak it, and its forms of plurals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SYSTEM = "system"  # the choice of the system's language
SOURCE = "en"  # the language that texts have in the source


@dataclass(frozen=True, slots=True)
class Signs:
    """What stands between texts, with the spaces around it.

    Attributes:
        stop: Between sentences.
        semicolon: Between parts of a sentence.
        comma: Between things.
        colon: Between a label and what it labels.
        listing: Between things of a list that ends in "and".
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
        forms: Names of its forms of plurals, as in the plural rules of Unicode CLDR.
        form: Returns the form for a number of things, one of `forms`.
        signs: What it puts between texts.
        fonts: Families of fonts that have the forms of characters that it is written with, the best
            one first; empty where those of the system do.
        offered: Whether it can be chosen in the window: once nearly all is translated.
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

# By the names that Qt and the system give them; a language with another script or a country's own
# words has that in its name.
LANGUAGES: dict[str, Language] = {
    "en": Language("English", ("one", "other"), _one, offered=True),
    "de": Language("Deutsch", ("one", "other"), _one, offered=True),
    "es": Language("Español", ("one", "other"), _one, offered=True),
    "fr": Language(
        "Français",
        ("one", "other"),
        _none_or_one,
        Signs(semicolon="\u202f; ", colon="\u00a0: "),  # with spaces at which no line breaks
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
