"""Applies the user's choice of one or several styles to the session's config."""

from __future__ import annotations

from collections.abc import Sequence

from app.live.session import Session
from app.options import Part, blend_label, without
from models.families.table import FAMILIES
from utils.translation.texts import tr


class StyleMixer:
    """Mixes styles, and remembers the last mix to switch it off and on.

    Two networks of their own can be mixed, or up to four styles of one any-style network.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: tuple[Part, ...] = ()  # the last styles mixed in, with their shares

    def choose_style(self, key: str) -> None:
        """Make `key` the first style; "" does nothing.

        It is used alone if it was mixed in, or belongs to another family than the mixed styles.
        """
        config = self._session.config
        if key:
            mixable = [style.key for style in self._session.catalog.mixable_with(key)]
            others = config.parts[1:]
            if all(other in mixable for other, _ in others):
                self._choose(_visible(((key, config.parts[0][1]), *others)))
            else:
                self._choose(((key, 1.0),))

    def toggle_mix(self, key: str) -> None:
        """Mix `key` in, or remove it from the mix."""
        parts = self._session.config.parts
        if len(parts) > 2 and key in dict(parts):
            self._choose(without(parts, key))
        elif len(parts) == 2 and key in dict(parts):
            self.stop_mix()
        elif reason := self.unavailable_reason(key):
            self._session.notice.emit(reason)
        elif key != self._session.config.style:
            self._add(key)

    def mix_onto(self, key: str, onto: str) -> None:
        """Mix `key` into the current mix if `onto` is part of it, otherwise into `onto` alone."""
        if reason := self.unavailable_reason(key, onto):
            self._session.notice.emit(reason)
            return
        if onto not in self._session.config.styles:
            self._choose(((onto, 1.0),))
        if key not in self._session.config.styles:
            self._add(key)

    def unavailable_reason(self, key: str, first_key: str = "") -> str:
        """Return why `key` cannot be mixed with `first_key` (default: the first style), or ""."""
        styles = {style.key: style for style in self._session.catalog.styles}
        first = styles.get(first_key or self._session.config.style)
        other = styles.get(key)
        if first is None or other is None or first.family == other.family:
            return ""
        kinds = [tr(FAMILIES[style.family].one_of) for style in (first, other)]
        return tr(
            "{first} and {other} cannot be mixed: {first} is {kind}, and {other} is {other_kind}",
            first=first.title,
            other=other.title,
            kind=kinds[0],
            other_kind=kinds[1],
        )

    def pick(self, key: str | None) -> None:
        """Mix `key` in, or remove it from a mix of three or more; None stops mixing."""
        parts = self._session.config.parts
        if key is None:
            self.stop_mix()
        elif key not in dict(parts) or len(parts) > 2:
            self.toggle_mix(key)

    def stop_mix(self) -> None:
        parts = self._session.config.parts
        self._last = parts[1:] or self._last
        self._choose(parts[:1])

    def toggle(self) -> None:
        """Switch mixing on or off, with the last mix or the next style of the gallery."""
        mixable = self._others()
        if len(self._session.config.parts) > 1:
            self.stop_mix()
        elif self._last and all(key in mixable for key, _ in self._last):
            first = max(0.0, 1 - sum(share for _, share in self._last))
            self._choose(_visible(((self._session.config.style, first), *self._last)))
        else:
            self.mix_next()

    def mix_next(self) -> None:
        """Replace the style mixed in last by the next one of the gallery."""
        config = self._session.config
        *kept, (last, share) = config.parts
        others = [key for key in self._others() if key not in dict(kept)]
        if not others:
            return
        if not kept:
            self._add(others[0])
            return
        after = others.index(last) + 1 if last in others else 0
        self._choose(_visible((*kept, (others[after % len(others)], share))))

    def set_shares(self, shares: Sequence[float]) -> None:
        """Set the shares of the mix, in the order of its styles."""
        styles = self._session.config.styles
        self._choose(tuple(zip(styles, shares, strict=True)))

    def label(self) -> str:
        titles = {style.key: style.title for style in self._session.catalog.styles}
        parts = self._session.config.parts
        return blend_label([(titles.get(key, key), share) for key, share in parts])

    def _add(self, key: str) -> None:
        """Mix in a style; its share is the average share."""
        parts, most = self._session.config.parts, self._most
        if len(parts) < most:
            count = len(parts) + 1
            kept = [(other, share * (count - 1) / count) for other, share in parts]
            self._choose((*kept, (key, 1 / count)))
        else:
            self._session.notice.emit(
                tr(
                    "At most {n} styles can be mixed; Shift-click one of them to take it out",
                    n=most,
                )
            )

    def _choose(self, parts: Sequence[Part]) -> None:
        self._session.config = self._session.config.mixed(parts)

    @property
    def _most(self) -> int:
        """The number of styles like the first that can be mixed."""
        styles = self._session.catalog.styles
        first = self._session.config.style
        family = next((style.family for style in styles if style.key == first), None)
        return 2 if family is None else FAMILIES[family].most_mixed

    def _others(self) -> list[str]:
        """Return the styles that can be mixed with the first, in gallery order from there."""
        keys = [style.key for style in self._session.catalog.styles]
        first = self._session.config.style
        at = keys.index(first) if first in keys else 0
        mixable = {style.key for style in self._session.catalog.mixable_with(first)}
        return [key for key in keys[at:] + keys[:at] if key in mixable]


def _visible(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return `parts`, with equal shares if one has none and would be invisible."""
    if all(share > 0 for _, share in parts):
        return tuple(parts)
    return tuple((key, 1 / len(parts)) for key, _ in parts)
