"""A description whose blocks leave as little room as on a GPU with less shared memory.

With it, a GPU is measured in place of such a GPU; see `standing_for` in gpu.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def padded(described: Mapping[str, Any], limit: int, whole: int) -> dict[str, Any]:
    """Return a description whose general path takes more shared memory than it needs.

    In bytes: no more blocks share a multiprocessor, which has `whole`, than fit into `limit`.
    """
    general = {name: _padded(described[name], limit, whole) for name in ("sm80", "sm80_int8")}
    return {**described, **general}


def _padded(told: Mapping[str, Any], limit: int, whole: int) -> dict[str, Any]:
    entries: dict[str, Any] = {**told, **padding(told, limit, whole)}
    return {
        name: _padded(cast("Mapping[str, Any]", entry), limit, whole)
        if isinstance(entry, Mapping)
        else entry
        for name, entry in entries.items()
    }


def padding(layer: Mapping[str, Any], limit: int, whole: int) -> dict[str, int]:
    """Return the entries of a layer that `padded` changes; none if it is not a layer."""
    if "occupied_bytes" not in layer:
        return {}
    at_once = max(1, limit // layer["occupied_bytes"])
    beside = layer["occupied_bytes"] - layer["shared_bytes"]
    least = whole // (at_once + 1) + 1 - beside
    return {"shared_bytes": max(layer["shared_bytes"], -(-least // 16) * 16)}
