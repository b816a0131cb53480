"""A check that an optional value is not None."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """Return the value, which must not be None."""
    assert value is not None
    return value
