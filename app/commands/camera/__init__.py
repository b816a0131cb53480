"""`styleforge camera`, see `command`."""

from __future__ import annotations

from app.commands.camera.command import run as run
from app.commands.camera.flags import add_parser as add_parser
