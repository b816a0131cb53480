"""`styleforge serve`, see `command`."""

from __future__ import annotations

from app.commands.serve.command import add_parser as add_parser
from app.commands.serve.command import run as run
