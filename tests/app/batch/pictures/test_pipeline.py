"""Reading, styling and writing overlap, within a memory limit, and reports stay in order."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from app.batch import batch_engine
from app.batch import limits as memory
from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.pictures import pipeline
from app.batch.pictures.files import Picture
from app.batch.pictures.groups import Group, groups
from app.batch.pictures.outcome import Outcome
from app.batch.pictures.pipeline import Pipeline
from app.batch.pictures.styling import Styling
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import ADVICE
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from utils.images.metadata import read_metadata
from utils.images.opening import ImageError
from utils.images.reading import picture_size
from utils.images.writing import write_pixels

PATIENCE_S = 10.0  # for events that another thread causes at once
CONFIG = EngineConfig(style="candy", device="cpu", network="lite", size=32)


@pytest.fixture
def jobs(tmp_path):
    made = []
    for number in range(6):
        source = tmp_path / f"{number}.png"
        write_pixels(source, picture(40, 32, seed=number))
        made.append(Job(source, tmp_path / "out" / source.name))
    return made


@pytest.fixture
def engine(catalog, native_kernels):
    engine = Engine(catalog)
    engine.configure(CONFIG)
    return engine


def limits(batch: int | None = None, picture_bytes: float = 1e9) -> Limits:
    return Limits(CONFIG, torch.device("cpu"), batch, 1e9, picture_bytes)


def run(engine, jobs, threads=2, **how) -> list[Outcome]:
    within = limits(**how)
    styling = Styling(engine, within, [])
    with Pipeline(styling, within.picture_bytes, CONFIG.size, threads) as line:
        return list(line.run(groups(jobs, within)))


def number_of(job: Job) -> int:
    return int(job.source.stem)


def test_the_next_picture_is_read_and_the_one_before_written_while_one_is_styled(
    engine, jobs, monkeypatch
):
    read_next, styling_next = threading.Event(), threading.Event()
    met: list[bool] = []
    read, write, process = pipeline.read, pipeline.write, engine.process_batch
    styled: list[int] = []

    def reads(job, depth):
        if number_of(job) == 1:
            read_next.set()
        return read(job, depth)

    def processes(frames, mode):
        if not styled:
            met.append(read_next.wait(PATIENCE_S))
        if len(styled) == 1:
            styling_next.set()
        styled.append(1)
        return process(frames, mode)

    def writes(read, result, size):
        if number_of(read.job) == 0:
            met.append(styling_next.wait(PATIENCE_S))
        return write(read, result, size)

    monkeypatch.setattr(pipeline, "read", reads)
    monkeypatch.setattr(pipeline, "write", writes)
    monkeypatch.setattr(engine, "process_batch", processes)
    assert len(run(engine, jobs)) == 6
    assert met == [True, True]


def test_outcomes_come_in_order_whatever_is_written_first(engine, jobs, monkeypatch):
    write, later = pipeline.write, threading.Event()
    written: list[int] = []

    def writes(read, result, size):
        if number_of(read.job) == 0:
            assert later.wait(PATIENCE_S)
        remark = write(read, result, size)
        written.append(number_of(read.job))
        later.set()
        return remark

    monkeypatch.setattr(pipeline, "write", writes)
    outcomes = run(engine, jobs)
    assert written[0] != 0
    assert [number_of(outcome.job) for outcome in outcomes] == list(range(6))
    assert all(outcome.job.target.is_file() for outcome in outcomes)


def test_what_fails_is_told_in_its_place(engine, jobs, tmp_path, monkeypatch):
    jobs[1].source.write_bytes(jobs[1].source.read_bytes()[:200])
    jobs[2].source.unlink()
    jobs[4].target.mkdir(parents=True)  # writing fails
    outcomes = run(engine, jobs)
    assert [number_of(outcome.job) for outcome in outcomes] == list(range(6))
    failed = [number_of(each.job) for each in outcomes if each.fault is not None]
    assert failed == [1, 2, 4]
    assert [each.result is None for each in outcomes] == [n in failed for n in range(6)]


def test_no_more_pictures_are_in_flight_than_fit_into_memory(engine, jobs, monkeypatch):
    read, write, lock = pipeline.read, pipeline.write, threading.Lock()
    held, most = 0, 0

    def reads(job, depth):
        nonlocal held, most
        with lock:
            held += 1
            most = max(most, held)
        return read(job, depth)

    def writes(read, result, size):
        nonlocal held
        remark = write(read, result, size)
        with lock:
            held -= 1
        return remark

    monkeypatch.setattr(pipeline, "read", reads)
    monkeypatch.setattr(pipeline, "write", writes)
    each = limits().held(40, 32)
    assert len(run(engine, jobs, threads=4, picture_bytes=2 * each)) == 6
    assert most == 2
    most = 0
    assert len(run(engine, jobs, threads=4, picture_bytes=each / 2)) == 6
    assert most == 1  # a picture larger than the limit goes alone
    most = 0
    assert len(run(engine, jobs, threads=1)) == 6
    assert most == 2  # with one thread, one is read ahead


def test_a_fault_of_the_program_is_not_taken_for_one_of_a_picture(engine, jobs, monkeypatch):
    def writes(*_):
        raise TypeError("a mistake")

    monkeypatch.setattr(pipeline, "write", writes)
    with pytest.raises(TypeError, match="a mistake"):
        run(engine, jobs)


def test_what_was_not_begun_when_it_is_left_is_given_up(engine, jobs):
    within = limits()
    with Pipeline(Styling(engine, within, []), within.picture_bytes, threads=1) as line:
        outcomes = line.run(groups(jobs, within))
        next(outcomes)
    made = list((jobs[0].target.parent).iterdir())
    assert len(made) == line.written < len(jobs)
    assert {picture_size(path) for path in made} == {(40, 32)}


def test_results_do_not_become_smaller_because_the_run_takes_memory(
    style, tmp_path, capsys, monkeypatch
):
    for number in range(4):
        write_pixels(tmp_path / f"{number}.png", picture(40, 32))
    free = [2**30] * 2 + [1] * 99
    for module in (memory, batch_engine):
        monkeypatch.setattr(module, "free_bytes", lambda device: free.pop(0))
    assert stylized(tmp_path / "*.png", "-o", tmp_path / "out") == 0
    sizes = {read_metadata(path)["Network size"] for path in (tmp_path / "out").iterdir()}
    assert sizes == {"40x32"}


def test_remarks_and_errors_have_one_order(style, tmp_path, capsys):
    from utils.opencv import cv2

    for name in ("0", "2", "4"):
        cv2.imwrite(str(tmp_path / f"{name}.ppm"), picture(37, 26).astype(np.uint16) * 257)
    for name in ("1", "3"):
        (tmp_path / f"{name}.png").write_bytes(b"<html>")
    told = []
    for _ in range(2):
        assert stylized(tmp_path / "*.p?[gm]", "-o", tmp_path / "out", "--overwrite") == 1
        told.append(capsys.readouterr().err.splitlines())
    assert told[0] == told[1]
    assert told[0].pop(2) == ADVICE["StylizeError"]  # follows the first error
    named = [next(n for n in "01234" if f"{n}.p" in line) for line in told[0][:-1]]
    assert named == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("ending", [".jpg", ".png", ".webp"])
def test_the_size_in_the_head_of_a_file_is_that_of_the_picture(tmp_path, ending):
    from PIL import Image

    path = tmp_path / f"turned{ending}"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(picture(40, 32)).save(path, exif=exif)
    assert picture_size(path) == (32, 40)
    if ending != ".webp":  # Pillow reads all of a WebP file as its header
        path.write_bytes(path.read_bytes()[:-200])  # the pixels are not needed
        assert picture_size(path) == (32, 40)
    with pytest.raises(ImageError, match="does not exist"):
        picture_size(Path("none.png"))


def test_pictures_are_grouped_where_successive_ones_have_one_size(tmp_path):
    sizes = [(40, 32)] * 5 + [(32, 40)] * 3 + [None] * 2 + [(40, 32)] * 2
    jobs = []
    for number, size in enumerate(sizes):
        source = tmp_path / f"{number}.png"
        if size is None:
            source.write_bytes(b"<html>")
        else:
            write_pixels(source, picture(*size))
        jobs.append(Job(source, tmp_path / "out" / source.name))
    within = limits(batch=2)
    made = list(groups(jobs, within))
    counts = [len(group.jobs) for group in made]
    assert counts == [2, 2, 1, 2, 1, 1, 1, 2]
    assert [job for group in made for job in group.jobs] == jobs
    assert made[0] == Group(tuple(jobs[:2]), 2 * within.held(40, 32))
    assert made[5].held_bytes == 0


def test_a_picture_that_was_read_has_its_alpha(tmp_path):
    path = tmp_path / "a.png"
    alpha = np.full((32, 40), 9, np.uint8)
    write_pixels(path, picture(40, 32), alpha=alpha)
    read = pipeline.read(Job(path, path))
    assert isinstance(read, Picture)
    assert read.frame.alpha is not None
    assert (read.frame.alpha == alpha).all()
