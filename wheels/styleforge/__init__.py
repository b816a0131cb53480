"""The installed StyleForge: `styleforge.app`, `.models`, `.kernels`, `.utils`, `.assets`.

`styleforge.Stylist` is `styleforge.app.stylist.Stylist`.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Import Stylist on first use, since it imports PyTorch."""
    if name == "Stylist":
        from app.stylist import Stylist

        return Stylist
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
