"""The engine finds every kind of fault, continues after it, and can repeat it."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.case import Case, Fifo, Link
from tests.fuzz.engine import Campaign, Worker
from tests.fuzz.faulty import ACTS, Faulty
from tests.fuzz.mutations import as_json, as_toml, damaged, damaged_png, damaged_zip
from tests.fuzz.targets import TARGETS
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions

FOUND = {
    "reads": "",
    "refuses": "",
    "raises": "exception",
    "is wrong": "wrong",
    "says two lines": "message",
    "says an escape": "message",
    "says too much": "message",
    "names nothing": "message",
    "prints": "printed",
    "writes": "printed",
    "crashes": "crash",
    "ends": "crash",
    "hangs": "hang",
    "takes memory": "memory",
    "takes all memory": "exception",
    "leaves a thread": "threads",
    "runs code": "code",
}


@pytest.mark.full
@pytest.mark.parametrize("act", ACTS)
def test_every_kind_of_fault_is_found(act: str) -> None:
    with Worker(Faulty(act), seed=1) as worker:
        outcome, _ = worker.run(0)
    assert outcome.finding == FOUND[act], outcome.details
    assert outcome.refused == (act == "refuses")


@pytest.mark.full
def test_a_hang_says_where() -> None:
    with Worker(Faulty("hangs"), seed=1) as worker:
        outcome, _ = worker.run(0)
    assert "faulty.py" in outcome.details


@pytest.mark.full
def test_the_worker_goes_on_after_a_crash() -> None:
    with Worker(Faulty("crashes"), seed=1) as worker:
        assert [worker.run(n)[0].finding for n in range(3)] == ["crash"] * 3


def test_a_finding_is_kept_with_its_bytes_and_how_to_repeat_it(tmp_path: Path) -> None:
    lines: list[str] = []
    campaign = Campaign([Faulty("raises")], 7, tmp_path, lines.append)
    campaign.run(iter(range(5, 15)))
    (finding,) = campaign.findings  # ten times the same cause
    assert campaign.tallies["faulty"].causes.total() == 10
    assert finding.repeat == "python -m tests.fuzz --target faulty --seed 7 --case 5"
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["faulty-7-5", "faulty-7-6", "faulty-7-7"]
    given = (tmp_path / "faulty-7-5" / "files" / "given").read_bytes()
    assert given == Random("faulty/7/5").randbytes(8)
    report = (tmp_path / "faulty-7-5" / "report.txt").read_text()
    assert "KeyError: 'given'" in report
    assert finding.repeat in report
    assert any(mentions(line, "10 findings", "1 causes") for line in lines)


def test_a_campaign_ends_after_its_seconds() -> None:
    campaign = Campaign([Faulty("reads"), Faulty("refuses", "other")], 1)
    campaign.run(seconds=0.2, jobs=2)
    assert not campaign.findings
    assert all(tally.cases for tally in campaign.tallies.values())


@pytest.mark.parametrize("target", some_daily(TARGETS, 0, 5), ids=lambda target: target.name)
def test_a_seed_and_a_number_make_the_same_case_again(target) -> None:
    if not target.sample:
        pytest.skip("a script of its own")
    target = copy.copy(target)  # workers do not receive its prepared state
    target.prepare()
    for number in range(3):
        name = f"{target.name}/1/{number}"
        assert target.make(Random(name)) == target.make(Random(name))


def test_links_and_pipes_are_laid_as_what_they_are(tmp_path: Path) -> None:
    Case({"a/file": b"x", "a/link": Link("/dev/zero"), "a/pipe": Fifo()}).lay(tmp_path)
    assert (tmp_path / "a" / "file").read_bytes() == b"x"
    assert (tmp_path / "a" / "link").readlink() == Path("/dev/zero")
    assert (tmp_path / "a" / "pipe").is_fifo()


@pytest.mark.parametrize("data", [b"", b"\0", b"short 12", bytes(range(256)) * 20])
def test_any_bytes_can_be_damaged(data: bytes) -> None:
    rng = Random(1)
    made = {damaged(rng, data, [b"another"]) for _ in range(300)}
    assert len(made) > 30
    assert all(len(one) < 64 << 20 for one in made)


def test_structured_files_are_damaged_within_their_structure() -> None:
    rng = Random(1)
    table = {"a": 1, "b": [1.5, True], "c": {"d": "text"}}
    for _ in range(200):
        assert isinstance(as_json(rng, table), bytes)
        assert isinstance(as_toml(rng, table), bytes)
    assert damaged_png(rng, b"no png") != b""
    with pytest.raises(Exception, match="zip"):
        damaged_zip(rng, b"no archive")


def test_the_command_runs_one_target_and_says_what_it_did(capfd, tmp_path: Path) -> None:
    line = ["--target", "settings", "--cases", "3", "--seed", "1", "--keep", str(tmp_path / "kept")]
    assert main(line) in (0, 1)
    said = capfd.readouterr().out
    assert said.startswith("seed 1;")
    assert "3 cases" in said


def test_targets_have_names_of_their_own() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)
