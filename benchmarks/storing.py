"""Stores a report as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.files.atomic import atomic_write


def store(path: Path, report: Mapping[str, Any], indent: int = 2) -> None:
    """Write a report under a temporary name, then rename it."""
    atomic_write(path, (json.dumps(report, indent=indent) + "\n").encode())
