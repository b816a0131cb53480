"""What the user's wishes about styles, one or two, mean for the session's config."""

from __future__ import annotations

from dataclasses import replace

from app.live.session import Session
from app.mixing import blend_label


class StyleMixer:
    """Remembers the last second style, so that mixing can be switched off and on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = ""

    def choose(self, key: str) -> None:
        """Make `key` the first style; chosen alone if it was the second. Nothing if empty."""
        config = self._session.config
        if key:
            mix = None if config.mix == key else config.mix
            self._session.config = replace(config, style=key, mix=mix)

    def mix(self, key: str) -> None:
        """Mix `key` in; stop where it has a part already."""
        config = self._session.config
        parts = () if config.mix is None else (config.style, config.mix)
        if key in parts:
            self.stop()
        elif key != config.style:
            self._session.config = replace(config, mix=key)

    def stop(self) -> None:
        """The first style alone."""
        config = self._session.config
        self._last = config.mix or self._last
        self._session.config = replace(config, mix=None)

    def on_or_off(self) -> None:
        """Mix with the last second style, at first with the next of the gallery, or stop."""
        config = self._session.config
        if config.mix is not None:
            self.stop()
        elif self._last in self._others():
            self.mix(self._last)
        else:
            self.next()

    def next(self) -> None:
        """Mix with the style after the second in the gallery, or after the first."""
        config = self._session.config
        others = self._others()
        if not others:
            return
        after = others.index(config.mix) + 1 if config.mix in others else 0
        self._session.config = replace(config, mix=others[after % len(others)])

    def words(self) -> str:
        """What is chosen: a title, or both with their shares."""
        config = self._session.config
        titles = {style.key: style.title for style in self._session.library.styles}
        first = titles.get(config.style, config.style)
        if config.mix is None:
            return first
        return blend_label(first, titles.get(config.mix, config.mix), config.mix_amount)

    def _others(self) -> list[str]:
        """Every style but the first, in the gallery's order from it on."""
        keys = [style.key for style in self._session.library.styles]
        first = self._session.config.style
        at = keys.index(first) if first in keys else 0
        return [key for key in keys[at:] + keys[:at] if key != first]
