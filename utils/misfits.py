"""Finds the argument of a call that does not fit a function's signature.

It serves calls that have failed, so calls that succeed cost nothing. A function may accept more
than its annotations; such values pass if they cannot be distinguished.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


def misfit(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return a sentence on the first argument that does not fit, or "" if all fit.

    The annotations of the signature must be types.
    """
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return str(error)
    for name, value in given.items():
        kind = signature.parameters[name].annotation
        if not _fits(value, kind):
            return f"{name} is of type {type(value).__name__}; expected {_described(kind)}"
    return ""


def _fits(value: Any, kind: Any) -> bool:
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in of)
    if origin in (list, Sequence):
        if of[0] is int and _fits(value, int):
            return True  # one number means a list of it
        return isinstance(value, list | tuple) and all(_fits(each, of[0]) for each in value)
    if kind in (int, float) and not isinstance(value, str):
        try:
            (operator.index if kind is int else float)(value)
        except (TypeError, ValueError, RuntimeError):
            return False
        return True
    if kind is bool:
        return isinstance(value, int)
    return not isinstance(kind, type) or isinstance(value, kind)


def _described(kind: Any) -> str:
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(map(_described, of))
    if origin in (list, Sequence):
        return f"a list of {_described(of[0])}"
    return "None" if kind is NoneType else getattr(kind, "__name__", str(kind))
