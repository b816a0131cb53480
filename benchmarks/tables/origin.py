"""Describes where a report is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def where(report: Mapping[str, Any]) -> str:
    """Describe the machine, its software and the date of a report in one line."""
    machine, versions = report["machine"], report["versions"]
    device = machine["gpu"] or f"{machine['cpu']}, {machine['threads']} threads"
    software = f"PyTorch {versions['torch']}, Python {versions['python']}"
    what = [report["style"], f"{report['runs']} runs"] if "runs" in report else []
    commit = [f"commit {_short(report['commit'])}"] if report["commit"] else []
    return "; ".join([device, software, *what, report["taken"], *commit])


def _short(commit: str) -> str:
    """Shorten a commit to twelve digits, and preserve the + that marks changed files."""
    return commit[:12] + commit[12:].lstrip("0123456789abcdef")
