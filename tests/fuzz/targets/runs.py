"""The folders of training runs that the studio finds when it starts."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.training.run_store import FORMAT, RunStore, read_run
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import as_json
from tests.fuzz.targets.base import Basis, attempt, special
from utils.images.reading import read_pixels


class TrainingRuns(Basis):
    name = "runs"
    sample = 150

    def make(self, rng: Random) -> Case:
        state = {
            "format": FORMAT,
            "title": "Red stripes",
            "picture": "red_stripes",
            "flags": ["--dataset", "photos", "--title", "Red stripes", "--iterations", "400"],
            "iterations": 400,
            "history": [[n, 1.5 / (n + 1), 2.0, 3.5] for n in range(0, 200, 50)],
        }
        content = special(rng) if rng.random() < 0.02 else as_json(rng, state)
        files = {"runs/red-stripes/run.json": content}
        if rng.random() < 0.3:
            files["runs/red-stripes/out/style.training.pt"] = b"\x80\x02"
        return Case(files, named="red-stripes")

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        root = folder / "runs"
        attempt(lambda: read_run(root / "red-stripes"), said)
        runs = RunStore(root)
        for run in runs.all():
            check_shown(run.title)
            run.arguments("--estimate")
            _ = run.iteration, run.worth_keeping, runs.is_stale(run)
            if len(run.picture) < 200:  # above this, the whole path in the sentence is too long
                attempt(lambda run=run: read_pixels(run.style_picture), said)
            run.write()
            if read_run(run.path) != run:
                said.append("what was written of the run is not what is read again")
        return said
