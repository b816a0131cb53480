"""The queue from the command line: added jobs finish, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.batch.manifest import Manifest, Record, plan_digest, planned
from app.batch.queue.job_queue import JobQueue
from app.batch.shard import Shard
from app.cli import main
from app.commands.queue import command, runner
from app.commands.queue.arguments import _parser as job_parser
from app.commands.queue.arguments import job_arguments, job_words
from app.export.film.store import store_folder
from tests.app.commands.conftest import STYLE
from tests.conftest import picture
from tests.helpers.animations import write_animation
from tests.helpers.errors import mentions
from tests.helpers.films import times_of, write_film
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[3]
LOOK = ("--style", STYLE, "--device", "cpu", "--kernels", "baseline")


@pytest.fixture
def album(tmp_path: Path) -> Path:
    folder = tmp_path / "album"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        write_pixels(folder / name, picture(20, 16))
    return folder


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(command, "INTERVAL_S", 0.0)


def queue(*arguments: object) -> int:
    return main(["queue", *map(str, arguments)])


def listed(capsys) -> list[dict]:
    capsys.readouterr()
    assert queue("list", "--json") == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_jobs_are_added_listed_and_run_in_their_order(style, album, photo, tmp_path, capsys):
    assert queue("add", album, "-o", tmp_path / "one", *LOOK) == 0
    assert queue("add", photo, "-o", tmp_path / "two.png", *LOOK, "--size", "full") == 0
    assert mentions(capsys.readouterr().out, "Added job 1", "Added job 2")
    assert [job["state"] for job in listed(capsys)] == ["waiting", "waiting"]
    assert queue("run") == 0
    told = capsys.readouterr().err
    assert told.index("Job 1\n") < told.index("2 pictures in") < told.index("Job 2\n")
    assert names(tmp_path / "one") == ["a.png", "b.png"]
    assert read_pixels(tmp_path / "two.png").shape == (26, 37, 3)
    first, second = listed(capsys)
    assert (first["state"], first["pictures"], first["done"]) == ("done", 2, 2)
    assert second["state"] == "done"
    assert queue("run") == 0
    assert "Job" not in capsys.readouterr().err
    assert queue("list") == 0
    assert (
        f"   1  done               2 of 2  --output={tmp_path / 'one'}" in capsys.readouterr().out
    )
    assert queue("remove") == 0
    assert listed(capsys) == []
    assert names(tmp_path / "one") == ["a.png", "b.png"]


def test_a_precision_that_the_cpu_does_not_offer_is_refused_when_a_job_is_added(
    style, photo, tmp_path, capsys
):
    assert queue("add", photo, "-o", tmp_path / "one.png", *LOOK, "--precision", "fp16") == 1
    assert "FP16 is slower" in capsys.readouterr().err
    assert listed(capsys) == []
    elsewhere = ("--style", STYLE, "--device", "cuda:9", "--precision", "fp16")
    assert queue("add", photo, "-o", tmp_path / "two.png", *elsewhere) == 0


def test_a_stored_job_in_fp16_runs_in_fp32_on_the_cpu_and_says_why(style, photo, tmp_path, capsys):
    words = [*LOOK, "--precision=fp16", f"--output={tmp_path / 'one.png'}", "--", str(photo)]
    JobQueue.default().add(words)
    assert queue("run") == 0
    assert mentions(capsys.readouterr().err, "FP32, CPU", "FP16 is slower")
    assert read_pixels(tmp_path / "one.png").shape == (26, 37, 3)
    assert "--precision=fp16" in listed(capsys)[0]["arguments"], "for a machine with a GPU"


def test_jobs_are_moved_and_run_in_their_new_order(style, album, photo, tmp_path, capsys):
    for name in ("one", "two", "three", "four"):
        assert queue("add", photo, "-o", tmp_path / name, *LOOK) == 0
    assert queue("move", "4") == 0
    assert queue("move", "1", "--last") == 0
    assert queue("move", "3", "--before", "2") == 0
    assert [job["job"] for job in listed(capsys)] == [4, 3, 2, 1]
    assert queue("run") == 0
    told = capsys.readouterr().err
    places = [told.index(f"Job {number}\n") for number in (4, 3, 2, 1)]
    assert places == sorted(places)
    assert queue("move", "9") == 1
    assert "no job 9" in capsys.readouterr().err


def test_jobs_that_are_left_stay_waiting(style, album, photo, tmp_path, capsys):
    for name in ("one", "two", "three"):
        assert queue("add", photo, "-o", tmp_path / name, *LOOK) == 0
    assert queue("run", "--leave", "1", "3") == 0
    assert [job["state"] for job in listed(capsys)] == ["waiting", "done", "waiting"]


@pytest.mark.full
def test_a_program_can_have_the_queue_stop_after_the_job_under_way(style, album, tmp_path):
    for number in range(3):
        assert queue("add", album, "-o", tmp_path / str(number), *LOOK) == 0
    line = [sys.executable, "-m", "app", "queue", "run", "--listen", "--progress", "json"]
    run = {"cwd": ROOT, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(line, **run)
    assert process.stdout is not None
    assert process.stdin is not None
    events = iter(map(json.loads, process.stdout))
    begun = next(event for event in events if event["event"] == "job")
    assert (begun["state"], begun["error"]) == ("running", None)
    process.stdin.write("finish\n")
    process.stdin.flush()
    ended = [event for event in events if event["event"] == "job"]
    process.stdin.close()
    assert process.wait(100) == 0
    assert [(event["number"], event["state"]) for event in ended] == [(begun["number"], "done")]
    process.stdout.close()


def test_a_job_means_the_same_in_every_folder(style, album, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert queue("add", "album", "*.webp", "-o", "out", "--name", "{stem}.webp", *LOOK) == 0
    monkeypatch.chdir(album)
    assert queue("run") == 1  # no file matches *.webp
    assert names(tmp_path / "out") == ["a.webp", "b.webp"]


def test_what_failed_is_tried_again_and_does_not_do_again_what_was_made(
    style, album, tmp_path, capsys
):
    (album / "b.png").write_text("<html>")
    assert queue("add", album, "-o", tmp_path / "out", "--overwrite", *LOOK) == 0
    assert queue("add", tmp_path / "gone.png", "-o", tmp_path / "out", *LOOK) == 0
    assert queue("run") == 1
    told = capsys.readouterr().err
    assert mentions(told, "b.png", "an HTML page")
    assert mentions(told, "job 1", str(album / "b.png"), "an HTML page")
    one, two = listed(capsys)
    assert (one["state"], one["done"], one["failed"]) == ("failed", 1, 1)
    assert (two["state"], two["error"]) == ("failed", f"'{tmp_path / 'gone.png'}' does not exist")
    made = (tmp_path / "out" / "a.png").stat().st_mtime_ns
    write_pixels(album / "b.png", picture(20, 16))
    assert queue("retry", "1") == 0
    assert queue("run") == 0
    assert names(tmp_path / "out") == ["a.png", "b.png"]
    assert (tmp_path / "out" / "a.png").stat().st_mtime_ns == made
    assert [job["state"] for job in listed(capsys)] == ["done", "failed"]
    assert queue("retry", "1") == 1
    assert mentions(capsys.readouterr().err, "job 1", "it is done")
    assert queue("retry", "9") == 1
    assert "no job 9" in capsys.readouterr().err


def test_what_exists_before_a_job_begins_is_kept(style, album, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.png").write_bytes(b"mine")
    assert queue("add", album, "-o", tmp_path / "out", *LOOK) == 0
    for _ in range(2):
        assert queue("run") == 1
        assert "a.png' exists; pass --overwrite" in capsys.readouterr().err
        assert queue("retry") == 0
    assert names(tmp_path / "out") == ["a.png"]
    assert (tmp_path / "out" / "a.png").read_bytes() == b"mine"


@pytest.mark.full
@pytest.mark.parametrize(
    "mode",
    [(), *(pytest.param((m,), marks=pytest.mark.full) for m in ("--overwrite", "--skip-existing"))],
)
def test_a_job_whose_process_is_killed_goes_on_where_it_was(style, tmp_path, capsys, mode):
    album, out = tmp_path / "album", tmp_path / "out"
    album.mkdir()
    for number in range(30):
        write_pixels(album / f"{number:02}.png", picture(160, 120, seed=number))
    assert queue("add", album, "-o", out, *mode, *LOOK) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "queue", "run"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (out.is_dir() and len(names(out)) >= 3):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    made = {path: path.stat().st_mtime_ns for path in out.glob("[0-9]*.png")}
    assert 3 <= len(made) < 30
    assert {read_pixels(path).shape for path in made} == {(120, 160, 3)}
    assert listed(capsys)[0]["state"] == "interrupted"
    assert queue("run", "--quiet") == 0
    (job,) = listed(capsys)
    assert (job["state"], job["pictures"], job["done"]) == ("done", 30, 30)
    assert len(names(out)) == 30
    if not mode or mode == ("--skip-existing",):
        assert all(path.stat().st_mtime_ns == changed for path, changed in made.items())


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="processes are killed as on POSIX")
def test_whichever_write_a_process_is_killed_before_the_job_is_made(style, album, tmp_path, capsys):
    own, out = tmp_path / "queue", tmp_path / "out"
    killed = 0
    for number in (1, 2, 3, 4, 6, 9, 13):
        assert queue("add", album, "-o", out / str(number), *LOOK, "--queue", own) == 0
        # Changes to files under tmp_path count from the first change in the queue's folder.
        doomed = ["tests.helpers.dying", str(tmp_path), str(own), str(number)]
        done = subprocess.run(
            [sys.executable, "-m", *doomed, "queue", "run", "-q", "--queue", str(own)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            check=False,
        )
        killed += done.returncode == -signal.SIGKILL
        assert queue("run", "-q", "--queue", own) == 0, number
        assert names(out / str(number)) == ["a.png", "b.png"]
        assert {read_pixels(path).shape for path in (out / str(number)).glob("*.png")} == {
            (16, 20, 3)
        }
        capsys.readouterr()
        assert queue("list", "--json", "--queue", own) == 0
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert {(job["state"], job["pictures"], job["done"]) for job in told} == {("done", 2, 2)}
    assert killed == 7


def test_ctrl_c_has_the_job_wait_again(style, album, tmp_path, capsys, monkeypatch):
    def interrupted(request, reporter):
        raise KeyboardInterrupt("Stopped after 1 of 2 pictures; those are complete.")

    assert queue("add", album, "-o", tmp_path / "out", *LOOK) == 0
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run", interrupted)
        assert queue("run") == 130
    assert "after 1 of 2" in capsys.readouterr().err
    assert listed(capsys)[0]["state"] == "waiting"
    assert queue("run") == 0


def test_films_are_jobs_too_and_are_not_made_again(style, tmp_path, capsys):
    films = [write_film(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    out = tmp_path / "out"
    assert queue("add", *films, "-o", out, "--encoder", "cpu", *LOOK) == 0
    data = films[1].read_bytes()
    films[1].write_bytes(data[: len(data) // 20])
    assert queue("run", "-q") == 1
    (job,) = listed(capsys)
    assert (job["pictures"], job["done"], job["failed"]) == (2, 1, 1)
    made = (out / "a.mp4").stat().st_mtime_ns
    films[1].write_bytes(data)
    assert queue("retry") == 0
    assert queue("run", "-q") == 0
    assert names(out) == ["a.mp4", "b.mp4"]
    assert (out / "a.mp4").stat().st_mtime_ns == made
    assert listed(capsys)[0]["done"] == 2
    assert queue("add", films[0], "-o", tmp_path / "new", "--name", "{stem}.png", *LOOK) == 0
    assert queue("run") == 1
    assert mentions(capsys.readouterr().err, "a.png", "film's name")


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="processes are killed as on POSIX")
def test_a_film_whose_process_is_killed_goes_on_behind_its_finished_parts(style, tmp_path, capsys):
    film = write_film(tmp_path / "film.mp4", range(0, 1001 * 900, 1001))
    out = tmp_path / "out.mp4"
    assert queue("add", film, "-o", out, "--encoder", "cpu", *LOOK) == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "queue", "run", "-q"],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 100
    while not (store_folder(out) / "000000.json").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not out.exists()
    assert listed(capsys)[0]["state"] == "interrupted"
    assert queue("run") == 0
    told = capsys.readouterr().err
    assert "900 frames in" in told
    assert "by an earlier run" in told
    (job,) = listed(capsys)
    assert (job["state"], job["pictures"], job["done"], job["share"]) == ("done", 1, 1, 1.0)
    assert times_of(out) == times_of(film)


def test_how_much_of_a_film_is_done_is_listed(style, tmp_path, capsys):
    films = [write_film(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    assert queue("add", *films, "-o", tmp_path / "out", *LOOK) == 0
    jobs = JobQueue.default()
    (job,) = jobs.jobs()[0]
    pairs = [(film, tmp_path / "out" / film.name) for film in films]
    manifest = Manifest(Shard(1, 1), 2, plan_digest(["a.mp4", "b.mp4"]), "", planned(pairs))
    record = Record(jobs.manifest(job.number), manifest)
    record.under_way(pairs[0][1], 0.25)
    record.save()
    assert listed(capsys)[0]["share"] == 0.125
    assert queue("list") == 0
    assert "0 of 2, 12 %  --output" in capsys.readouterr().out


def test_a_watched_folder_is_stylized_as_it_fills(style, album, tmp_path, capsys):
    out = tmp_path / "out"
    given = ("watch", album, "-o", out, "--once", *LOOK)
    assert queue(*given) == 0
    assert names(out) == ["a.png", "b.png"]
    assert "Added job 1: 2 new" in capsys.readouterr().err
    for path in out.iterdir():
        path.unlink()  # as a user who collects the results
    write_pixels(album / "c.png", picture(20, 16))
    assert queue(*given) == 0
    assert names(out) == ["c.png"]
    assert queue(*given) == 0
    assert len(listed(capsys)) == 2
    assert queue("watch", tmp_path / "gone", "-o", out, *LOOK) == 1
    assert "gone' is not there" in capsys.readouterr().err
    assert queue(*given, "--name", "{number}{suffix}") == 1
    assert "does not support {number}" in capsys.readouterr().err


def test_a_film_in_a_watched_folder_is_stylized(style, album, tmp_path, capsys):
    write_film(album / "walk.mp4")
    write_animation(album / "dance.gif")
    given = ("watch", album, "-o", tmp_path / "out", "--once", *LOOK)
    assert queue(*given) == 0
    assert names(tmp_path / "out") == ["a.png", "b.png", "dance.gif", "walk.mp4"]
    assert queue(*given) == 0
    assert len(listed(capsys)) == 1


def test_a_watched_picture_that_changed_is_stylized_again_if_that_is_asked_for(
    style, album, tmp_path, capsys
):
    out = tmp_path / "out"
    given = ("watch", album, "-o", out, "--once", "--add-only", "--overwrite", *LOOK)
    assert queue(*given) == 0
    assert not out.exists()
    later = time.time() + 60
    os.utime(album / "b.png", (later, later))
    assert queue(*given) == 0
    jobs = listed(capsys)
    assert [job["arguments"][-1] for job in jobs] == [str(album / "b.png")] * 2
    assert "--overwrite" in jobs[1]["arguments"]
    assert len(jobs[1]["arguments"]) == len(jobs[0]["arguments"]) - 1


def test_every_flag_of_a_job_survives_being_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "in/*.png", "-o", "out", "--name", "{stem}-{style}{suffix}", "--skip-existing",
        "--style-image", "a.jpg:0.25", "--style-image", "b.jpg", "--style-network", "n.safetensors",
        "--mix", "udnie:0.3", "--mix", "candy", "--kernels", "norm", "--precision", "fp16",
        "--device", "cuda:1", "--size", "512", "--depth", "16", "--batch", "3",
        "--long-side", "900",
        "--strength", "0.123456789", "--keep-colors", "--network", "lite", "--strokes", "bold",
        "--codec", "hevc", "--quality", "best", "--encoder", "cpu", "--report", "films.json",
        "--before-after", "side", "--texture", "0.5", "--strokes-direction", "hand",
        "--strokes-handles", "0.25,0.4,30;0.7,0.6,120.5",
        "--strokes-length", "0.7", "--upsampling", "smooth",
        "--smoothing", "0.25", "--paint", "background", "--feather", "0.5", "--swap-matte",
        "--rest", "green", "--matte", "plate.png", "--leave-out", "in/painted",
    ]  # fmt: skip
    args = job_parser().parse_args(words)
    given = {action.dest for action in job_parser()._actions}
    same = {
        action.dest
        for action in job_parser()._actions
        if getattr(args, action.dest) == action.default
    }
    assert same == {"overwrite", "style"}, "name every flag above"
    again = job_arguments(job_words(args, args.inputs))
    changed = {name for name in given if getattr(again, name) != getattr(args, name)}
    assert changed == {
        "inputs",
        "output",
        "style_image",
        "style_network",
        "report",
        "matte",
        "leave_out",
    }  # absolute
    assert again.inputs == [str(tmp_path / "in" / "*.png")]
    assert again.output == tmp_path / "out"
    assert again.leave_out == [tmp_path / "in" / "painted"]
    assert [(each.path, each.share) for each in again.style_image] == [
        (tmp_path / "a.jpg", 0.25), (tmp_path / "b.jpg", None),
    ]  # fmt: skip


def test_a_list_on_stdin_is_read_when_the_job_is_added(style, album, tmp_path, monkeypatch, capsys):
    import io
    from types import SimpleNamespace

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"album/a.png\n")))
    monkeypatch.chdir(tmp_path)
    assert queue("add", "-", "-o", tmp_path / "out", *LOOK) == 0
    assert listed(capsys)[0]["arguments"][-1] == str(album / "a.png")
    assert queue("add", "-", "-o", tmp_path / "out", *LOOK) == 1
    assert mentions(capsys.readouterr().err, "stdin", "no files")


def test_a_job_of_another_version_fails_with_a_sentence(style, tmp_path, capsys):
    JobQueue.default().add(["--glitter=7", "--output=x", "--", "a.png"])
    assert queue("run") == 1
    assert "unrecognized arguments: --glitter=7" in capsys.readouterr().err
    assert listed(capsys)[0]["state"] == "failed"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--style", "skecth"), "did you mean sketch"),
        (("--style", STYLE, "--mix", "cundy"), "did you mean candy"),
        (("--style-network", "x.safetensors"), "--style-network needs --style-image"),
    ],
)
def test_a_style_that_is_not_there_is_told_when_a_job_is_added(
    style, photo, tmp_path, capsys, flags, says
):
    assert queue("add", photo, "-o", tmp_path / "out", *flags) == 1
    assert says in capsys.readouterr().err
    assert listed(capsys) == []


def test_a_damaged_record_is_told_and_the_other_jobs_are_listed(style, photo, tmp_path, capsys):
    for name in ("one", "two"):
        assert queue("add", photo, "-o", tmp_path / name, *LOOK) == 0
    jobs = JobQueue.default()
    jobs.manifest(1).parent.mkdir()
    jobs.manifest(1).write_text("{")
    capsys.readouterr()
    assert queue("list") == 1
    told = capsys.readouterr()
    assert "   2  waiting" in told.out
    assert "job 1: '" in told.err
    assert queue("run") == 1
    assert "000001.json' is no manifest" in capsys.readouterr().err
    assert names(tmp_path / "two") == ["photo.png"]


def test_a_queue_of_its_own_folder_is_apart(style, photo, tmp_path, capsys):
    given = ("--queue", tmp_path / "mine")
    assert queue("add", photo, "-o", tmp_path / "out", *LOOK, *given) == 0
    assert listed(capsys) == []
    assert queue("run", *given) == 0
    assert names(tmp_path / "out") == ["photo.png"]
    assert queue("add", photo, "-o", tmp_path / "out", "--strength", "2") == 2
    assert queue() == 2
