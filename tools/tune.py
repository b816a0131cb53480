"""`python -m tools.tune` is `styleforge tune` in a checkout; see docs/how-to/tuning.md."""

from __future__ import annotations

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main(["tune", *sys.argv[1:]]))
