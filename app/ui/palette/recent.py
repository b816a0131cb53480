"""The entries used recently, as one setting."""

from __future__ import annotations

MOST = 12  # entries


def keys_of(stored: str) -> list[str]:
    """Return the keys in a setting, the newest first."""
    return [key for key in stored.split("\n") if key]


def with_newest(stored: str, key: str) -> str:
    """Return the setting after an entry was used."""
    others = (each for each in keys_of(stored) if each != key)
    return "\n".join([key, *others][:MOST])
