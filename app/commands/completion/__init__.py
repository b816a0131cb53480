"""`styleforge completion`, see `command`."""

from __future__ import annotations

from app.commands.completion.command import add_parser as add_parser
from app.commands.completion.command import run as run
