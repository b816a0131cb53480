"""A style pack: a folder with a `style.toml`, weights and a thumbnail, read and validated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import StyleForgeError
from app.options import AS_THEY_ARE, DEFAULT_LENGTH, NAMED_DIRECTIONS, direction_of
from models.families.keys import ANY_STYLE, FAMILY_KEYS, FEED_FORWARD
from utils.files import toml
from utils.files.byte_planes import unpack
from utils.files.regular import check_regular, read_regular
from utils.stroke_directions import HAND
from utils.text import printable
from utils.translation.texts import mark, tr

MAX_TEXT_LENGTH = 300  # of a title and other texts of a pack; longer ones are truncated
# Defaults by family, in pictures and in streams, for a pack that gives no amounts.
DEFAULT_TEXTURES = {FEED_FORWARD: (0.5, 0.1), ANY_STYLE: (0.25, 0.05)}
MAX_NAME_LENGTH = 100  # characters of a file's name in a message
_INVALID = mark("'{pack}/style.toml' is not valid: {fault}")
_UNREADABLE_WEIGHTS = mark("'{pack}' names weights that cannot be read: {file}: {error}")
_UNREADABLE_THUMBNAIL = mark("'{pack}' names a thumbnail that cannot be read: {file}: {error}")
_UNREADABLE_PICTURE = mark("'{pack}' names a style picture that cannot be read: {file}: {error}")


class StyleError(StyleForgeError):
    """Raised for a style pack that cannot be used."""


@contextmanager
def style_errors(text: str, **values: object) -> Iterator[None]:
    """Turn an OSError in the block into a StyleError; `text` is in English and has `{error}`."""
    try:
        yield
    except OSError as exc:
        raise StyleError(tr(text, **values, error=exc.strerror or exc)) from exc


@dataclass(frozen=True, slots=True)
class Style:
    """One validated pack. `key` is the folder's name; `builtin` packs cannot be removed.

    `sha256` and `lite_sha256` are the hashes of the weight files, empty if the pack states none.
    `lite` is None for a pack without a lite network. `family` is a key of
    models.families.table.FAMILIES, and `picture` is the style picture if the pack has it. `texture`
    and `stream_texture` are the automatic amounts, 0 to 1, in pictures and in streams, and
    `strokes_direction` and `strokes_length` the automatic values of these parameters, in streams
    with `stream_strokes_direction`. `group` is
    the heading under which the gallery shows the style; empty for none.
    """

    key: str
    title: str
    weights: Path
    credit: str = ""
    licence: str = ""
    sha256: str = ""
    thumbnail: Path | None = None
    builtin: bool = False
    lite: Path | None = None
    lite_sha256: str = ""
    family: str = FEED_FORWARD
    picture: Path | None = None
    texture: float = 0.0
    stream_texture: float = 0.0
    strokes_direction: float | str = AS_THEY_ARE
    strokes_length: float = DEFAULT_LENGTH
    group: str = ""
    stream_strokes_direction: float | str = AS_THEY_ARE


def load_pack(folder: Path, *, builtin: bool = False) -> Style:
    """Read and validate a pack.

    Raises:
        StyleError: If the pack is invalid. The message is one sentence.
    """
    pack = printable(folder.name, MAX_NAME_LENGTH)
    try:
        spec = toml.load(folder / "style.toml")
    except FileNotFoundError:
        raise StyleError(tr("'{pack}' has no style.toml", pack=pack)) from None
    except OSError as exc:
        raise StyleError(
            tr("'{pack}/style.toml' cannot be read: {error}", pack=pack, error=exc.strerror)
        ) from exc
    except ValueError as exc:
        raise StyleError(tr(_INVALID, pack=pack, fault=printable(str(exc)))) from exc
    try:
        title, weights = _text(spec, "title"), _text(spec, "weights")
        credit, licence = _text(spec, "credit", ""), _text(spec, "licence", "")
        sha256, thumbnail = _text(spec, "sha256", ""), _text(spec, "thumbnail", "")
        lite, lite_sha256 = _text(spec, "lite_weights", ""), _text(spec, "lite_sha256", "")
        group = one_line(_text(spec, "group", ""))
        family, style_picture = _text(spec, "family", FEED_FORWARD), _text(spec, "picture", "")
        # An unknown family is refused below.
        still, moving = DEFAULT_TEXTURES.get(family, (0.0, 0.0))
        texture = _share(spec, "texture", still)
        stream_texture = _share(spec, "stream_texture", moving)
        direction = stream_direction = _direction(spec, "strokes_direction")
        if (name := "stream_strokes_direction") in spec:
            stream_direction = _direction(spec, name)
        length = _share(spec, "strokes_length", DEFAULT_LENGTH)
        if not weights:
            raise KeyError(tr("'{field}' is empty", field="weights"))
    except (KeyError, TypeError) as exc:
        raise StyleError(tr(_INVALID, pack=pack, fault=exc.args[0])) from exc
    if family not in FAMILY_KEYS:
        raise StyleError(
            tr(
                "'{pack}' belongs to a network family that this version does not support: {family}",
                pack=pack,
                family=printable(family, MAX_NAME_LENGTH),
            )
        )
    for name in filter(None, (weights, lite)):
        if not _has_file(folder, name, _UNREADABLE_WEIGHTS):
            raise StyleError(
                tr(
                    "'{pack}' names weights that are missing: {file}",
                    pack=pack,
                    file=printable(name, MAX_NAME_LENGTH),
                )
            )
    # Without a thumbnail, the gallery shows a color.
    picture = thumbnail and _has_file(folder, thumbnail, _UNREADABLE_THUMBNAIL)
    kept = style_picture and _has_file(folder, style_picture, _UNREADABLE_PICTURE)
    title, credit, licence = one_line(title) or pack, one_line(credit), one_line(licence)
    return Style(
        folder.name,
        title,
        folder / weights,
        credit,
        licence,
        sha256,
        folder / thumbnail if picture else None,
        builtin,
        folder / lite if lite else None,
        lite_sha256,
        family,
        folder / style_picture if kept else None,
        texture,
        stream_texture,
        direction,
        length,
        group,
        stream_strokes_direction=stream_direction,
    )


def _has_file(folder: Path, name: str, unreadable: str) -> bool:
    """Return whether the pack contains a file; `unreadable` is an English message.

    Raises:
        StyleError: If the file is unreadable, outside the pack, or not a regular file.
    """
    pack, shown = printable(folder.name, MAX_NAME_LENGTH), printable(name, MAX_NAME_LENGTH)
    if Path(name).name != name:
        raise StyleError(
            tr("'{pack}' names a file outside its own folder: {file}", pack=pack, file=shown)
        )
    try:
        check_regular(folder / name)
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise StyleError(tr(unreadable, pack=pack, file=shown, error=exc.strerror)) from exc
    return True


def _text(spec: dict[str, object], name: str, default: str | None = None) -> str:
    value = spec.get(name, default)
    if value is None:
        raise KeyError(tr("'{field}' is missing", field=name))
    if not isinstance(value, str):
        shown = printable(repr(value), MAX_NAME_LENGTH)
        raise TypeError(tr("'{field}' should be text, not {value}", field=name, value=shown))
    return value


def _share(spec: dict[str, object], name: str, default: float) -> float:
    value = spec.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        shown = printable(repr(value), MAX_NAME_LENGTH)
        raise TypeError(
            tr("'{field}' should be a number from 0 to 1, not {value}", field=name, value=shown)
        )
    return float(value)


def _direction(spec: dict[str, object], name: str) -> float | str:
    keys = [key for key in NAMED_DIRECTIONS if key != HAND]  # handles belong to a picture
    value = spec.get(name, AS_THEY_ARE)
    if (found := direction_of(value, keys)) is not None:
        return found
    raise TypeError(
        tr(
            "'{field}' should be one of {keys} or an angle from 0 to less than 180, not {value}",
            field=name,
            keys=", ".join(keys),
            value=printable(repr(value), MAX_NAME_LENGTH),
        )
    )


def one_line(text: str) -> str:
    """Return `text` cut to MAX_TEXT_LENGTH, without controls that could overwrite a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[
        :MAX_TEXT_LENGTH
    ].strip()


def check_weights(style: Style, *, lite: bool = False) -> None:
    """Compare the hash of the weights, or of the lite weights, with the one in the pack.

    Raises:
        StyleError: If the hashes differ.
        OSError: If the file cannot be read.
    """
    from models.checkpoints import MAX_BYTES

    path, sha256 = (style.lite, style.lite_sha256) if lite else (style.weights, style.sha256)
    if not path or not sha256:
        return
    if hashlib.sha256(unpack(read_regular(path, MAX_BYTES))).hexdigest() != sha256:
        raise StyleError(
            tr(
                "'{file}' of the style '{style}' is not the file its style.toml describes (the "
                "sha256 differs)",
                file=path.name,
                style=style.title,
            )
        )


def check_all_weights(style: Style) -> None:
    check_weights(style)
    if style.lite:
        check_weights(style, lite=True)
