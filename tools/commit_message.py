"""Checks a commit message: `area: imperative summary` of at most 72 characters, and a body.

Git's commit-msg hook runs `python tools/commit_message.py FILE`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

LONGEST_SUMMARY = 72  # characters
SUMMARY = re.compile(r"[a-z][a-z0-9_/-]*(, [a-z][a-z0-9_/-]*)*: \S")
OTHER_MOODS = re.compile(r"(added|adds|adding|fixed|fixes|fixing|changed|changes|changing)\b")
SCISSORS = re.compile(r"^# -+ >8 -+$", re.MULTILINE)  # git commit --verbose puts a diff below it


def faults(message: str) -> list[str]:
    """Return the faults of `message`, one sentence each.

    Merges, reverts and fixups have git's own words and are accepted unchanged.
    """
    text = SCISSORS.split(message)[0]
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    summary = lines[0] if lines else ""
    if summary.startswith(("Merge ", "Revert ", "fixup! ", "squash! ")):
        return []
    found = []
    if not SUMMARY.match(summary):
        found.append("the first line should be `area: summary`, the area in lower case")
    elif OTHER_MOODS.match(summary.partition(": ")[2].lower()):
        found.append("the summary should be imperative: `add`, not `added` or `adds`")
    if len(summary) > LONGEST_SUMMARY:
        found.append(f"the first line has {len(summary)} characters, more than {LONGEST_SUMMARY}")
    if summary.endswith("."):
        found.append("the first line should not end with a period")
    if len(lines) > 1 and lines[1]:
        found.append("the second line should be empty")
    if not any(lines[2:]):
        found.append("the body is missing; it says why")
    return found


def main(argv: Sequence[str]) -> int:
    """Check the file named by git; return 1, with the faults on stderr, if it has any."""
    (name,) = argv
    found = faults(Path(name).read_text("utf-8"))
    sys.stderr.writelines(f"commit message: {fault}\n" for fault in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
