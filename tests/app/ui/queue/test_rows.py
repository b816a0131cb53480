"""The text of a row: its state, the reason of a failure, its duration."""

from __future__ import annotations

import pytest

from app.batch.queue.description import Kind, described
from app.batch.queue.job import JobState, QueuedJob
from app.batch.queue.overview import INTERRUPTED, JobView
from app.ui.queue.fault_list import sentence
from app.ui.queue.forecast import Forecast, Work
from app.ui.queue.rows import Progress, Row, RowState, rows_of, with_progress, work_of

TITLES = {"candy": "Candy", "udnie": "Udnie"}


def view(state: str, number: int = 1, *, words: tuple[str, ...] = (), **values) -> JobView:
    arguments = ("--output=/out/a-candy.png", *(words or ("--style=candy", "--", "/in/a.png")))
    kind = JobState.RUNNING if state == INTERRUPTED else JobState(state)
    job = QueuedJob(number, arguments, 0.0, kind, error=values.pop("error", ""))
    return JobView(job, state, described(arguments), **values)


def row(*args, own: int | None = None, **values) -> Row:
    return rows_of([view(*args, **values)], TITLES, own)[0]


@pytest.mark.parametrize(
    ("made", "state", "words"),
    [
        (row("waiting"), RowState.WAITING, "Waiting"),
        (row("running", own=1), RowState.RUNNING, "Starting"),
        (row("running", own=2), RowState.ELSEWHERE, "Running in another process"),
        (row(INTERRUPTED, own=1), RowState.INTERRUPTED, "Interrupted, waiting"),
        (row("done", pictures=1, done=1), RowState.DONE, "Done"),
        (row("done", pictures=1, done=1, kept=1), RowState.SKIPPED, "Skipped: it has a result"),
        (row("failed", pictures=1, failed=1, error="no"), RowState.FAILED, "Failed"),
        (row("failed", pictures=9, failed=2, error="no"), RowState.FAILED, "2 of 9 failed"),
    ],
)
def test_every_state_is_said_in_words(made, state, words):
    assert (made.state, made.words) == (state, words)
    assert words in made.spoken


def test_a_row_names_its_style_or_why_it_failed():
    mix = ("--style=candy", "--mix=udnie:0.4", "--", "/in/a.png")
    assert row("waiting").detail == "Candy"
    assert row("waiting", words=mix).detail == "Candy 60 %, Udnie 40 %"
    assert row("failed", error="it is damaged").detail == "Candy · it is damaged"
    assert row("waiting", error="of an earlier run").reason == ""
    assert row("waiting", words=("--style=mine", "--", "/in/a.mp4")).detail == "mine · film"


def test_a_row_under_way_shows_its_share_and_what_is_left():
    single = with_progress(row("running", own=1), Progress(1, 0.425, seconds_left=75))
    assert (single.words, single.left) == ("42 %", "1:15 left")
    many = Row(1, "trip", Kind.FOLDER, "Candy", RowState.RUNNING)
    shown = with_progress(many, Progress(1, 0.5, 3, 6))
    assert (shown.words, shown.detail) == ("3 of 6", "Candy · folder · 6 pictures")
    waiting = row("waiting")
    assert with_progress(waiting, Progress(1, 0.5)) is waiting


def test_the_thumbnail_of_what_is_done_is_its_result():
    assert row("waiting").pictured == "/in/a.png"
    assert row("done", pictures=1, done=1, result="/out/x.png").pictured == "/out/x.png"


def test_what_is_left_counts_what_is_known_and_says_so_where_something_is_not():
    folder = Row(3, "trip", Kind.FOLDER, "", RowState.WAITING)
    begun = Row(4, "trip", Kind.FOLDER, "", RowState.INTERRUPTED, pictures=10, done=4)
    film = Row(5, "film", Kind.FILM, "", RowState.WAITING)
    rows = [row("waiting"), row("done"), folder, begun, film]
    assert work_of(rows, None) == Work(7, 2)
    forecast = Forecast()
    assert forecast.words(Work(7, 0)) == ""
    for seconds in (10, 20):
        forecast.note(seconds)
    assert forecast.words(Work(8, 0, 60, running=True)) == "about 3 minutes left"
    assert forecast.words(Work(8, 1, 60, running=True)) == "more than 3 minutes left"
    assert forecast.words(Work(8, 0, None, running=True)) == "more than 2 minutes left"
    assert forecast.words(Work(0, 0, 4, running=True)) == "a few seconds left"
    assert forecast.words(Work(0, 0)) == ""


def test_pictures_are_counted_not_rows():
    files = ("--style=candy", "--", "/in/a.png", "/in/b.png")
    faults = (("/in/b.png", "'/in/b.png' is damaged"), ("", "'/in/c.png' does not exist"))
    failed = row("failed", words=files, pictures=2, done=1, failed=1, error="no", faults=faults)
    assert (failed.size, failed.ended_files) == (3, (1, 2))
    again = row("waiting", words=files, pictures=9, done=6, failed=3)
    assert again.ended_files == (6, 0)  # the failed ones have another try
    assert row("failed", words=files, pictures=2, error="no memory").ended_files == (0, 2)
    assert row("failed", error="no").ended_files == (0, 1)
    assert row("done", words=files, pictures=2, done=2).ended_files == (2, 0)
    assert row("waiting").ended_files == (0, 0)


def test_pictures_that_failed_are_not_counted_as_painted_while_others_are_under_way():
    files = ("--style=candy", "--", "/in/a.png", "/in/b.png")
    running = row("running", own=1, words=files, pictures=9)
    shown = with_progress(running, Progress(1, 0.5, 4, 8, failed=1))
    assert shown.ended_files == (3, 1)
    assert shown.words == "4 of 8"


def test_a_fault_names_its_file_without_the_folder():
    path = "/in/deep/b.png"
    assert sentence(path, f"'{path}' is damaged") == "'b.png' is damaged"
    assert sentence(path, "no space left") == "b.png: no space left"
    assert sentence("", "gone") == "gone"
    failed = row("failed", error=f"'{path}' is damaged", faults=((path, f"'{path}' is damaged"),))
    assert failed.reason == "'b.png' is damaged"


def test_the_thumbnail_of_several_is_their_first_result():
    files = ("--style=candy", "--", "/in/a.png", "/in/b.png")
    assert (
        row("done", words=files, pictures=2, done=2, result="/out/x.png").pictured == "/out/x.png"
    )
    assert row("waiting", words=files).pictured == "/in/a.png"
