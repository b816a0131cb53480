"""`styleforge quality`, see `command`."""

from __future__ import annotations

from app.commands.quality.command import add_parser as add_parser
from app.commands.quality.command import run as run
