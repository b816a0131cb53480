"""A base for targets that fill a folder with pictures: intact, damaged and missing ones."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.case import Fifo, Link
from tests.fuzz.mutations import damaged
from tests.fuzz.targets.base import NAMES, Basis, special
from tests.fuzz.targets.pictures import seeds


class PictureFolder(Basis):
    """Fills folders with files of every format that Pillow reads."""

    sample = 25
    memory = 2 << 30

    def prepare(self) -> None:
        self._seeds = seeds()

    def files(
        self, rng: Random, most: int, places: tuple[str, ...], odd: float
    ) -> dict[str, bytes | Fifo | Link]:
        """Return fewer than `most` files in `places`, a fraction `odd` of them special files.

        The first place may contain a link to itself.
        """
        files: dict[str, bytes | Fifo | Link] = {}
        for n in range(rng.randrange(most)):
            name, data = rng.choice(self._seeds)
            content = special(rng) if rng.random() < odd else data
            if isinstance(content, bytes) and rng.random() < 0.6:
                content = damaged(rng, content)
            stem = rng.choice(NAMES)[:200] if rng.random() < 0.2 else f"{n}"
            files[f"{rng.choice(places)}/{stem}{Path(name).suffix}"] = content
        if rng.random() < 0.1:
            files[f"{places[0]}/again"] = Link(".")
        return files
