"""Folders of photographs for training, and lists of photographs to leave out."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.training.dataset_scan import scan_dataset
from app.ui.training.formatting import scan_text
from models.training.data import find_photographs, load_photographs
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import WORDS, damaged
from tests.fuzz.targets.base import attempt, special
from tests.fuzz.targets.picture_folders import PictureFolder
from utils.files.lists import read_list_file


class PhotographFolders(PictureFolder):
    name = "photographs"

    def make(self, rng: Random) -> Case:
        files = self.files(rng, 7, ("photos", "photos/below"), odd=0.05)
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
            excluded = read_list_file(folder / "list.txt")
        except ValueError as exc:
            said.append(str(exc).replace(str(folder), ""))
        photos = folder / "photos"
        attempt(lambda: find_photographs(photos, excluded), said)
        attempt(lambda: said.extend(_load(photos)), said)
        seen = scan_dataset(photos)
        check_shown(scan_text(seen).replace(str(folder), ""))
        said += seen.faults
        return [sentence.replace(str(folder), "") for sentence in said]


def _load(folder: Path) -> tuple[str, ...]:
    photographs = load_photographs(find_photographs(folder), 48, 4)
    assert photographs.digest
    assert photographs.pixels.shape == (len(photographs), 48, 48, 3)
    return photographs.skipped
