"""The options of a request, from the table of parameters, stored as words of a job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.engine.resolution import SHORTEST
from app.errors import StyleForgeError
from app.options import NAMED_DIRECTIONS, ONE_WAY, STROKE_DIRECTIONS, direction_of, parse_mix
from app.parameters import (
    AUTO,
    MATTED,
    PARAMETERS,
    AmountParameter,
    ChoiceParameter,
    DirectionParameter,
    FractionParameter,
    HandlesParameter,
    Parameter,
    Parameters,
    combed,
    parameter_values,
)
from utils.stroke_directions import HALF_TURN, parse_handles
from utils.text import printable

FULL = "full"  # in place of a number of pixels: all pixels
MOST_SIZE = 65536
DEPTHS = ("8", "16")
FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"}
_FORMAT_TITLES = {"png": "PNG", "jpeg": "JPEG", "webp": "WebP"}
_DEFAULTS = Parameters()
# Rows of the table that concern streams, or are part of another option.
_NO_OPTIONS = ("smoothing", "mix_amount")
_SWITCH = {"true": True, "false": False}
_HANDLES_PATTERN = "^[0-9.,; ]*$"  # of a text field; `parse_handles` checks the rest


class OptionError(StyleForgeError):
    """Raised for an invalid option of a request, or invalid words of a job."""


@dataclass(frozen=True, slots=True)
class LookOption:
    """An option of a request.

    Attributes:
        schema: Its values, as JSON Schema.
        parse: Parses a text, or raises ValueError with a sentence.
    """

    name: str
    help: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Look:
    """How to style a picture, and the format of the result.

    Attributes:
        mix: The keys of further styles with their shares; a share is None if not given.
        size: The long side of the network's input, or FULL; None for automatic.
        depth: Bits per channel of the result; None for the picture's.
        values: Values of the table of parameters by their names.
    """

    style: str = _DEFAULTS.style
    mix: tuple[tuple[str, float | None], ...] = ()
    size: int | str | None = None
    depth: int | None = None
    format: str = "png"
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The look as flags of `stylize`, which `look_of_words` parses."""
        words = [f"--style={self.style}"]
        words += [f"--mix={k}" if share is None else f"--mix={k}:{share}" for k, share in self.mix]
        words += [] if self.size is None else [f"--size={self.size}"]
        words += [] if self.depth is None else [f"--depth={self.depth}"]
        for name, value in self.values.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(flag)
            elif value is not False:
                words.append(f"{flag}={PARAMETERS[name].stored(value)}")
        return words


def parse_look(given: Iterable[tuple[str, str]]) -> Look:
    """Make a look from names and texts; `mix` may appear several times.

    Raises:
        OptionError: If there is no such option, or no such value.
    """
    found: dict[str, Any] = {}
    mix: list[tuple[str, float | None]] = []
    for name, text in given:
        if name not in OPTIONS:
            raise OptionError(f"there is no option '{printable(name)}', only {', '.join(OPTIONS)}")
        if name in found:
            raise OptionError(f"the option '{name}' is given twice")
        try:
            value = OPTIONS[name].parse(text)
        except ValueError as exc:
            raise OptionError(printable(str(exc))) from exc
        if name == "mix":
            mix.append(value)
        else:
            found[name] = value
    own = {name: found.pop(name) for name in ("style", "size", "depth", "format") if name in found}
    try:
        return Look(mix=tuple(mix), values=combed(found), **own)
    except ValueError as exc:
        raise OptionError(str(exc)) from exc


def look_of_words(words: Sequence[str], ending: str) -> Look:
    """Make a look from `Look.words` among `stylize` flags; the suffix `ending` is the format.

    Raises:
        OptionError: If the flags come from another version.
    """
    pairs = [word.removeprefix("--").partition("=") for word in words]
    named = [(name.replace("-", "_"), text or "true") for name, _, text in pairs]
    return parse_look([("format", ending.lstrip(".")), *(p for p in named if p[0] in OPTIONS)])


def _text(text: str) -> str:
    return text


def _share(text: str, name: str, besides: str = "") -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be {besides}a number from 0 to 1, not '{text}'")
    return value


def _direction(text: str, name: str, keys: Collection[str]) -> float | str:
    try:
        found = direction_of(float(text), ())
    except ValueError:
        found = direction_of(text, keys)
    if found is None:
        raise ValueError(
            f"{name} must be one of {', '.join(keys)} or an angle from 0 to less than {HALF_TURN} "
            f"degrees, not '{text}'"
        )
    return found


def _one_of(known: Iterable[str], text: str, name: str) -> str:
    known = list(known)
    if text not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, not '{text}'")
    return text


