"""`styleforge stylize`: stylizes picture files, folders and films."""

from __future__ import annotations

import argparse

from app.batch.run import run as run_request
from app.commands.stylize.reporters import make_reporter
from app.commands.stylize.request import request_of
from app.exit_status import DONE, FAILED


def run(args: argparse.Namespace) -> int:
    """Stylize all inputs; return 1 if any input failed, 0 otherwise."""
    reporter = make_reporter(args.progress, args.loudness)
    return DONE if run_request(request_of(args), reporter) else FAILED
