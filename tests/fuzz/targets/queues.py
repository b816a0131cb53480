"""The files of the queue: its jobs, and the manifests of results."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.batch import manifest
from app.batch.manifest import read_manifest
from app.batch.queue import job
from app.batch.queue.job_queue import JobQueue
from app.commands.queue.arguments import job_arguments
from tests.fuzz.case import Case
from tests.fuzz.mutations import as_json
from tests.fuzz.targets.base import Basis, attempt, special


class Queues(Basis):
    name = "queues"
    sample = 150

    def make(self, rng: Random) -> Case:
        waiting = {
            "format": job.FORMAT,
            "arguments": ["--output=out", "--style=candy", "--name={stem}.png", "--", "a.png"],
            "added_at": 1.7e9,
            "state": "waiting",
            "attempts": 0,
            "error": "",
        }
        entry = {
            "source": "a.png",
            "result": "out/a.png",
            "state": "done",
            "source_bytes": 7,
            "source_mtime_ns": 1,
            "result_bytes": 8,
            "result_mtime_ns": 2,
            "result_sha256": "00",
        }
        made = {
            "format": manifest.FORMAT,
            "shard": 1,
            "shards": 2,
            "pictures": 2,
            "plan_sha256": "00",
            "style": "candy",
            "finished": True,
            "problems": ["a problem"],
            "entries": [entry, entry | {"state": "failed", "error": "broken"}],
        }
        contents = [
            special(rng) if rng.random() < 0.02 else as_json(rng, value)
            for value in (waiting, made)
        ]
        return Case(
            {"queue/000001.json": contents[0], "queue/manifests/000001.json": contents[1]},
            named="000001.json",
        )

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        queue = JobQueue(folder / "queue")
        jobs, damaged = queue.jobs()
        said += damaged
        for each in jobs:
            queue.put_back(each)
            if queue.get(each.number).arguments != each.arguments:
                said.append("what was written of the job is not what is read again")
            attempt(lambda each=each: job_arguments(each.arguments), [])
        again = folder / "again.json"

        def read() -> None:
            found = read_manifest(queue.manifest(1))
            found.write(again)
            if read_manifest(again) != found:
                said.append("what was written of the manifest is not what is read again")
            _ = [entry.intact for entry in found.entries]

        attempt(read, said)
        return said
