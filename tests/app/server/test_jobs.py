"""A job finishes without a waiting client and outlives the server."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from PIL import Image

from app.batch.queue.job_queue import JobQueue
from app.cli import main
from app.commands.queue.arguments import job_arguments
from app.parameters import (
    PARAMETERS,
    ChoiceParameter,
    HandlesParameter,
    SwitchParameter,
    given_values,
)
from app.server import jobs
from app.server.limits import Limits
from app.server.look import OPTIONS, Look, OptionError, look_of_words, parse_look
from app.server.painting import Stopped
from app.server.server import Serving, serving
from tests.app.server.conftest import TOKEN, PaperPainter, sentence, until
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels


def add(client: httpx.Client, body: bytes, **options: str) -> int:
    answer = client.post("/api/jobs", params=options, content=body)
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert answer.headers["Location"] == f"/api/jobs/{job['number']}"
    return job["number"]


def state(client: httpx.Client, number: int) -> str:
    return client.get(f"/api/jobs/{number}").json()["state"]


def pictures(folder: Path) -> list[str]:
    # Unlike rglob, os.walk passes over folders that are deleted meanwhile.
    return sorted(name for *_, names in os.walk(folder / "pictures") for name in names)


def test_a_job_is_added_done_and_fetched_by_the_engine(start, engine_painter, photo, tmp_path):
    client = start(engine_painter)
    number = add(client, photo, size="32", style="scream", format="webp")
    until(lambda: state(client, number) == "done")
    job = client.get(f"/api/jobs/{number}").json()
    assert job["error"] is None
    result = client.get(job["result"])
    assert result.headers["Content-Type"] == "image/webp"
    image = Image.open(io.BytesIO(result.content))
    assert (image.format, image.size) == ("WEBP", (37, 26))
    direct = client.post("/api/pictures?size=32&style=scream&format=webp", content=photo)
    assert direct.content == result.content
    assert pictures(tmp_path / "jobs") == ["styled.webp"]  # the upload is no longer needed


def test_jobs_wait_in_their_order_and_say_how_far_they_are(start, paper, photo):
    client = start(paper)
    first, second = add(client, photo, style="candy"), add(client, photo, style="udnie")
    until(lambda: paper.begun == ["candy"])
    assert (state(client, first), state(client, second)) == ("running", "waiting")
    early = client.get(f"/api/jobs/{second}/result")
    assert sentence(early, 409) == f"job {second} is waiting"
    paper.go.release()
    until(lambda: state(client, first) == "done")
    paper.go.release()
    until(lambda: state(client, second) == "done")
    listed = client.get("/api/jobs").json()
    assert [(job["number"], job["state"]) for job in listed] == [(first, "done"), (second, "done")]
    assert paper.begun == ["candy", "udnie"]


def test_a_job_that_waits_is_cancelled_with_its_files_and_gives_its_place_back(
    start, paper, photo, tmp_path
):
    client = start(paper, waiting=2)
    first, second = add(client, photo, style="candy"), add(client, photo, style="udnie")
    until(lambda: paper.begun == ["candy"])
    assert client.delete(f"/api/jobs/{second}").status_code == 204
    assert sentence(client.get(f"/api/jobs/{second}"), 404) == (
        f"there is no job {second} in the queue"
    )
    assert pictures(tmp_path / "jobs") == ["upload"]
    third = add(client, photo, style="mosaic")
    paper.go.release(2)
    until(lambda: state(client, third) == "done")
    assert paper.begun == ["candy", "mosaic"]
    assert state(client, first) == "done"


def test_a_job_that_is_being_painted_is_given_up_when_it_is_cancelled(
    start, paper, photo, tmp_path
):
    client = start(paper)
    number = add(client, photo)
    until(lambda: bool(paper.begun))
    assert client.delete(f"/api/jobs/{number}").status_code == 202
    until(lambda: client.get(f"/api/jobs/{number}").status_code == 404)
    until(lambda: not pictures(tmp_path / "jobs"))


def test_the_engine_gives_up_a_canceled_picture(engine_painter, tmp_path):
    source, target = tmp_path / "photo.png", tmp_path / "result.png"
    write_pixels(source, picture(16, 16))
    with pytest.raises(Stopped):
        engine_painter.paint(source, target, Look(), lambda: True)
    assert not target.exists()


def test_a_job_that_is_done_is_removed_with_its_result(start, paper, photo, tmp_path):
    client = start(paper)
    number = add(client, photo)
    paper.go.release()
    until(lambda: state(client, number) == "done")
    # 202 while its turn in the line has not quite ended, though its result is there.
    assert client.delete(f"/api/jobs/{number}").status_code in (202, 204)
    until(lambda: client.get("/api/jobs").json() == [])
    until(lambda: not pictures(tmp_path / "jobs"))


def test_why_a_job_failed_is_kept(start, paper, photo):
    client = start(paper)
    number = add(client, photo, strokes="bold")
    paper.go.release()
    until(lambda: state(client, number) == "failed")
    assert client.get(f"/api/jobs/{number}").json()["error"] == "the paper is torn"
    result = client.get(f"/api/jobs/{number}/result")
    assert mentions(sentence(result, 409), f"job {number}", "the paper is torn")


def test_a_fault_of_the_program_ends_one_job_and_its_traceback_is_told(start, paper, photo, caplog):
    client = start(paper)
    add(client, photo, strokes="fine")
    paper.go.release()
    until(lambda: "a fault of the program" in caplog.text)
    caplog.clear()
    number = add(client, photo)
    paper.go.release()
    until(lambda: state(client, number) == "done")


@contextmanager
def served(painter: PaperPainter, folder: Path) -> Iterator[tuple[Serving, httpx.Client]]:
    """Run a server that ends before its test does."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    how = {"addresses": ("127.0.0.1",), "port": 0, "limits": Limits(), "jobs": folder}
    with serving(painter, TOKEN, **how) as server:
        address = server.urls[0]
        with httpx.Client(base_url=address, headers=headers, trust_env=False) as client:
            yield server, client


