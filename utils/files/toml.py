"""Writes TOML, which the standard library only reads, and reads it from files of anybody."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.files.regular import read_regular

MOST = 1 << 20  # bytes of a file
DOTS = 200  # in a line; tomllib's time grows with the square of the parts of a key

Value = str | int | float | bool | Sequence[float]


def load(path: Path) -> dict[str, Any]:
    """The table in the file at `path`. OSError where there is no regular file of at most MOST
    bytes, ValueError where that is no TOML."""
    data = read_regular(path, MOST)
    if any(line.count(b".") > DOTS for line in data.split(b"\n")):
        raise ValueError(f"a line has more than {DOTS} dots")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError as exc:
        raise ValueError("it nests too deeply") from exc


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
