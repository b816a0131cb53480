"""`styleforge queue`: `stylize` jobs that survive quitting and crashes."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from app.batch.devices.choice import devices_of
from app.batch.queue.job import JobState, QueuedJob, QueueError
from app.batch.queue.job_queue import JobQueue
from app.batch.queue.overview import Overview
from app.batch.queue.watched_folder import WatchedFolder, not_queued
from app.batch.reporter import Reporter
from app.commands.queue.arguments import job_words
from app.commands.queue.runner import run_waiting
from app.commands.stylize.flags import add_inputs, add_look, add_output, add_telling
from app.commands.stylize.reporters import make_reporter
from app.commands.stylize.request import style_choice_of
from app.engine.config import EngineConfig
from app.engine.engine import check_precision
from app.engine.painting_devices import painting_device
from app.errors import MAX_MESSAGE_LENGTH
from app.exit_status import DONE, FAILED
from app.processes.stop_signal import interrupt_on_stdin
from app.styles.catalog import Catalog
from models.families.keys import ANY_STYLE
from models.families.table import FAMILIES
from models.precision import Precision
from utils.text import printable

INTERVAL_S = 2.0  # between checks of a folder or of the queue
JOB_EVENT = "job"  # events of `run --progress json`, besides the events of stylize
FINISH, CONTINUE = "finish", "continue"  # lines on stdin with --listen


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "queue",
        help="queue jobs that survive quitting and crashes, and watch folders",
        description="Keep `stylize` jobs in a queue of files. `run` runs the jobs one after the "
        "other; several processes may run one queue at once. If a process stops or "
        "crashes, the next `run` continues its job.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="add a job with the arguments of `stylize`")
    add_inputs(add)
    add_look(add)
    run = actions.add_parser("run", help="run waiting and interrupted jobs")
    run.add_argument("--wait", action="store_true", help="then wait for more jobs, until Ctrl+C")
    run.add_argument(
        "--leave",
        nargs="+",
        type=_number,
        metavar="JOB",
        help="jobs that stay waiting; see `styleforge queue list`",
    )
    add_telling(run)
    run.add_argument(
        "--listen",
        action="store_true",
        help=f"read commands from stdin, for programs: `{FINISH}` stops after the current job, "
        f"`{CONTINUE}` cancels that; any other line, or the end of stdin, acts as Ctrl+C",
    )
    listed = actions.add_parser("list", help="list the jobs and their progress")
    listed.add_argument("--json", action="store_true", help="print JSON, one job per line")
    move = actions.add_parser("move", help="change the order in which jobs run")
    move.add_argument(
        "numbers",
        nargs="+",
        type=_number,
        metavar="JOB",
        help="the jobs to move, in their new order",
    )
    place = move.add_mutually_exclusive_group()
    place.add_argument("--before", type=_number, metavar="JOB", help="put them before this job")
    place.add_argument("--last", action="store_true", help="put them last (default: first)")
    retry = actions.add_parser("retry", help="queue failed jobs again")
    _add_numbers(retry, "the failed jobs")
    remove = actions.add_parser("remove", help="delete jobs, but keep their results")
    _add_numbers(remove, "the finished jobs")
    _add_watch(actions)
    for action in actions.choices.values():
        action.add_argument(
            "--queue", type=Path, metavar="FOLDER", help="folder of the queue (default: your own)"
        )


def _add_watch(actions: argparse._SubParsersAction) -> None:
    watch = actions.add_parser(
        "watch",
        help="queue the pictures and films that appear in a folder, and run the queue",
        description="Queue the pictures and films in a folder, and those that appear there "
        "later, once they no longer change; run the queue until Ctrl+C. Subfolders "
        "are not searched. A file that was queued before is queued again only if it "
        "has changed; --overwrite then replaces its result.",
    )
    watch.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to watch")
    add_output(watch)
    add_look(watch)
    watch.add_argument(
        "--once",
        action="store_true",
        help="check the folder once, run the queue, and end; for cron",
    )
    watch.add_argument(
        "--add-only", action="store_true", help="only add jobs; another process runs the queue"
    )
    add_telling(watch)


def _add_numbers(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "numbers",
        nargs="*",
        type=_number,
        metavar="JOB",
        help=f"see `styleforge queue list` (default: {default})",
    )


def run(args: argparse.Namespace) -> int:
    queue = JobQueue.default() if args.queue is None else JobQueue(args.queue.absolute())
    actions: dict[str, Callable[[argparse.Namespace, JobQueue], int]] = {
        "add": _add,
        "run": _run,
        "list": _list,
        "move": _move,
        "retry": _retry,
        "remove": _remove,
        "watch": _watch,
    }
    return actions[args.action](args, queue)


def _add(args: argparse.Namespace, queue: JobQueue) -> int:
    _check_look(args)
    words = job_words(args, args.inputs)
    sys.stdout.write(f"Added job {queue.add(words).number}\n")
    return DONE


def _check_look(args: argparse.Namespace) -> None:
    """Raise StyleForgeError now for a look that would fail the job, or run in another precision."""
    styles = style_choice_of(args)
    styles.check()
    catalog = Catalog.default()
    found = [catalog.get(key).family for key in styles.keys]
    family = FAMILIES[ANY_STYLE if styles.images else found[0]]
    config = EngineConfig(kernels=args.kernels, precision=Precision[args.precision])
    for name in devices_of(args.device):
        with suppress(ValueError):  # the job may run once the device is there
            check_precision(config, (family,), painting_device(name))


def _run(args: argparse.Namespace, queue: JobQueue) -> int:
    new_reporter = partial(make_reporter, args.progress, args.loudness)
    told = _tell_job if args.progress == "json" else lambda job: None
    finishing = threading.Event()
    if args.listen:
        interrupt_on_stdin({FINISH: finishing.set, CONTINUE: finishing.clear})
    for sentence in queue.jobs()[1]:
        new_reporter().problem(sentence)
    leave = frozenset(args.leave or ())
    failed = run_waiting(queue, new_reporter, told, finishing.is_set, leave)
    while args.wait and not finishing.is_set():
        time.sleep(INTERVAL_S)
        failed += run_waiting(queue, new_reporter, told, finishing.is_set, leave)
    return FAILED if failed else DONE


def _tell_job(job: QueuedJob) -> None:
    """Print an event at the beginning and the end of a job, besides the events of its run."""
    values = {"number": job.number, "state": job.state, "error": job.error or None}
    sys.stdout.write(json.dumps({"event": JOB_EVENT, **values}) + "\n")
    sys.stdout.flush()  # a reader waits for the line


def _list(args: argparse.Namespace, queue: JobQueue) -> int:
    views, damaged = Overview(queue).read()
    for view in views:
        job = view.job
        if args.json:
            counts = {"pictures": view.pictures, "done": view.done, "failed": view.failed}
            counts |= {"share": round(view.share, 4)}
            values = {"job": job.number, "state": view.state, **counts, "error": job.error or None}
            values |= {"added_at": job.added_at, "arguments": job.arguments}
            sys.stdout.write(json.dumps(values) + "\n")
            continue
        told = f"{view.done} of {view.pictures}" if view.pictures else ""
        told += f", {100 * view.share:.0f} %" if 0 < view.share < 1 else ""
        words = printable(" ".join(job.arguments))
        why = f"  ({printable(job.error)})" if job.error else ""
        sys.stdout.write(f"{job.number:>4}  {view.state:11}  {told:>12}  {words}{why}\n")
    for sentence in damaged:
        sys.stderr.write(f"styleforge: {printable(sentence, MAX_MESSAGE_LENGTH)}\n")
    return FAILED if damaged else DONE


def _move(args: argparse.Namespace, queue: JobQueue) -> int:
    before = args.before
    if before is None and not args.last:
        before = next((each for each in queue.order() if each not in args.numbers), None)
    queue.arrange(args.numbers, before)
    return DONE


def _retry(args: argparse.Namespace, queue: JobQueue) -> int:
    jobs, _ = queue.jobs()
    numbers = args.numbers or [job.number for job in jobs if job.state is JobState.FAILED]
    for number in numbers:
        queue.retry(number)
        sys.stdout.write(f"Job {number} is waiting again\n")
    return DONE


def _remove(args: argparse.Namespace, queue: JobQueue) -> int:
    jobs, _ = queue.jobs()
    numbers = args.numbers or [job.number for job in jobs if job.state is JobState.DONE]
    for number in numbers:
        queue.remove(number)
        sys.stdout.write(f"Removed job {number}\n")
    return DONE


def _watch(args: argparse.Namespace, queue: JobQueue) -> int:
    if args.name is not None and "{number" in args.name.text:
        raise QueueError("a watched folder does not support {number} in file names")
    _check_look(args)
    new_reporter = partial(make_reporter, args.progress, args.loudness)
    reporter, folder, failed = new_reporter(), WatchedFolder(args.folder.absolute()), 0
    folder.settled()
    while True:
        time.sleep(INTERVAL_S)
        _add_settled(args, queue, folder, reporter)
        if not args.add_only:
            failed += run_waiting(queue, new_reporter)
        if args.once:
            return FAILED if failed else DONE


def _add_settled(
    args: argparse.Namespace, queue: JobQueue, folder: WatchedFolder, reporter: Reporter
) -> None:
    """Add a job for the pictures and films whose current version no job has."""
    new = not_queued(folder.settled(), queue.jobs()[0])
    if new:
        if not args.overwrite:
            args.skip_existing = True
        job = queue.add(job_words(args, [str(path) for path in new]))
        reporter.note(f"Added job {job.number}: {len(new)} new in '{printable(str(args.folder))}'")


def _number(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) <= 9):
        raise argparse.ArgumentTypeError(f"expected the number of a job, not '{text}'")
    return int(text)
