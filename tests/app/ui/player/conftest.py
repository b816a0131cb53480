"""Fixtures for the player: the window of a real session."""

from __future__ import annotations

from tests.app.ui.window.conftest import saved, session, window

__all__ = ["saved", "session", "window"]
