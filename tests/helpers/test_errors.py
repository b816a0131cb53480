"""The checks of messages notice another field, another reason and another order."""

from __future__ import annotations

import pytest

from tests.helpers.errors import mentions, refused
from utils.translation.texts import tr


def refuse() -> None:
    raise ValueError(tr("'{file}' is damaged: {fault}", file="a.png", fault="torn"))


def test_an_error_has_its_class_its_fields_and_its_reason():
    with refused(ValueError, "damaged", file="a.png", fault="torn"):
        refuse()
    with pytest.raises(ValueError, match="torn"), refused(KeyError):
        refuse()


@pytest.mark.parametrize(
    ("words", "values"),
    [((), {"file": "b.png"}), ((), {"path": "a.png"}), (("missing",), {"file": "a.png"})],
)
def test_another_field_or_reason_is_noticed(words, values):
    with pytest.raises(AssertionError), refused(ValueError, *words, **values):
        refuse()


def test_a_message_without_fields_is_noticed():
    with pytest.raises(AssertionError, match="no fields"), refused(ValueError):
        raise ValueError("a sentence")


def test_words_of_a_text_have_an_order():
    assert mentions("'a.png' is damaged: torn", "a.png", "torn")
    assert not mentions("'a.png' is damaged: torn", "torn", "a.png")
    assert not mentions("'a.png' is damaged: torn", "a.png", "a.png")
