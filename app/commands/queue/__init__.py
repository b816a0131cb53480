"""`styleforge queue`, see `command`."""

from __future__ import annotations

from app.commands.queue.command import add_parser as add_parser
from app.commands.queue.command import run as run
