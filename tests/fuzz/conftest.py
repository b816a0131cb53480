"""Skips fuzzing on systems that cannot fork and limit processes as POSIX does."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py"]
