"""Finds what a message is about, in tests that are not about its wording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from utils.translation.texts import Filled


def fields(error: BaseException) -> Mapping[str, object]:
    """Return the values in an error's message, by the names of its placeholders."""
    (message,) = error.args
    assert isinstance(message, Filled), f"the message has no fields: {message}"
    return message.values


@contextmanager
def refused(error: type[BaseException], /, *words: str, **values: str) -> Iterator[None]:
    """Expect an error of a class whose message has these fields, and these words of its reason."""
    with pytest.raises(error) as caught:
        yield
    found = fields(caught.value)
    assert {name: found.get(name) for name in values} == values
    assert [word for word in words if word not in str(caught.value)] == []


def mentions(text: str, *words: str) -> bool:
    """Return whether a text holds each of `words`, in this order."""
    place = 0
    for word in words:
        found = text.find(word, place)
        if found < 0:
            return False
        place = found + len(word)
    return True
