"""Texts in the chosen language; in English until `use` is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from utils.translation.files import Translation, read
from utils.translation.languages import LANGUAGES, SOURCE

_CONTEXT = "{context}|{text}"  # the key of a text that has several meanings


class _Chosen:
    key = SOURCE
    texts: dict[str, Translation] = {}  # noqa: RUF012  (replaced as a whole, never changed)


def use(language: str) -> None:
    """Switch all texts to a language of LANGUAGES from now on; existing widgets are unchanged."""
    _Chosen.key, _Chosen.texts = language, read(language)


def chosen() -> str:
    return _Chosen.key


def tr(text: str, context: str = "", /, **values: object) -> str:
    """Return `text` in the chosen language, or in English if it is not translated yet.

    `tools/translations.py` finds texts written in the call. Texts of a table are passed as they
    are, and found through the table or by `mark`.

    Args:
        text: In English, with a named placeholder for each of `values`, as in "Open {name}".
        context: The subject, if one English text has several translations.
        values: The values of the placeholders; numbers as text.
    """
    translation = _Chosen.texts.get(key_of(text, context))
    template = translation if isinstance(translation, str) and translation else text
    return _filled(template, text, values) if values else template


def trn(one: str, many: str, number: int, /, **values: object) -> Filled:
    """Return the text for a number in the chosen language, in the matching plural form.

    `one` and `many`, the key in the files, are English, as in "{n} picture" and "{n} pictures"; "n"
    in `values` defaults to `number`.
    """
    template = one if number == 1 else many
    translation = _Chosen.texts.get(many)
    if isinstance(translation, dict):
        template = translation.get(LANGUAGES[_Chosen.key].form(number)) or template
    return _filled(template, many, {"n": number, **values})


def mark(text: str, _context: str = "", /) -> str:
    """Return `text` unchanged, marked in a table for `tr`, which translates it when shown."""
    return text


class Filled(str):
    """A text with values in its placeholders; errors with such a text carry their fields.

    Attributes:
        template: In English.
        values: By the names of the placeholders. `tr` keeps them as text, since an exception among
            them would keep the frames of its traceback alive.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, shown: str, template: str, values: Mapping[str, object]) -> Self:
        """Return a text that is `shown`."""
        made = cls(shown)
        made.template, made.values = template, values
        return made


class Deferred(Filled):
    """A text in English, created before a language was chosen; `said` translates it."""

    __slots__ = ()


def defer(text: str, /, **values: object) -> Deferred:
    """Return `text` in English; `said` translates it later. Takes the arguments of `tr`."""
    return Deferred.of(text.format(**values) if values else text, text, values)


def said(text: str) -> str:
    """Return a deferred text in the chosen language, and any other one unchanged."""
    return tr(text.template, **text.values) if isinstance(text, Deferred) else text


def _filled(shown: str, template: str, values: Mapping[str, object]) -> Filled:
    texts = {name: str(value) for name, value in values.items()}
    return Filled.of(shown.format(**values), template, texts)


def key_of(text: str, context: str = "") -> str:
    return _CONTEXT.format(context=context, text=text) if context else text
