"""The table of network families, and the lookup of a file's family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.families.any_style import AnyStyleFamily
from models.families.family import NetworkFamily
from models.families.feed_forward import FeedForwardFamily
from models.families.style_codes import header_texts

FAMILIES: dict[str, NetworkFamily[Any]] = {
    family.key: family for family in (FeedForwardFamily(), AnyStyleFamily())
}


def family_of(path: Path) -> NetworkFamily[Any]:
    """Return a file's family by its header.

    A file without a format is feed-forward: such checkpoints come from many programs, and the
    family's `read` reports a file of another kind.

    Raises:
        CheckpointError: If the file cannot be read.
    """
    named = header_texts(path).get("format", "")
    families = FAMILIES.values()
    return next((f for f in families if named in f.formats), FAMILIES["feed-forward"])
