"""`styleforge merge-manifests`: reports the missing results of a run that processes shared."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from app.batch.manifest import Entry, Manifest, ManifestError, State, read_manifest, sha256_of
from app.batch.shard import Shard
from app.errors import MAX_MESSAGE_LENGTH
from app.exit_status import DONE, FAILED
from utils.text import printable

PATTERN = "manifest-*-of-*.json"  # in a folder


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "merge-manifests",
        help="list the pictures missing from a run shared by several processes",
        description="Read the manifests of `styleforge stylize --shard`, compare them with each "
        "other and with the results, and print every picture without a result, one "
        "per line. The exit status is 0 only if nothing is missing.",
    )
    parser.add_argument(
        "manifests",
        nargs="+",
        type=Path,
        metavar="FILE",
        help=f"a manifest, or a folder with files named {PATTERN}",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="MERGED",
        help="write one manifest with the entries of all",
    )
    parser.add_argument(
        "--hash",
        action="store_true",
        help="read every result and compare its SHA-256 (default: compare size and modification "
        "time)",
    )


@dataclass(frozen=True, slots=True)
class Missing:
    """A picture without a result, and the reason."""

    entry: Entry
    why: str


def run(args: argparse.Namespace) -> int:
    """Compare the manifests; return 1 if anything is missing, 0 otherwise."""
    manifests = [read_manifest(path) for path in _files(args.manifests)]
    faults = _faults(manifests)
    missing = [
        Missing(entry, why)
        for manifest in manifests
        for entry in manifest.entries
        if (why := _fault_of(entry, by_hash=args.hash))
    ]
    for one in missing:
        sys.stdout.write(f"{printable(one.entry.source, MAX_MESSAGE_LENGTH)}\n")
        sys.stderr.write(f"styleforge: {_shown(one.entry.source)}: {one.why}\n")
    for fault in faults:
        sys.stderr.write(f"styleforge: {fault}\n")
    if args.output is not None:
        _merged(manifests).write(args.output)
    total, left = sum(len(each.entries) for each in manifests), len(missing)
    sys.stderr.write(f"{total - left} of {manifests[0].pictures} pictures have a result\n")
    return FAILED if faults or missing else DONE


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
        if not inside:
            raise ManifestError(f"{_shown(path)} contains no {PATTERN}")
        found += inside
    return found


def _faults(manifests: Sequence[Manifest]) -> list[str]:
    """Return why the manifests do not form one whole run, one sentence each."""
    faults: list[str] = []
    count = manifests[0].shard.count
    plans = {(each.shard.count, each.pictures, each.plan_sha256) for each in manifests}
    if len(plans) > 1:
        faults.append(
            "the shards are from different runs: their numbers or pictures differ; run all of "
            "them again with --skip-existing"
        )
    if len({each.style for each in manifests}) > 1:
        faults.append("the shards have different styles")
    there = Counter(each.shard.index for each in manifests)
    lost = _gaps(sorted(index for index in there if index <= count), count)
    if lost:
        faults.append(f"the manifest of {_shards(lost)} of {count} is missing")
    twice = [str(index) for index, number in there.items() if number > 1]
    if twice:
        faults.append(f"there is more than one manifest of {_shards(twice)} of {count}")
    broken = [str(each.shard.index) for each in manifests if not each.finished]
    if broken:
        faults.append(f"the run of {_shards(broken)} of {count} did not finish")
    results = Counter(entry.result for each in manifests for entry in each.entries)
    shared = [result for result, number in results.items() if number > 1]
    if shared and not twice:
        faults.append(
            f"{len(shared)} results come from two shards each, the first is {_shown(shared[0])}"
        )
    for each in manifests:
        faults += (printable(problem, MAX_MESSAGE_LENGTH) for problem in each.problems)
    return list(dict.fromkeys(faults))


def _fault_of(entry: Entry, *, by_hash: bool) -> str:
    """Return why a picture has no result; "" if it has one."""
    if entry.state is State.FAILED:
        return printable(entry.error, MAX_MESSAGE_LENGTH) or "it failed"
    if entry.state is State.PENDING:
        return "it was not stylized"
    if not Path(entry.result).is_file():
        return f"its result {_shown(entry.result)} does not exist"
    same = entry.intact
    if by_hash and entry.result_sha256 is not None:
        same = sha256_of(Path(entry.result)) == entry.result_sha256
    return "" if same else f"its result {_shown(entry.result)} was changed after the run"


def _merged(manifests: Sequence[Manifest]) -> Manifest:
    entries = {entry.result: entry for each in manifests for entry in each.entries}
    problems = dict.fromkeys(problem for each in manifests for problem in each.problems)
    return replace(
        manifests[0],
        shard=Shard(1, 1),
        entries=tuple(entries.values()),
        problems=tuple(problems),
        finished=all(each.finished for each in manifests),
    )


def _gaps(there: Sequence[int], count: int) -> list[str]:
    """Return the numbers from 1 to `count` that `there` lacks, as "3" or "5 to 9"."""
    gaps: list[str] = []
    for before, behind in pairwise((0, *there, count + 1)):
        if behind - before > 1:
            first, last = before + 1, behind - 1
            gaps.append(f"{first}" if first == last else f"{first} to {last}")
    return gaps


def _shards(indexes: Sequence[str]) -> str:
    several = len(indexes) > 1 or " to " in "".join(indexes)
    return f"shard{'s' if several else ''} {', '.join(indexes)}"


def _shown(path: object) -> str:
    return f"'{printable(str(path), MAX_MESSAGE_LENGTH)}'"
