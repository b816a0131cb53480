"""Chooses the source that the wall paints at the start."""

from __future__ import annotations

from app.sources import SCENE
from app.sources.address import is_address
from app.sources.camera import is_camera


def first_source(stored: str | list[str]) -> str | list[str]:
    """Return the stored source if it consists of files, and otherwise the scene.

    A camera, also one with an address, is opened only for a user who asked for it.
    """
    if isinstance(stored, str) and (not stored or is_camera(stored) or is_address(stored)):
        return SCENE
    return stored
