"""Files that a process writes several times and makes once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

P = ParamSpec("P")
Write = Callable[Concatenate[Path, P], Path]


def written_again(write: Write[P]) -> Write[P]:
    """Let a function take a file from memory that it made before, if only the path is another.

    The other arguments are numbers, texts, and sequences of them; another suffix is another file.
    """
    made: dict[str, bytes] = {}

    @wraps(write)
    def written(path: Path, *args: P.args, **named: P.kwargs) -> Path:
        key = repr((path.suffix, args, sorted(named.items())))
        if key in made:
            path.write_bytes(made[key])
        else:
            write(path, *args, **named)
            made[key] = path.read_bytes()
        return path

    return written
