"""What the studio asks about."""

from __future__ import annotations

from enum import StrEnum


class Topic(StrEnum):
    """A question of the studio, by which it is withdrawn."""

    OWN_PICTURES = "pictures"
    LONG = "long"
    UNFINISHED = "unfinished"
    DOWNLOAD = "download"
    CANCEL = "cancel"
