"""`styleforge bench`, see `command`."""

from __future__ import annotations

from app.commands.bench.command import add_parser as add_parser
from app.commands.bench.command import run as run
