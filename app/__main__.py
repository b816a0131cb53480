"""Entry point of `python -m app`, the same program as `styleforge`."""

from __future__ import annotations

import sys

from app import cli
from utils.leaving import limit_end


def main() -> int:
    """Run the program, and limit how long its process may take to end."""
    return limit_end(cli.main())


if __name__ == "__main__":
    sys.exit(main())
