"""Arranges the gallery by search, favorites, groups and a manual order, saved in the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject

from app.styles.pack import Style
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.window_context import WindowContext


class Arranging(QObject):
    """Shows the catalog's styles in the user's order, filtered by the search."""

    def __init__(self, context: WindowContext, gallery: StyleGallery) -> None:
        super().__init__(gallery)
        self._session, self._gallery = context.session, gallery
        self._settings, self._keep = context.settings, context.keep
        gallery.search.textChanged.connect(lambda _: self.show())
        gallery.moved.connect(self.move_before)
        gallery.star_clicked.connect(self.toggle_favorite)

    @property
    def styles(self) -> tuple[Style, ...]:
        """All styles in the user's order, whatever the search finds."""
        return self._arranged()

    @property
    def favorites(self) -> tuple[str, ...]:
        return keys_of(self._settings().favorite_styles)

    def show(self) -> None:
        styles = found(self._arranged(), self._gallery.search.text())
        self._gallery.model.set_favorites(self.favorites)
        self._gallery.set_styles(styles, self._session.config.style)

    def toggle_favorite(self, key: str) -> None:
        """Make a style a favorite, or undo this. Favorites come first."""
        kept = self.favorites
        others = tuple(other for other in kept if other != key)
        self._keep(favorite_styles=text_of(others if key in kept else (*kept, key)))
        self.show()

    def group_of(self, key: str) -> str:
        """Return the group of a style; "" for none."""
        return next((style.group for style in self._arranged() if style.key == key), "")

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in use, in gallery order."""
        return tuple(dict.fromkeys(s.group for s in self._arranged() if s.group))

    def set_group(self, key: str, group: str) -> None:
        """Move a style to a group, which may be new; "" removes it from its group."""
        self._keep(style_groups=with_group(self._settings().style_groups, key, group))
        self.show()
        self._gallery.scroll_to(key)

    def move(self, key: str, count: int) -> None:
        """Move a style `count` cards right, or left if negative, into the group it reaches."""
        keys = [style.key for style in self._arranged()]
        if key not in keys:
            return
        others = [other for other in keys if other != key]
        place = keys.index(key) + count
        if 0 <= place <= len(others):
            before = others[place] if place < len(others) else ""
            self._move(key, before, others[place - 1] if count > 0 else before)

    def move_before(self, key: str, before: str) -> None:
        """Move a style before another one and into its group, or to the end if `before` is "".

        A favorite stays among the favorites.
        """
        last = [style.key for style in self._arranged() if style.key != key][-1:]
        self._move(key, before, before or "".join(last))

    def _move(self, key: str, before: str, beside: str) -> None:
        """Move a style, and put it into the group of its new neighbor `beside`."""
        settings, favorites = self._settings(), self.favorites
        keys = [style.key for style in self._arranged()]
        groups, group = settings.style_groups, self.group_of(beside)
        if key not in favorites and beside not in favorites and group != self.group_of(key):
            groups = with_group(groups, key, group)
        self._keep(style_order=text_of(moved(keys, key, before)), style_groups=groups)
        self.show()
        self._gallery.scroll_to(key)

    def _arranged(self) -> tuple[Style, ...]:
        settings = self._settings()
        styles = grouped(self._session.catalog.styles, groups_of(settings.style_groups))
        return arranged(styles, keys_of(settings.style_order), self.favorites)


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
