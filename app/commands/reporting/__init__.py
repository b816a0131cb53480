"""The common base of all commands' reporters, see `display`."""

from __future__ import annotations

from app.commands.reporting.display import Display as Display
