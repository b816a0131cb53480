"""Folders of photographs that styles are trained on, and lists of those to leave out."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.training.dataset_scan import scan_dataset
from models.training.data import find_photographs, load_photographs
from tests.fuzz.case import Case, Link
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import WORDS, damaged
from tests.fuzz.targets.base import NAMES, Basis, attempt, special
from tests.fuzz.targets.pictures import seeds
from utils.files.lists import entries


class PhotographFolders(Basis):
    name = "photographs"
    sample = 25
    memory = 2 << 30

    def prepare(self) -> None:
        self._seeds = seeds()

    def make(self, rng: Random) -> Case:
        files = {}
        for n in range(rng.randrange(7)):
            name, data = rng.choice(self._seeds)
            content = special(rng) if rng.random() < 0.05 else data
            if isinstance(content, bytes) and rng.random() < 0.6:
                content = damaged(rng, content)
            stem = rng.choice(NAMES)[:200] if rng.random() < 0.2 else f"{n}"
            place = rng.choice(("photos", "photos/below"))
            files[f"{place}/{stem}{Path(name).suffix}"] = content
        if rng.random() < 0.1:
            files["photos/again"] = Link(".")
        names = [name.partition("/")[2] for name in files if rng.random() < 0.2]
        lines = "\n".join([*names, "# a comment", *rng.choices(WORDS, k=rng.choice((0, 0, 2)))])
        listed = lines.encode("utf-8", "surrogateescape" if "\ud800" not in lines else "replace")
        files["list.txt"] = damaged(rng, listed) if rng.random() < 0.5 else listed
        if rng.random() < 0.05:
            files["list.txt"] = special(rng)
        return Case(files)

    def run(self, folder: Path) -> list[str]:
        said: list[str] = []
        excluded: list[str] = []
        try:
            excluded = entries(folder / "list.txt")
        except ValueError as exc:
            said.append(str(exc).replace(str(folder), ""))
        photos = folder / "photos"
        attempt(lambda: find_photographs(photos, excluded), said)
        attempt(lambda: said.extend(_load(photos)), said)
        seen = scan_dataset(photos)
        check_shown(seen.summary.replace(str(folder), ""))
        said += seen.faults
        return [sentence.replace(str(folder), "") for sentence in said]


def _load(folder: Path) -> tuple[str, ...]:
    photographs = load_photographs(find_photographs(folder), 48, 4)
    assert photographs.digest
    assert photographs.pixels.shape == (len(photographs), 48, 48, 3)
    return photographs.skipped
