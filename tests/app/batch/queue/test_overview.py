"""The overview of a job: its task, its progress, and the reason for its failure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.batch.manifest import Entry, Manifest, State
from app.batch.queue import overview
from app.batch.queue.description import Kind, described
from app.batch.queue.job import JobState
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.overview import INTERRUPTED, Overview, why_failed
from app.batch.shard import Shard
from tests.helpers.errors import mentions
from utils.images.writing import write_pixels


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path / "queue")


def record(queue: JobQueue, number: int, *entries: Entry, problems: tuple[str, ...] = ()) -> None:
    made = Manifest(Shard(1, 1), len(entries), "x", "candy", entries, problems)
    made.write(queue.manifest(number))


def entry(state: State, name: str = "a.png", error: str = "") -> Entry:
    return Entry(f"/in/{name}", f"/out/{name}", state, error=error)


@pytest.mark.parametrize(
    ("inputs", "kind", "title"),
    [
        (("/x/a.jpg",), Kind.PICTURE, "a.jpg"),
        (("/x/nameless",), Kind.PICTURE, "nameless"),
        (("/x/a.MKV",), Kind.FILM, "a.MKV"),
        (("/x/*.png",), Kind.SEVERAL, "*.png"),
        (("/x/a.jpg", "/x/b.jpg"), Kind.SEVERAL, "a.jpg and 1 more"),
    ],
)
def test_a_job_is_called_by_its_input(inputs, kind, title):
    made = described(["--output=/out", "--style=candy", "--", *inputs])
    assert (made.kind, made.title, made.output, made.inputs) == (kind, title, "/out", inputs)


def test_a_folder_is_one(tmp_path):
    assert described(["--", str(tmp_path)]).kind is Kind.FOLDER


def test_styles_have_their_shares():
    def styles(*words: str) -> tuple[tuple[str, int], ...]:
        return described([*words, "--", "a.png"]).styles

    assert styles("--style=candy") == (("candy", 0),)
    assert styles("--style=candy", "--mix=udnie:0.25") == (("candy", 75), ("udnie", 25))
    assert styles("--style-image=/x/sea.jpg:0.3", "--style-image=/x/sky.jpg") == (
        ("sea", 30),
        ("sky", 70),
    )
    assert styles("--style-image=C:/sea.jpg") == (("sea", 0),)
    assert styles("--glitter=7") == ()


def test_an_overview_says_how_far_jobs_are_and_follows_changes(queue):
    for _ in range(3):
        queue.add(["--output=/out", "--", "/in/a.png", "/in/b.png"])
    reader = Overview(queue)
    assert [(view.state, view.pictures) for view in reader.read()[0]] == [("waiting", 0)] * 3
    record(
        queue, 1, entry(State.DONE), entry(State.KEPT), entry(State.FAILED), entry(State.PENDING)
    )
    with queue.next_job() as job:
        first = reader.read()[0][0]
        assert (first.state, first.pictures, first.done, first.kept, first.failed) == (
            *("running", 4, 2, 1, 1),
        )
        assert first.result == "/out/a.png"
    assert reader.read()[0][0].state == INTERRUPTED
    queue.finish(job)
    record(queue, 1, entry(State.DONE, "b.png"))
    first, *others = reader.read()[0]
    assert (first.state, first.pictures, first.result) == ("done", 1, "/out/b.png")
    queue.remove(1)
    assert (
        [view.job.number for view in reader.read()[0]]
        == [2, 3]
        == [view.job.number for view in others]
    )


def test_a_job_whose_process_ends_while_it_is_read_is_not_interrupted(queue, monkeypatch):
    queue.add(["--", "a.png"])
    looks = queue.is_running

    def ended(job) -> bool:
        queue.put_back(job)
        return looks(job)

    with queue.next_job() as taken:
        assert taken is not None
    (view,), _ = Overview(queue).read()
    assert view.state == INTERRUPTED
    monkeypatch.setattr(queue, "is_running", ended)
    (view,), _ = Overview(queue).read()
    assert view.state == JobState.WAITING
    assert view.job.state is JobState.WAITING


def test_a_job_that_is_removed_while_it_is_read_is_left_out(queue, monkeypatch):
    queue.add(["--", "a.png"])
    with queue.next_job() as taken:
        assert taken is not None
    looks = queue.is_running

    def removed(job) -> bool:
        running = looks(job)
        queue.remove(job.number)
        return running

    monkeypatch.setattr(queue, "is_running", removed)
    assert Overview(queue).read() == ([], [])


def test_a_manifest_that_has_not_changed_is_not_read_again(queue, monkeypatch):
    queue.add(["--", "a.png"])
    record(queue, 1, entry(State.DONE))
    reader = Overview(queue)
    reader.read()
    monkeypatch.setattr(overview, "read_manifest", lambda path: pytest.fail("it was read again"))
    assert reader.read()[0][0].done == 1


def test_a_damaged_manifest_costs_only_its_own_job(queue):
    queue.add_all([["--", "a.png"], ["--", "b.png"]])
    queue.manifest(1).parent.mkdir()
    queue.manifest(1).write_text("{")
    views, damaged = Overview(queue).read()
    assert [view.job.number for view in views] == [2]
    assert damaged[0].startswith("job 1: '")


def test_why_a_run_failed_is_one_sentence(queue, tmp_path):
    path = queue.manifest(1)
    assert why_failed(path) == ""
    record(queue, 1, entry(State.DONE))
    assert why_failed(path) == ""
    bad = entry(State.FAILED, error="'a.png' is damaged")
    record(queue, 1, entry(State.DONE), bad)
    assert why_failed(path) == "'a.png' is damaged"
    record(queue, 1, bad, problems=("'b.png' does not exist", "'c.png' does not exist"))
    assert mentions(why_failed(path), "a.png", "2 more")


def test_every_failed_file_and_unusable_input_has_its_fault(queue):
    queue.add(["--output=/out", "--", "/in/a.png", "/in/b.png"])
    told = "'/in/b.png' is damaged"
    record(queue, 1, entry(State.DONE), entry(State.FAILED, "b.png", told), problems=("gone",))
    (view,), _ = Overview(queue).read()
    assert view.faults == (("/in/b.png", told), ("", "gone"))


def test_the_pictures_of_a_job_of_several_files_are_counted_before_it_begins(queue, tmp_path):
    files = [str(tmp_path / f"{number}.png") for number in range(3)]
    for name in files:
        Path(name).touch()
    for inputs in (files, files[:1], [*files, str(tmp_path)]):
        queue.add(["--output=/out", "--", *inputs])
    assert [view.pictures for view in Overview(queue).read()[0]] == [3, 0, 0]


def test_the_files_of_a_waiting_folder_are_counted_once_without_its_results(
    queue, tmp_path, monkeypatch
):
    pictures, results = tmp_path / "in", tmp_path / "in" / "results"
    for path in (pictures / "a.png", pictures / "trip" / "b.png", results / "a.png"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_pixels(path, np.zeros((16, 16, 3), np.uint8))
    queue.add(["--output=/out", f"--leave-out={results}", "--", str(pictures)])
    counting = Overview(queue, count_s=60)
    assert [view.pictures for view in counting.read()[0]] == [2]
    monkeypatch.setattr(overview, "files_below", None)
    assert [view.pictures for view in counting.read()[0]] == [2]
    assert [view.pictures for view in Overview(queue).read()[0]] == [0]


def test_a_folder_that_takes_long_to_count_has_no_number(queue, tmp_path, monkeypatch):
    moments = iter(range(100))
    monkeypatch.setattr(overview.time, "monotonic", lambda: float(next(moments)))
    monkeypatch.setattr(overview, "files_below", lambda *_: [tmp_path] * 5)
    queue.add(["--output=/out", "--", str(tmp_path)])
    assert [view.pictures for view in Overview(queue, count_s=1.0).read()[0]] == [0]
    assert [view.pictures for view in Overview(queue, count_s=9.0).read()[0]] == [5]
