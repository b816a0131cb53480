"""Folders of pictures and strips of them, opened as a source."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.sources import open_source
from tests.fuzz.case import Case, Link
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import damaged
from tests.fuzz.targets.base import NAMES, Basis, attempt, special
from tests.fuzz.targets.pictures import seeds


class Folders(Basis):
    name = "folders"
    sample = 25
    memory = 2 << 30

    def prepare(self) -> None:
        self._seeds = seeds()

    def make(self, rng: Random) -> Case:
        files = {}
        for n in range(rng.randrange(6)):
            name, data = rng.choice(self._seeds)
            ending = Path(name).suffix
            content = special(rng) if rng.random() < 0.1 else data
            if isinstance(content, bytes) and rng.random() < 0.6:
                content = damaged(rng, content)
            odd = rng.random() < 0.2
            files[f"strip/{rng.choice(NAMES)[:200] if odd else n}{ending}"] = content
        files["strip/notes.txt"] = b"no picture"
        if rng.random() < 0.1:
            files["strip/again"] = Link(".")
        return Case(files)

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        attempt(lambda: _walk(str(folder / "strip")), said)
        paths = [str(path) for path in sorted((folder / "strip").iterdir()) if path.is_file()]
        attempt(lambda: _walk(paths), said)
        return said


def _walk(spec: str | list[str]) -> None:
    source = open_source(spec)
    try:
        check_shown(source.info.title)
        for _ in range(source.info.count + 1):
            source.read(0.05)
            check_shown(source.status)
            source.step(1)
        source.seek(-1e9)
        source.seek(1e9)
        source.read(0.05)
    finally:
        source.close()