def _size(text: str) -> int | str:
    if text == FULL:
        return FULL
    if not (text.isascii() and text.isdecimal() and SHORTEST <= int(text[:9]) <= MOST_SIZE):
        raise ValueError(
            f"size must be {FULL} or a whole number from {SHORTEST} to {MOST_SIZE}, not '{text}'"
        )
    return int(text)


def _titled(titles: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"const": key, "title": title} for key, title in titles.items()]


def _of_row(name: str, row: Parameter) -> LookOption:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    about = {"title": row.title, "description": row.tip, "default": getattr(_DEFAULTS, name)}
    if isinstance(row, FractionParameter):
        return LookOption(name, row.help, about | share, lambda text: _share(text, name))
    if isinstance(row, AmountParameter):
        either = {"anyOf": [{"const": AUTO}, share]}
        return LookOption(
            name,
            row.help,
            about | either,
            lambda text: AUTO if text == AUTO else _share(text, name, f"{AUTO} or "),
        )
    if isinstance(row, DirectionParameter):
        keys = {
            AUTO: row.automatic.title,
            **{key: STROKE_DIRECTIONS[key].title for key in NAMED_DIRECTIONS},
        }
        angle = {"type": "number", "minimum": 0, "exclusiveMaximum": HALF_TURN}
        either = {"anyOf": [*_titled(keys), {"title": STROKE_DIRECTIONS[ONE_WAY].title, **angle}]}
        return LookOption(name, row.help, about | either, lambda text: _direction(text, name, keys))
    if isinstance(row, HandlesParameter):
        written = {"default": "", "type": "string", "pattern": _HANDLES_PATTERN}
        about |= {"description": row.help}  # the tip is about the button of the window
        return LookOption(name, row.help, about | written, parse_handles)
    if isinstance(row, ChoiceParameter):
        titles = {key: option.title for key, option in row.options.items()}
        listed: dict[str, Any] = {"type": "string", "oneOf": _titled(titles)}
        if row.checked:
            listed["x-checked"] = row.checked  # for a check box instead of a list
        return LookOption(
            name, row.help, about | listed, lambda text: _one_of(row.options, text, name)
        )
    switch = {"type": "boolean"}
    return LookOption(
        name, row.help, about | switch, lambda text: _SWITCH[_one_of(_SWITCH, text, name)]
    )


OPTIONS: dict[str, LookOption] = {
    option.name: option
    for option in (
        LookOption(
            "style",
            "the key of a style from /api/styles",
            {"title": "Style", "type": "string", "default": _DEFAULTS.style},
            _text,
        ),
        LookOption(
            "mix",
            "another style to mix in and its share from 0 to 1, such as starry_night:0.4; up to "
            "two, or three if all are styles made from pictures, each with its own mix",
            {"title": "Mix", "type": "array", "items": {"type": "string"}},
            parse_mix,
        ),
        LookOption(
            "size",
            "long side of the network's input in pixels, or full for the picture's own; a larger "
            "size paints finer strokes; the result always has the picture's size",
            {
                "title": "Size",
                "anyOf": [
                    {"const": FULL},
                    {"type": "integer", "minimum": SHORTEST, "maximum": MOST_SIZE},
                ],
                "examples": [256, 512, 1024, 2048, FULL],
            },
            _size,
        ),
        *(
            _of_row(name, row)
            for name, row in PARAMETERS.items()
            if row.help and name not in _NO_OPTIONS and not row.of_streams
        ),
        LookOption(
            "depth",
            "bits per channel of a PNG; by default as in the picture",
            {"title": "Bits per channel", "type": "integer", "enum": [int(d) for d in DEPTHS]},
            lambda text: int(_one_of(DEPTHS, text, "depth")),
        ),
        LookOption(
            "format",
            "file format of the result",
            {
                "title": "Format",
                "type": "string",
                "default": "png",
                "oneOf": _titled(_FORMAT_TITLES),
            },
            lambda text: _one_of(FORMATS, text, "format"),
        ),
    )
}


def query(*, matted: bool) -> list[dict[str, Any]]:
    """Return the query of a request, described for OpenAPI.

    Args:
        matted: Whether the server finds people, for the options that need it.
    """
    return [
        {"name": option.name, "in": "query", "description": option.help, "schema": option.schema}
        for option in OPTIONS.values()
        if matted or option.name not in MATTED
    ]


def check_matted(look: Look) -> None:
    """Check a look for a server that finds no people.

    Raises:
        OptionError: If an option needs to know where people are.
    """
    values = {**parameter_values(_DEFAULTS), **look.values}
    wanted = next((name for name in MATTED if values[name] != getattr(_DEFAULTS, name)), None)
    if wanted is not None:
        raise OptionError(
            f"the option '{wanted}' needs a server that finds people: start it as "
            "`styleforge serve --matte FILE`"
        )
