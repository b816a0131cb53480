"""Writes TOML, which the standard library only reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Value = str | int | float | bool | Sequence[float]


def dumps(table: Mapping[str, Value]) -> str:
    """One line for each key, which must be a bare one; tomllib.loads gives the table back."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in table.items())


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for astral characters and DEL.
        text = value.encode("utf-8", "replace").decode("utf-8")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
