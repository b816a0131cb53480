"""Entry point of `python -m app`, the same program as `styleforge`."""

from __future__ import annotations

import signal
import sys

from app import cli
from utils.leaving import limit_end


def main() -> int:
    """Run the program, and limit how long its process may take to end.

    SIGTERM ends it as Ctrl+C does: files being written are completed or removed.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return limit_end(cli.main())


if __name__ == "__main__":
    sys.exit(main())
