"""What the reporters of all commands have in common, see `display`."""

from __future__ import annotations

from app.commands.reporting.display import Display as Display
