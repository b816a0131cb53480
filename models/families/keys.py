"""The keys of the families in `style.toml`. Imports nothing slow."""

from __future__ import annotations

FEED_FORWARD = "feed-forward"
ANY_STYLE = "any-style"

FAMILY_KEYS = (FEED_FORWARD, ANY_STYLE)
