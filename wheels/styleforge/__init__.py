"""StyleForge as it is installed: `styleforge.app`, `.models`, `.kernels`, `.utils`, `.assets`.

`styleforge.Stylist` is that of `styleforge.app.stylist`.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Import Stylist when it is used, since it takes PyTorch."""
    if name == "Stylist":
        from app.stylist import Stylist

        return Stylist
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
