"""The command `python -m tests.fuzz` looks for faults until it is stopped with Ctrl+C."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.engine import Campaign
from tests.fuzz.targets import TARGETS


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 without a finding, 1 with one, 2 if the command line is wrong."""
    args = _parser().parse_args(argv)
    known = {target.name: target for target in TARGETS}
    targets = [known[name] for name in args.target or known]
    seed = random.SystemRandom().randrange(1 << 32) if args.seed is None else args.seed
    numbers = None
    if args.case is not None:
        numbers = iter([args.case])
    elif args.cases is not None:
        numbers = iter(range(args.cases))
    _say(f"seed {seed}; findings are kept in '{args.keep}'")
    campaign = Campaign(targets, seed, args.keep, _say)
    campaign.run(numbers, args.seconds, args.jobs)
    _say("")
    for target in targets:
        tally = campaign.tallies[target.name]
        _say(f"{target.name:<12} {tally.cases:>8,} cases, {len(tally.causes)} causes of findings")
        for finding in tally.findings:
            count = tally.causes[f"{finding.outcome.finding} {finding.outcome.cause}"]
            _say(f"  {count:,} times {finding.outcome.finding}: {finding.outcome.cause}")
            _say(f"    {finding.repeat}")
            if args.case is not None:
                _say(finding.outcome.details)
    return 1 if campaign.findings else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line.encode('utf-8', 'backslashreplace').decode()}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Feed everything that the program reads with damaged and hostile input.",
    )
    need = parser.add_argument
    need(
        "--target",
        action="append",
        choices=[target.name for target in TARGETS],
        help="what to try; may be given more than once (default: everything)",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--seconds", type=float, metavar="N", help="of work on each target")
    end.add_argument("--cases", type=int, metavar="N", help="of each target")
    end.add_argument("--case", type=int, metavar="N", help="this one alone, with all details")
    need("--seed", type=int, metavar="N", help="begins the random numbers (default: a new one)")
    need(
        "--keep",
        type=Path,
        default=Path("build/fuzz"),
        metavar="FOLDER",
        help="where the files of findings go (default: build/fuzz)",
    )
    need(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="targets worked on at the same time (default: one a core)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
