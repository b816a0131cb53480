"""The keys of the families, as `style.toml` names them. Imports nothing slow."""

from __future__ import annotations

FEED_FORWARD = "feed-forward"
ANY_STYLE = "any-style"

FAMILY_KEYS = (FEED_FORWARD, ANY_STYLE)
