"""The workflows call existing commands, and only publishing jobs have write access."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text("utf-8"))["jobs"]


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(path).values():
        yield from job["steps"]


@each_workflow
def test_a_step_makes_targets_that_exist_and_gives_commands_that_exist(path):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(" ".join(re.findall(r"^([a-z -]+):", makefile, re.MULTILINE)).split())
    runs = "\n".join(step["run"] for step in steps(path) if "run" in step)
    made = set(re.findall(r"(?:^|&& )make ([a-z-]+)", runs, re.MULTILINE))
    given = set(re.findall(r"\bstyleforge(?:\.exe\")? ([a-z-]+)", runs))
    assert made
    assert made <= targets
    assert given <= set(COMMANDS)


@each_workflow
def test_a_job_needs_jobs_that_exist(path):
    for job in jobs(path).values():
        needed = job.get("needs", [])
        assert ({needed} if isinstance(needed, str) else set(needed)) <= set(jobs(path))


@each_workflow
def test_only_jobs_without_a_checkout_may_write(path):
    assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        if "permissions" in job:
            used = {step.get("uses", "").partition("@")[0] for step in job["steps"]}
            assert "actions/checkout" not in used, f"{name} would run the checkout's code"


def test_nothing_is_published_that_was_not_tried():
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert set(release["pypi"]["needs"]) == {"wheel", "setup"}
    assert release["github"]["needs"] == "pypi"
    assert {release["wheel"]["needs"], release["setup"]["needs"]} == {"build"}
    systems = release["wheel"]["strategy"]["matrix"]["os"]
    assert {name.partition("-")[0] for name in systems} == {"ubuntu", "windows", "macos"}
