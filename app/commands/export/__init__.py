"""`styleforge export`, see `command`."""

from __future__ import annotations

from app.commands.export.command import add_parser as add_parser
from app.commands.export.command import run as run
