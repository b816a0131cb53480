"""Finds texts by words in any order, without regard to case and accents."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
_VOICING = 8  # the combining class of the mark that makes another letter of a kana
_WITHOUT_SPACES = ("\u2e80", "\u9fff")  # kana and Chinese characters
TITLE_BEGINS, TITLE_HOLDS, TEXT_BEGINS, TEXT_HOLDS = range(4)  # the best place comes first
_UNUSED = 1 << 30  # the age of an item that was never used


def folded(text: str) -> str:
    """Return a text without case and accents; letters of other scripts stay distinct."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    kept = (letter for letter in apart if unicodedata.combining(letter) in (0, _VOICING))
    return unicodedata.normalize("NFC", "".join(kept))


def place_of(word: str, title: str, text: str) -> int | None:
    """Return the best place of a word: TITLE_BEGINS, ..., TEXT_HOLDS, or None for nowhere.

    A script without spaces has no beginnings of words, so that every place in a title is equal.
    Inside the words of other scripts, only titles are searched: longer texts would hold most short
    words by chance.

    Args:
        word: A folded word.
        title: The folded title.
        text: Other folded text.
    """
    spaced = not any(_WITHOUT_SPACES[0] <= letter <= _WITHOUT_SPACES[1] for letter in word)
    if _begins(word, title) or (not spaced and word in title):
        return TITLE_BEGINS
    if word in title:
        return TITLE_HOLDS
    if _begins(word, text):
        return TEXT_BEGINS
    return TEXT_HOLDS if not spaced and word in text else None


def _begins(word: str, text: str) -> bool:
    """Return whether a word of `text` begins with `word`."""
    start = text.find(word)
    while start >= 0:
        if start == 0 or not text[start - 1].isalnum():
            return True
        start = text.find(word, start + 1)
    return False


class Index:
    """Searches titles and other texts that were folded once."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._texts = [(folded(title), folded(text)) for title, text in texts]

    def places(self, query: str) -> list[tuple[int, int]]:
        """Return (row, worst place of a word) for each text that has all words of `query`."""
        words = folded(query).split()
        found: list[tuple[int, int]] = []
        for row, (title, text) in enumerate(self._texts):
            places = [place_of(word, title, text) for word in words]
            known = [place for place in places if place is not None]
            if len(known) == len(words):
                found.append((row, max(known, default=TITLE_BEGINS)))
        return found

    def starts(self, row: int, query: str) -> bool:
        """Return whether the title in `row` starts with `query`."""
        return self._texts[row][0].startswith(folded(query).strip())


def ranked(
    items: Sequence[Item],
    index: Index,
    query: str,
    recent: Sequence[str],
    key_of: Callable[[Item], str],
) -> list[Item]:
    """Return the items that have all words of `query`, the likeliest first.

    The place of the words decides; then the items used recently come first, then titles that start
    with the query, then the order of `items`.

    Args:
        index: The texts of `items`, in the same order.
        recent: The keys of the items used recently, the newest first.
    """
    ages = {key: age for age, key in enumerate(recent)}

    def order(found: tuple[int, int]) -> tuple[int, int, bool, int]:
        row, place = found
        age = ages.get(key_of(items[row]), _UNUSED)
        return place, age, not index.starts(row, query), row

    return [items[row] for row, _ in sorted(index.places(query), key=order)]
