"""Films and animations as sources of an export, which reads, copies and writes them."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random

from app.export.film.codecs import CODECS
from app.export.film.job import FilmJob
from tests.app.export.film.conftest import Plain, request
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import damaged
from tests.fuzz.targets.base import Basis, attempt, named, special
from tests.fuzz.targets.pictures import animations
from tests.helpers.films import Look, write_film

MILLISECONDS = Fraction(1, 1000)
LINES = ((0, 100, "first"), (200, 300, "second"))
CODED = ("h264", "ffv1", "prores", "gif", "webp")


class FilmExports(Basis):
    name = "film exports"
    seconds = 20.0
    memory = 2 << 30
    sample = 20

    def prepare(self) -> None:
        times = range(0, 400, 40)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            seeds = (
                write_film(folder / "a.mp4", sound="aac", subtitles=LINES, chapters=LINES),
                write_film(
                    folder / "b.mkv", times, sound="flac", subtitles=LINES, base=MILLISECONDS
                ),
                write_film(folder / "c.ts", range(0, 36000, 3600), sound="mp2"),
                write_film(folder / "d.mov", look=Look("prores_ks", "yuv422p10le", options=())),
                write_film(folder / "e.mp4", look=Look(turned=90, aspect=Fraction(4, 3))),
            )
            self._seeds = [(path.suffix, path.read_bytes()) for path in seeds]
        self._seeds += [(Path(name).suffix, data) for name, data in animations()]

    def make(self, rng: Random) -> Case:
        ending, data = rng.choice(self._seeds)
        others = [other for _, other in self._seeds]
        content = special(rng) if rng.random() < 0.01 else damaged(rng, data, others)
        return named(rng, content, "film", ending)

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        said: list[str] = []
        codec = CODED[path.lstat().st_size % len(CODED)]
        out = folder / f"film{CODECS[codec].containers[0]}.out{CODECS[codec].containers[0]}"

        def export() -> None:
            report = FilmJob(request(path, out, codec), Plain()).run()
            assert report.frames > 0
            assert out.is_file()
            for clause in (*report.remarks, *report.faults):
                check_shown(clause)

        attempt(export, said)
        return said
