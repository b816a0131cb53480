"""`styleforge train`, see `command`."""

from __future__ import annotations

from app.commands.train.command import add_parser as add_parser
from app.commands.train.command import run as run
