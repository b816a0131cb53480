"""A look: the styles and the settings that define a painting, as a value and as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

from app.engine.config import EngineConfig
from app.errors import StyleForgeError
from app.options import MOST_MIXED, Part
from app.parameters import AUTO, PARAMETERS, restored_value, stored_value
from utils.files import small_json
from utils.stroke_directions import HAND, Handles
from utils.text import printable
from utils.translation.texts import tr, trn

KEY = "Look"  # in the metadata of saved pictures
MAX_TEXT = 100  # characters of a name in a message
_SUM = 1e-3  # tolerance per share of their sum, since shares are written with four decimals


class LookError(StyleForgeError):
    """Raised for an invalid look; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Look:
    """The user's choices; size, precision and engine belong to the machine and are not included.

    `parts` are keys of one to four styles with shares that add up to 1; other fields are as in
    app.parameters. `strokes_handles` are none unless strokes are combed by hand.
    """

    parts: tuple[Part, ...]
    strength: float = 1.0
    keep_colors: bool = False
    strokes: str = "medium"
    texture: float | str = AUTO
    strokes_direction: float | str = AUTO
    strokes_length: float | str = AUTO
    strokes_handles: Handles = ()

    @classmethod
    def of(cls, config: EngineConfig) -> Look:
        look = cls(config.parts, **{name: getattr(config, name) for name in _SETTINGS})
        return look if config.strokes_direction == HAND else replace(look, strokes_handles=())

    def applied(self, config: EngineConfig) -> EngineConfig:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return replace(config.mixed(self.parts), **settings)

    def missing(self, keys: Collection[str]) -> str:
        """Return why the look cannot be used with the styles `keys`, as a sentence, or ""."""
        absent = [printable(key, MAX_TEXT) for key, _ in self.parts if key not in keys]
        if not absent:
            return ""
        return tr("The style '{style}' of this look is not installed", style=absent[0])

    def stored(self) -> dict[str, Any]:
        styles = {key: round(share, 4) for key, share in self.parts}
        settings = {name: stored_value(name, getattr(self, name)) for name in _SETTINGS}
        return {"styles": styles, **settings}

    def text(self) -> str:
        """Return the look as JSON in one line, for the metadata of a picture."""
        return json.dumps(self.stored())


_SETTINGS = tuple(field.name for field in fields(Look) if field.name != "parts")


def look_from(stored: object) -> Look:
    """Make a look from `Look.stored`, with defaults for missing settings; else LookError."""
    if not small_json.is_bounded(stored):
        raise LookError(tr(small_json.NO_NUMBER))
    if not isinstance(stored, dict) or not isinstance(styles := stored.get("styles"), dict):
        raise LookError(tr("it names no styles"))
    shares = list(styles.values())
    if not 1 <= len(shares) <= MOST_MIXED:
        raise LookError(
            trn(
                "it has {n} style, not 1 to {most}",
                "it has {n} styles, not 1 to {most}",
                len(shares),
                most=MOST_MIXED,
            )
        )
    if not all(isinstance(share, int | float) and not isinstance(share, bool) for share in shares):
        raise LookError(tr("the share of a style is not a number"))
    if min(shares) < 0 or not abs(sum(shares) - 1) <= _SUM * len(shares):
        raise LookError(tr("the shares of its styles do not add up to 1"))
    settings: dict[str, Any] = {}
    for name in _SETTINGS:
        if name not in stored:
            continue
        value = restored_value(name, stored[name])
        value = float(value) if type(value) is int else value
        if not PARAMETERS[name].valid(value):
            shown = printable(repr(value), MAX_TEXT)
            setting = _inside(PARAMETERS[name].title)
            raise LookError(tr("its {setting} cannot be {value}", setting=setting, value=shown))
        settings[name] = value
    parts = tuple((str(key), share / sum(shares)) for key, share in styles.items())
    return Look(parts, **settings)


def _inside(title: str) -> str:
    """Return a title as part of a sentence.

    An English title becomes lower case. A translation keeps its case, because its language may
    need capitals.
    """
    translated = tr(title)
    return title.lower() if translated == title else translated


def parse_look(text: str) -> Look:
    """Read the output of `Look.text`.

    Raises:
        LookError: If `text` is anything else.
    """
    try:
        return look_from(small_json.loads(text))
    except small_json.SmallJsonError as exc:
        raise LookError(str(exc)) from exc
