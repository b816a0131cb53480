"""Job files outlive every process, and no two processes run the same job."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.batch.queue.job import JobState, QueueError
from app.batch.queue.job_queue import DIED, MOST_ATTEMPTS, JobQueue
from utils.files.locks import locked

ROOT = Path(__file__).resolve().parents[4]
ADD = "import sys; from pathlib import Path; from app.batch.queue.job_queue import JobQueue; "
ADD += "[JobQueue(Path(sys.argv[1])).add([sys.argv[2], str(n)]) for n in range(20)]"
JOB = b'{"format": 1, "arguments": ["x"], "added_at": 1.5, "state": "waiting", "attempts": 0,'
JOB += b' "error": ""}'
TAKE = """
import sys
from pathlib import Path
from app.batch.queue.job_queue import JobQueue
queue = JobQueue(Path(sys.argv[1]))
while True:
    with queue.next_job() as job:
        if job is None:
            break
        print(job.number, flush=True)
        queue.finish(job)
"""


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path / "queue")


def processes(code: str, *arguments: list[str]) -> list[str]:
    """Run processes concurrently and return the output of each."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for words in arguments
    ]
    told = [process.communicate(timeout=100)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(started)
    return told


def test_jobs_keep_their_order_and_their_words(queue):
    for word in ("one", "zwei ü", "\udcff"):
        queue.add(["--style", "candy", "--", word])
    jobs, damaged = JobQueue(queue.root).jobs()
    assert [(job.number, job.arguments[-1]) for job in jobs] == [
        (1, "one"), (2, "zwei ü"), (3, "\udcff"),
    ]  # fmt: skip
    assert not damaged
    assert {job.state for job in jobs} == {JobState.WAITING}


def numbers(queue: JobQueue) -> list[int]:
    return [job.number for job in queue.jobs()[0]]


def test_jobs_run_in_the_order_in_which_they_were_arranged(queue):
    added = queue.add_all([str(number)] for number in range(5))
    assert [job.number for job in added] == numbers(queue) == [1, 2, 3, 4, 5]
    queue.arrange([4, 2], before=1)
    assert numbers(queue) == [4, 2, 1, 3, 5]
    queue.arrange([2], before=2)
    queue.arrange([4, 1])
    assert numbers(queue) == [2, 3, 5, 4, 1]
    with queue.next_job() as job:
        assert job.number == 2
        queue.finish(job)
    queue.remove(4)
    assert queue.add(["later"]).number == 6
    assert numbers(JobQueue(queue.root)) == [2, 3, 5, 1, 6]
    for wrong in ([7], [1, 4]):
        with pytest.raises(QueueError, match=f"there is no job {wrong[-1]} in the queue"):
            queue.arrange(wrong)
    with pytest.raises(QueueError, match="job 9"):
        queue.arrange([1], before=9)


def test_a_number_that_was_arranged_is_not_given_again(queue):
    queue.add_all([["one"], ["two"], ["three"]])
    queue.arrange([3], before=1)
    queue.remove(3)
    assert queue.add(["new"]).number == 4
    assert numbers(queue) == [1, 2, 4]


@pytest.mark.parametrize("data", [b"", b"{}", b'["1"]', b"\xff", b"[" * 100_000])
def test_a_damaged_order_is_told_and_the_jobs_run_as_they_were_added(queue, data):
    queue.add_all([["one"], ["two"]])
    queue.arrange([2], before=1)
    (queue.root / "order.json").write_bytes(data)
    jobs, damaged = queue.jobs()
    assert [job.number for job in jobs] == [1, 2]
    assert len(damaged) == 1
    assert "order of the queue" in damaged[0]


def test_processes_that_add_at_once_lose_nothing(queue):
    processes(ADD, *([str(queue.root), name] for name in "abc"))
    jobs, _ = queue.jobs()
    assert [job.number for job in jobs] == list(range(1, 61))
    assert sorted(job.arguments for job in jobs) == sorted(
        (name, str(number)) for name in "abc" for number in range(20)
    )


def test_processes_that_run_at_once_do_no_job_twice(queue):
    for number in range(40):
        queue.add([str(number)])
    told = processes(TAKE, *[[str(queue.root)]] * 3)
    assert sorted(int(line) for each in told for line in each.split()) == list(range(1, 41))
    assert {job.state for job in queue.jobs()[0]} == {JobState.DONE}


def test_a_job_is_run_stopped_failed_and_tried_again(queue):
    for _ in range(2):
        queue.add(["x"])
    with queue.next_job() as job:
        assert (job.number, queue.get(1).state) == (1, JobState.RUNNING)
        queue.put_back(job)
    assert queue.get(1).attempts == 0
    with queue.next_job() as job:
        assert job.number == 1
        queue.finish(job, "it is broken")
    with queue.next_job() as job:
        assert job.number == 2
        queue.finish(job)
    with queue.next_job() as job:
        assert job is None
    assert (queue.get(1).state, queue.get(1).error) == (JobState.FAILED, "it is broken")
    with pytest.raises(QueueError, match=r"job 2 .*done"):
        queue.retry(2)
    queue.retry(1)
    assert (queue.get(1).state, queue.get(1).error) == (JobState.WAITING, "")


def test_a_job_that_another_process_runs_is_passed_over_and_kept(queue):
    queue.add(["one"])
    queue.add(["two"])
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from app.batch.queue.job_queue import JobQueue\n"
            "with JobQueue(Path(sys.argv[1])).next_job() as job:\n"
            "    print(job.number, flush=True); sys.stdin.read()",
            str(queue.root),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "1\n"
    assert queue.is_running(queue.get(1))
    with pytest.raises(QueueError, match=r"job 1 .*another process"):
        queue.remove(1)
    with queue.next_job() as job:
        assert job.number == 2
        queue.finish(job)
    with queue.next_job() as job:
        assert job is None
    holder.kill()
    holder.communicate()
    assert queue.get(1).state is JobState.RUNNING
    assert not queue.is_running(queue.get(1))
    with queue.next_job() as job:
        assert (job.number, job.attempts) == (1, 2)
        queue.finish(job)


def test_a_job_that_takes_every_process_with_it_fails_at_last(queue):
    queue.add(["x"])
    for attempt in range(1, MOST_ATTEMPTS + 1):
        with queue.next_job() as job:
            assert job.attempts == attempt  # the process dies without recording a result
    with queue.next_job() as job:
        assert job is None
    assert queue.get(1).error == DIED
    queue.retry(1)
    with queue.next_job() as job:
        assert job.attempts == 1


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 9}',
        JOB.replace(b'["x"]', b"[1]"), JOB.replace(b"waiting", b"lost"),
        JOB.replace(b"1.5", b"NaN"), JOB.replace(b'"attempts": 0', b'"attempts": "0"'),
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_and_costs_only_its_own_job(queue, data):
    queue.add(["one"])
    queue.add(["two"])
    (queue.root / "000001.json").write_bytes(data)
    jobs, damaged = queue.jobs()
    assert [job.number for job in jobs] == [2]
    assert len(damaged) == 1
    assert "000001.json'" in damaged[0]
    with queue.next_job() as job:
        assert job.number == 2
    assert queue.add(["three"]).number == 3
    queue.remove(1)
    with pytest.raises(QueueError, match="job 1"):
        queue.remove(1)


def test_nothing_is_left_of_a_job_that_was_removed(queue):
    number = queue.add(["one"]).number
    with queue.next_job() as job:
        queue.finish(job)
    (queue.root / ".000001.json.0123abcd.tmp").write_bytes(b"of a process that was killed")
    queue.remove(number)
    assert [path.name for path in queue.root.iterdir()] == [".queue.lock"]


def test_files_of_others_in_the_folder_are_no_jobs(queue):
    job = queue.add(["one"])
    (queue.root / "notes.json").write_text("mine")
    queue.manifest(job.number).parent.mkdir()
    queue.manifest(job.number).write_text("{}")
    assert len(queue.jobs()[0]) == 1
    assert json.loads((queue.root / "000001.json").read_text())["arguments"] == ["one"]


def test_a_lock_that_is_kept_stays_one_lock(tmp_path):
    with locked(tmp_path / "x", 0, keep=True):
        pass
    assert (tmp_path / ".x.lock").exists()
