"""Where processes cannot be forked and limited as POSIX does, there is no fuzzing."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py"]
