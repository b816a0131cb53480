"""`styleforge man`, see `command`."""

from __future__ import annotations

from app.commands.man.command import add_parser as add_parser
from app.commands.man.command import run as run
