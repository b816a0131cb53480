"""The machines of a cluster exchange JSON, and an actor needs no Ray to answer it."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.batch.cluster.painter import Painter, PainterSetup
from app.batch.cluster.rows import (
    COLUMN,
    Batch,
    Item,
    PartAnswer,
    batch_of,
    items_in,
    rows_of,
    said_in,
)
from app.batch.error import StylizeError
from app.batch.jobs.job import Job
from app.batch.jobs.places import Place
from app.batch.pictures.outcome import Fault, Outcome, Result
from app.batch.team.requests import PictureRun
from app.commands.queue.arguments import job_arguments
from app.commands.stylize.request import request_of
from app.engine.result import RunInfo, Timings
from app.export.film.info import FilmReading
from app.export.film.parts.split import Part
from app.export.film.parts.work import LineCount, LineEnd, MadePart
from models.precision import Precision
from tests.app.commands.conftest import STYLE, stylized
from tests.conftest import picture
from utils.images.writing import write_pixels

JOB = Job(Path("no text \udcff.png"), Place("s3://bucket/styled/a.png"), before_after="side")
PART = Part(3, 30030, None, 90)
RAN = RunInfo("Fused", Precision.fp16, "CPU", ("no CUDA device",), "Candy", mixed=True)
TOOK = Timings(network=1.25, groups=(("encoder", 0.1), ("decoder", 0.2)))


def batch(*texts: str) -> Batch:
    return {COLUMN: np.array(texts, object)}


def given(items: list[Item]) -> Batch:
    return batch(*(row[COLUMN] for row in rows_of(items)))


@pytest.mark.parametrize(
    "said",
    [
        Outcome(JOB, Result(TOOK, RAN, 8), None, "remark", ("one", "two")),
        Outcome(JOB, None, Fault("it is damaged")),
        Outcome(JOB, None, Fault("No space left", True, "a.png")),
        PartAnswer(PART, MadePart(Path("3.part"), 30030, (0, 1001, 3003), 1001)),
        PartAnswer(PART, None),
        LineCount(8, ("notice",)),
        LineEnd({"decode": 0.5, "engine": 2.0}, str(RAN), FilmReading(1, "fault", 2)),
    ],
)
def test_what_is_said_arrives_as_it_was_and_is_plain_text(said):
    packed = batch_of([said])
    assert said_in(packed) == [said]
    (text,) = packed[COLUMN]
    assert text.isascii()
    assert json.loads(text)[0] in ("picture", "part", "count", "end")


def test_items_arrive_as_they_were_whatever_their_names():
    assert items_in(given([JOB, PART])) == [JOB, PART]
    (job, _) = items_in(given([JOB, PART]))
    assert isinstance(job, Job)
    assert str(job.target) == "s3://bucket/styled/a.png"
    assert isinstance(job.target, Place)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('["system", {"source": "a", "target": "b", "film": false}]', "'system'.* is not one of"),
        ('["picture", {"source": "a", "target": "b"}]', "is not a "),
        (
            '["picture", {"source": 3, "target": "b", "film": false, "before_after": "", '
            '"long_side": null}]',
            "3 is not a ",
        ),
        (
            '["picture", {"source": "a", "target": "b", "film": "yes", "before_after": "", '
            '"long_side": null}]',
            "'yes' is not a ",
        ),
        ('["part", {"number": 1, "first": 0.5, "until": null, "frames": 3}]', "0.5 is not a "),
        ("3", "3 is not one of"),
        ("picture", "Expecting value"),
    ],
)
def test_a_row_that_is_none_of_ours_is_refused(text, fault):
    with pytest.raises(ValueError, match=fault):
        items_in(batch(text))


def test_a_fault_of_the_system_stays_one_with_its_file():
    picture = Path("album/a.png")
    missing = Fault.of(FileNotFoundError(errno.ENOENT, "No such file", "b.png"))
    assert missing.told(picture) == "'b.png': No such file"
    assert Fault.of(OSError(errno.ENOSPC, "No space")).told(picture) == f"'{picture}': No space"
    other = Fault.of(StylizeError("'a.png' does not fit"))
    assert other.told(picture) == f"'{picture}' does not fit"


def painter(*flags: str) -> Painter:
    words = ["--output=out", f"--style={STYLE}", "--kernels=baseline", *flags, "--", "a"]
    request = request_of(job_arguments(words))
    config = replace(request.config, device="cpu")
    return Painter(PainterSetup(request, config, PictureRun(None)))


def answers(painter: Painter, jobs: list[Job]) -> dict[str, Outcome]:
    said = said_in(painter(given([*jobs])))
    found = {each.job.source.name: each for each in said if isinstance(each, Outcome)}
    assert len(said) == len(found) == len(jobs)
    return found


def test_an_actor_answers_every_picture_and_makes_none_twice(style, tmp_path):
    jobs = []
    for name in ("a.png", "b.png", "there.png"):
        write_pixels(tmp_path / name, picture(24, 16))
        jobs.append(Job(tmp_path / name, tmp_path / "out" / name))
    (tmp_path / "bad.png").write_bytes(b"no picture")
    jobs.append(Job(tmp_path / "bad.png", tmp_path / "out" / "bad.png"))
    jobs.append(Job(tmp_path / "gone.png", tmp_path / "out" / "gone.png"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "there.png").write_bytes(b"of an attempt that died")
    assert stylized(tmp_path / "a.png", "-o", tmp_path / "alone.png", "--kernels", "baseline") == 0

    said = answers(painter(), jobs)
    assert set(said) == {"a.png", "b.png", "there.png", "bad.png", "gone.png"}
    assert {name for name, each in said.items() if each.result} == {"a.png", "b.png", "there.png"}
    assert (tmp_path / "out" / "a.png").read_bytes() == (tmp_path / "alone.png").read_bytes()
    assert (tmp_path / "out" / "there.png").read_bytes() == b"of an attempt that died"
    result, fault = said["a.png"].result, said["bad.png"].fault
    assert result
    assert "Baseline, FP32" in str(result.running)
    assert result.timings.total > 0
    assert fault
    assert "bad.png" in fault.text

    again = answers(painter("--overwrite"), jobs[2:3])
    assert again["there.png"].result
    assert (tmp_path / "out" / "there.png").read_bytes() != b"of an attempt that died"
