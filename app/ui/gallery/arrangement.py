"""The order of styles, and the search; without a widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from app.styles.pack import Style


def keys_of(text: str) -> tuple[str, ...]:
    """Return the style keys in a setting, which stores one per line."""
    return tuple(dict.fromkeys(line for line in text.split("\n") if line))


def text_of(keys: Iterable[str]) -> str:
    """Return the setting that stores `keys`, one per line."""
    return "\n".join(keys)


def groups_of(text: str) -> dict[str, str]:
    """Return groups by style key from a setting with "key group" on each line."""
    pairs = (line.split(" ", 1) for line in text.split("\n") if " " in line)
    return {key: group for key, group in pairs if key}


def with_group(text: str, key: str, group: str) -> str:
    """Return the setting after moving a style to `group`; "" removes it from its group."""
    groups = {**groups_of(text), key: " ".join(group.split())}
    return "\n".join(f"{key} {group}" for key, group in groups.items())


def grouped(styles: Iterable[Style], groups: Mapping[str, str]) -> tuple[Style, ...]:
    """Return the styles with the user's groups; others keep the group of their pack."""
    return tuple(replace(style, group=groups.get(style.key, style.group)) for style in styles)


def arranged(
    styles: Sequence[Style], order: Sequence[str], favorites: Sequence[str]
) -> tuple[Style, ...]:
    """Return the favorites, then the others by group (those without one first).

    Each part follows `order`, the user's keys, then catalog order.
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
    """Return the styles with every word in title, credit or group, ignoring case."""
    wanted = words.casefold().split()
    return tuple(
        style
        for style in styles
        if all(word in f"{style.title} {style.credit} {style.group}".casefold() for word in wanted)
    )


def moved(keys: Sequence[str], key: str, before: str) -> tuple[str, ...]:
    """Return the keys with `key` moved before another one, or to the end if `before` is ""."""
    others = [other for other in keys if other != key]
    at = others.index(before) if before in others else len(others)
    return (*others[:at], key, *others[at:])
