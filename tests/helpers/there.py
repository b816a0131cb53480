"""Takes what may be None and must not be."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """The value, which is not None."""
    assert value is not None
    return value
