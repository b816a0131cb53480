"""Closes the real window during each kind of work at random moments: nothing may be lost.

`python -m tests.stress.close_while_running --seed 1 --rounds 20` takes half an hour.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safetensors.torch import save_file

from app.processes.command_process import ROOT
from app.training.run_store import RunStore
from app.training.unfinished import run_lock
from app.ui.film.interrupted import find_interrupted
from tests.conftest import picture, random_vgg
from tests.helpers.films import write_film
from tests.stress.closing_window import CLOSING, KINDS, PICTURES
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels
from utils.pyav import av

LATEST_S = 1.5  # from the start of the work to the end of its window
MAX_SECONDS = 180.0  # per process
SIDE = 60  # side of the photographs


@dataclass(slots=True)
class Report:
    """The number of closed windows per kind of work, and a sentence for every fault."""

    closed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        closed = ", ".join(f"{count} {kind}" for kind, count in self.closed.items())
        head = f"{self.closed.total()} windows closed ({closed}) in {self.seconds:.0f} s; "
        return "\n".join([f"{head}{len(self.faults)} faults", *self.faults])


def run(seed: int, rounds: int, kinds: Sequence[str] = KINDS) -> Report:
    """Close a window `rounds` times during each kind of work."""
    report, chance, begun = Report(), random.Random(seed), time.monotonic()
    for number in range(rounds):
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="close-") as place:
                moment = chance.uniform(0, LATEST_S)
                for fault in _round(kind, Path(place), moment):
                    report.faults.append(f"{kind}, round {number + 1}, {moment:.2f} s: {fault}")
            report.closed[kind] += 1
    report.seconds = time.monotonic() - begun
    return report


def _round(kind: str, place: Path, moment: float) -> Iterator[str]:
    folder, home = place / "work", place / "home"
    _make_files(folder)
    before = {path: path.read_bytes() for path in _files(folder)}
    environment = {
        **os.environ,
        **{f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "DATA", "STATE")},
        "HOME": str(home),
        "QT_QPA_PLATFORM": "offscreen",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.stress.closing_window", kind, str(folder), str(moment)]
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
        )
    except subprocess.TimeoutExpired as exc:
        yield f"it did not end within {MAX_SECONDS:.0f} s: {exc.stdout!r}, {exc.stderr!r}"
        return
    if ended.returncode != 0:
        yield f"status {ended.returncode}: {ended.stderr[-2000:]}"
    if "Traceback" in ended.stderr or "terminate" in ended.stderr:
        yield ended.stderr[-2000:]
    if CLOSING not in ended.stdout:
        yield "the work did not begin"
    for path, content in before.items():
        if not path.is_file() or path.read_bytes() != content:
            yield f"{path.name} was changed"
    data = home / "DATA" / "styleforge"
    new = sorted(path for path in _files(folder) if path not in before)
    yield from _CHECKS.get(kind, _nothing_new)(folder, data, new)
    yield from (f"{path} was left" for path in _files(data) if path.suffix in (".tmp", ".part"))


def _make_files(folder: Path) -> None:
    (folder / "photos").mkdir(parents=True)
    write_film(folder / "walk.mp4", range(0, 600 * 1001, 1001), sound="aac")
    for number in range(8):
        write_pixels(folder / "photos" / f"{number}.png", picture(SIDE, 50, seed=number))
    save_file(random_vgg(), folder / "vgg.safetensors", {"input": "BGR, 0-255, minus a mean"})


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


# The expected results of each kind


def _nothing_new(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    yield from (f"{path} was left" for path in new)


def _recording(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    if len(new) != 1 or new[0].parent.name != "films" or not _frames(new[0]):
        yield f"no whole recording, but {new}"


def _export(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    found = find_interrupted(data / "exports")
    out = folder / "out.mp4"
    parts = [path for path in new if path.parent.name.endswith(".film")]
    if out.exists() == bool(found.orders) or found.damaged:
        yield f"finished: {out.exists()}, offered: {found}"
    if out.exists() and (parts or _frames(out) != _frames(folder / "walk.mp4")):
        yield f"the film is not whole, or left {parts}"
    yield from (f"{path} was left" for path in new if path != out and path not in parts)


def _pictures(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    if [path.name for path in new] != [f"saved{number}.png" for number in range(PICTURES)]:
        yield f"saved are {new}"
    for path in new:
        read_pixels(path)


def _queue(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    for path in new:
        if path.parent.name != "painted" or path.name.startswith("."):
            yield f"{path} was left"
        elif read_pixels(path).shape[1] != SIDE:
            yield f"{path} is not whole"


def _training(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    yield from _nothing_new(folder, data, new)
    runs = list(RunStore(data / "training").all())
    if len(runs) != 1 or not runs[0].worth_keeping:
        yield f"the runs that can be resumed are {runs}"
    for run in runs:
        run_lock(run).acquire()


def _style(folder: Path, data: Path, new: Sequence[Path]) -> Iterator[str]:
    yield from (f"{path} was left" for path in new if path.name != "network.safetensors")
    styles = data / "styles"
    for pack in styles.iterdir() if styles.is_dir() else ():
        if pack.is_dir() and not (pack / "style.toml").is_file():
            yield f"{pack} is not whole"


_CHECKS: dict[str, Callable[[Path, Path, Sequence[Path]], Iterator[str]]] = {
    "recording": _recording,
    "export": _export,
    "pictures": _pictures,
    "queue": _queue,
    "training": _training,
    "style": _style,
}


def _frames(path: Path) -> int:
    with av.open(str(path)) as film:
        return sum(1 for _ in film.decode(video=0))


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print the report; return 1 after a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.close_while_running")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", action="append", choices=KINDS, help="a kind; may be repeated")
    options = parser.parse_args(argv)
    report = run(options.seed, options.rounds, options.only or KINDS)
    sys.stdout.write(f"{report}\n")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