def test_jobs_that_a_server_left_are_done_by_the_next_one(catalog, photo, tmp_path):
    paper, again = PaperPainter(catalog), PaperPainter(catalog)
    with served(paper, tmp_path / "jobs") as (_, client):
        numbers = [add(client, photo, style=style) for style in ("candy", "udnie")]
        until(lambda: paper.begun == ["candy"])
    with served(again, tmp_path / "jobs") as (server, client):
        assert server.resumed == 2
        again.go.release(2)
        until(lambda: [state(client, number) for number in numbers] == ["done", "done"])
    assert again.begun == ["candy", "udnie"]


def test_old_results_make_room_for_new_ones(start, paper, photo, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_KEPT", 2)
    client = start(paper)
    for _ in range(4):
        number = add(client, photo)
        paper.go.release()
        until(lambda number=number: state(client, number) == "done")
    assert [job["number"] for job in client.get("/api/jobs").json()] == [2, 3, 4]
    assert pictures(tmp_path / "jobs") == ["styled.png"] * 3


def test_the_queue_of_the_command_line_runs_what_a_server_left(catalog, photo, tmp_path):
    root = tmp_path / "jobs"
    with served(PaperPainter(catalog), root) as (_, client):
        add(client, photo, size="32", format="jpeg")
    assert main(["queue", "run", "--queue", str(root)]) == 0
    assert JobQueue(root).get(1).state == "done"
    (result,) = (root / "pictures").glob("*/styled.jpeg")
    assert read_pixels(result).shape == (26, 37, 3)


def test_no_job_names_a_folder_that_is_deleted_elsewhere(start, paper, tmp_path):
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    (elsewhere / "styled.png").write_bytes(b"mine")
    queue = JobQueue(tmp_path / "jobs")
    job = queue.add([f"--output={elsewhere / 'styled.png'}", "--", str(elsewhere / "upload")])
    queue.finish(job, "it is not one of the server's")
    assert start(paper).delete(f"/api/jobs/{job.number}").status_code == 204
    assert (elsewhere / "styled.png").read_bytes() == b"mine"


def every_value(name: str) -> list[str]:
    row = PARAMETERS[name]
    if isinstance(row, ChoiceParameter):
        return list(row.options)
    if isinstance(row, SwitchParameter):
        return ["true", "false"]
    if isinstance(row, HandlesParameter):
        return ["0.25,0.4,30;0.7,0.6,120"]
    return ["0.25", "1"] + (["auto"] if row.valid("auto") else [])


def test_a_look_is_the_same_in_the_words_of_a_job_and_means_the_same_to_stylize():
    rows = [name for name in OPTIONS if name in PARAMETERS]
    assert len(rows) >= 6
    for name in rows:
        for value in every_value(name):
            look = parse_look([("style", "udnie"), ("size", "full"), (name, value)])
            words = [*look.words, "--output=styled.jpeg", "--", "upload"]
            args = job_arguments(words)
            assert (args.style, args.size) == ("udnie", "full")
            assert given_values(args)[name] == look.values[name]
            again = look_of_words(words, ".jpeg")
            assert (again.format, again.size) == ("jpeg", "full")
            kept = {**{name: False}, **again.values} if value == "false" else again.values
            assert kept == look.values
    mixed = parse_look([("mix", "udnie:0.25"), ("mix", "scream"), ("depth", "16"), ("size", "64")])
    args = job_arguments([*mixed.words, "--output=styled.png", "--", "upload"])
    assert (args.mix, args.depth, args.size) == ([("udnie", 0.25), ("scream", None)], 16, 64)
    assert look_of_words(mixed.words, ".png") == mixed


def test_words_of_another_version_are_refused():
    with pytest.raises(OptionError, match="strength must be"):
        look_of_words(["--strength=loud"], ".png")
