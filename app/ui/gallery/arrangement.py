"""In which order styles are shown, and which of them a search finds; without a widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.styles.pack import Style


def keys_of(text: str) -> tuple[str, ...]:
    """The keys of styles in a setting, which has one a line."""
    return tuple(dict.fromkeys(line for line in text.split("\n") if line))


def text_of(keys: Iterable[str]) -> str:
    """The inverse of `keys_of`."""
    return "\n".join(keys)


def groups_of(text: str) -> dict[str, str]:
    """The groups of styles in a setting, by key; it has a key, a space and a group each line."""
    pairs = (line.split(" ", 1) for line in text.split("\n") if " " in line)
    return {key: group for key, group in pairs if key}


def with_group(text: str, key: str, group: str) -> str:
    """The setting with another group of a style; "" takes it out of the group it has."""
    groups = {**groups_of(text), key: " ".join(group.split())}
    return "\n".join(f"{key} {group}" for key, group in groups.items())


def grouped(styles: Iterable[Style], groups: Mapping[str, str]) -> tuple[Style, ...]:
    """The styles in the user's groups; one that has none of these is in that of its pack."""
    return tuple(replace(style, group=groups.get(style.key, style.group)) for style in styles)


def arranged(
    styles: Sequence[Style], order: Sequence[str], favorites: Sequence[str]
) -> tuple[Style, ...]:
    """The styles in the order of the gallery.

    Args:
        styles: In the order of the library.
        order: Keys in the order that was made by hand; styles that are not in it follow.
        favorites: Keys of those that come first.

    Returns:
        The favorites and then the others, these by group (those without one first), each part by
        hand, then as in the library.
    """
    places = {key: place for place, key in enumerate(order)}
    groups = list(dict.fromkeys(style.group for style in styles))
    groups.sort(key=lambda group: (bool(group), group.casefold()))

    def place(style: Style) -> tuple[bool, int, int]:
        by_hand = places.get(style.key, len(places))
        favorite = style.key in favorites
        return not favorite, 0 if favorite else groups.index(style.group), by_hand

    return tuple(sorted(styles, key=place))


def found(styles: Iterable[Style], words: str) -> tuple[Style, ...]:
    """The styles of which every word is in title, credit or group, whatever its case."""
    wanted = words.casefold().split()
    return tuple(
        style
        for style in styles
        if all(word in f"{style.title} {style.credit} {style.group}".casefold() for word in wanted)
    )


def moved(keys: Sequence[str], key: str, before: str) -> tuple[str, ...]:
    """The keys with `key` moved before another one; at the end if `before` is empty."""
    others = [other for other in keys if other != key]
    at = others.index(before) if before in others else len(others)
    return (*others[:at], key, *others[at:])
