"""Style packs: folders holding a `style.toml`, its weights and a thumbnail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Style:
    """One pack, read and checked. `key` is the folder's name; `builtin` packs cannot be removed.

    `thumbnail` may be missing; `about` holds the rest of style.toml for a details view.
    """

    key: str
    title: str
    weights: Path
    credit: str = ""
    licence: str = ""
    thumbnail: Path | None = None
    builtin: bool = False
