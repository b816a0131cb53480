"""Entry point of `python -m app`, the same program as `styleforge`."""

from __future__ import annotations

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
