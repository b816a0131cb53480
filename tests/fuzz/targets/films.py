"""Films that FFmpeg plays, and animations that Pillow plays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from app.sources import open_source
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import damaged
from tests.fuzz.targets.base import Basis, named, special
from tests.fuzz.targets.pictures import animations
from tests.helpers.fakes import write_video
from tests.helpers.sound import write_talkie

FILMS = ((".mp4", "mp4v"), (".avi", "MJPG"), (".mkv", "mp4v"), (".webm", "VP80"), (".mov", "mp4v"))


class Films(Basis):
    name = "films"
    seconds = 20.0
    memory = 2 << 30
    sample = 25

    def prepare(self) -> None:
        self._seeds = [(f"film{Path(name).suffix}", data) for name, data in animations()]
        with tempfile.TemporaryDirectory() as folder:
            for ending, codec in FILMS:
                path = write_video(Path(folder) / f"film{ending}", 12, 50.0, (64, 48), codec)
                self._seeds.append((path.name, path.read_bytes()))
            for name in ("talkie.mp4", "talkie.mkv"):
                path = write_talkie(Path(folder) / name, [n / 25 for n in range(12)], (0.2,))
                self._seeds.append((path.name, path.read_bytes()))

    def make(self, rng: Random) -> Case:
        name, data = rng.choice(self._seeds)
        others = [other for _, other in self._seeds]
        content = special(rng) if rng.random() < 0.01 else damaged(rng, data, others)
        return named(rng, content, "film", Path(name).suffix)

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        source = open_source(str(path))
        try:
            info = source.info
            check_shown(info.title)
            check_shown(info.note)
            assert info.width > 0
            assert info.height > 0
            assert 0 <= info.fps <= 1000
            assert info.duration >= 0
            source.read(0.1)
            source.pause(True)
            for go in (
                lambda: source.step(1),
                lambda: source.seek(0.1),
                lambda: source.step(-1),
                lambda: source.seek(1e12),
            ):
                go()
                source.read(0.05)
                check_shown(source.status)
        finally:
            source.close()
        return []
