"""`styleforge train-vit`, see `command`."""

from __future__ import annotations

from app.commands.train_vit.command import run as run
from app.commands.train_vit.flags import add_parser as add_parser
