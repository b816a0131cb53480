"""Applies the user's choice of one or two styles to the session's config."""

from __future__ import annotations

from dataclasses import replace

from app.live.session import Session
from app.options import blend_label


class StyleMixer:
    """Remembers the last second style, so that a mix can be switched off and on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = ""

    def choose_style(self, key: str) -> None:
        """Make `key` the first style, without a mix if it was the second or is of another family
        than that; nothing if empty."""
        config = self._session.config
        if key:
            mixable = [style.key for style in self._session.library.mixable_with(key)]
            mix = config.mix if config.mix in mixable else None
            self._session.config = replace(config, style=key, mix=mix)

    def toggle_mix(self, key: str) -> None:
        """Mix `key` in, or stop mixing if it is part of the mix already."""
        config = self._session.config
        parts = () if config.mix is None else (config.style, config.mix)
        if key in parts:
            self.stop_mix()
        elif key != config.style:
            self._session.config = replace(config, mix=key)

    def stop_mix(self) -> None:
        """Use the first style alone."""
        config = self._session.config
        self._last = config.mix or self._last
        self._session.config = replace(config, mix=None)

    def toggle(self) -> None:
        """Switch the mix on or off; the second style is the last one or the next in the gallery."""
        config = self._session.config
        if config.mix is not None:
            self.stop_mix()
        elif self._last in self._others():
            self.toggle_mix(self._last)
        else:
            self.mix_next()

    def mix_next(self) -> None:
        """Mix with the next style in the gallery."""
        config = self._session.config
        others = self._others()
        if not others:
            return
        after = others.index(config.mix) + 1 if config.mix in others else 0
        self._session.config = replace(config, mix=others[after % len(others)])

    def label(self) -> str:
        """Return the title of the style, or both titles with their shares."""
        config = self._session.config
        titles = {style.key: style.title for style in self._session.library.styles}
        first = titles.get(config.style, config.style)
        if config.mix is None:
            return first
        return blend_label(first, titles.get(config.mix, config.mix), config.mix_amount)

    def _others(self) -> list[str]:
        """Return every style that can be mixed with the first, in gallery order starting after
        it."""
        keys = [style.key for style in self._session.library.styles]
        first = self._session.config.style
        at = keys.index(first) if first in keys else 0
        mixable = {style.key for style in self._session.library.mixable_with(first)}
        return [key for key in keys[at:] + keys[:at] if key in mixable]
