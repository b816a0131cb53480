"""The exit statuses of the command line, in one table."""

from __future__ import annotations

DONE = 0
FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 128 + 2  # the status that shells report for a program that Ctrl+C ended

EXIT_STATUSES = {
    DONE: "everything was done",
    FAILED: "something failed, as a message on stderr says; what could be done was done",
    WRONG_USAGE: "the command line is wrong, and nothing was done",
    INTERRUPTED: "stopped by Ctrl+C or SIGTERM; files that were written are complete",
}
