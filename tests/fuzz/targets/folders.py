"""Folders of pictures and strips of them, opened as a source."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.sources import open_source
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.targets.base import attempt
from tests.fuzz.targets.picture_folders import PictureFolder


class Folders(PictureFolder):
    name = "folders"

    def make(self, rng: Random) -> Case:
        files = self.files(rng, 6, ("strip",), odd=0.1)
        files["strip/notes.txt"] = b"no picture"
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
