"""The metadata of a saved picture about how it was made, read back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import numpy as np

from tests.fuzz.case import Broken, Case
from tests.fuzz.mutations import damaged, damaged_png
from tests.fuzz.targets.base import Basis, named
from utils.images.metadata import read_metadata
from utils.images.writing import SAVED, write_pixels

ABOUT = {"Software": "StyleForge 1", "Style": "Candy", "Size": "64x48", "Strength": "0.50"}


class Metadata(Basis):
    name = "metadata"
    sample = 100

    def prepare(self) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
        self._seeds = []
        with tempfile.TemporaryDirectory() as folder:
            for ending in SAVED:
                path = Path(folder) / f"saved{ending}"
                write_pixels(path, pixels, ABOUT)
                if read_metadata(path) != ABOUT:
                    raise Broken(f"the metadata of a {ending} is not what is read again")
                self._seeds.append((ending, path.read_bytes()))

    def make(self, rng: Random) -> Case:
        ending, data = rng.choice(self._seeds)
        how = damaged_png if ending == ".png" and rng.random() < 0.8 else damaged
        return named(rng, how(rng, data), "saved", ending)

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        about = read_metadata(path)
        if not all(isinstance(text, str) for pair in about.items() for text in pair):
            raise Broken(f"not text: {about!r}")
        return []
