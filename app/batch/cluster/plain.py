"""Conversion of values to JSON and back by their classes' fields; runs no received data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import repeat
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from app.batch.jobs.places import place_of


def to_plain(value: Any) -> Any:
    """Convert numbers, text, None, paths, enums, and containers or dataclasses of them."""
    if is_dataclass(value):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    return value


def of_plain(kind: Any, given: Any) -> Any:
    """Convert back what `to_plain` converted.

    Raises:
        ValueError: If the value does not have the expected type.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (other,) = (each for each in inner if each is not NoneType)
        return None if given is None else of_plain(other, given)
    if origin is tuple and isinstance(given, list):
        kinds = repeat(inner[0], len(given)) if inner[-1] is Ellipsis else inner
        return tuple(of_plain(*each) for each in zip(kinds, given, strict=True))
    if origin is dict and isinstance(given, dict):
        return {key: of_plain(inner[1], each) for key, each in given.items()}
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(given, dict):
        kinds = get_type_hints(kind)
        names = [each.name for each in fields(kind)]
        if set(names) == set(given):
            return kind(**{name: of_plain(kinds[name], given[name]) for name in names})
    elif kind is Path and isinstance(given, str):
        return place_of(given) or Path(given)
    elif isinstance(kind, type) and issubclass(kind, Enum) and given in kind.__members__:
        return kind[given]
    elif type(given) is kind or (kind is float and type(given) is int):
        return given
    raise ValueError(f"{given!r} is not a {kind}")
