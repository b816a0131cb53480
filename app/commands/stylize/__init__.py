"""`styleforge stylize`, see `command`."""

from __future__ import annotations

from app.commands.stylize.command import run as run
from app.commands.stylize.flags import add_parser as add_parser
