"""Looks through a folder of photographs: how many there are, and whether they can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models.training.data import find_photographs, load_photographs
from models.training.errors import TrainingError

LOOKED_AT = 200  # photographs decoded, drawn at random from a larger folder
SIDE = 48  # pixels; enough to see that a photograph is not of one color
FEW = 100  # fewer are told of


class _AbandonedError(Exception):
    """Nobody waits for this survey any more."""


@dataclass(frozen=True, slots=True)
class DatasetScan:
    """What is in a folder: `found` pictures, of which `looked_at` were decoded and `faults`
    (a sentence each) cannot be used. `problem` says why there is nothing to train on."""

    found: int = 0
    looked_at: int = 0
    faults: tuple[str, ...] = ()
    problem: str = ""

    @property
    def usable(self) -> bool:
        return not self.problem

    @property
    def words(self) -> str:
        """All of it in one or two sentences."""
        if self.problem:
            return f"{self.problem[:1].upper()}{self.problem[1:]}"
        told = _count(self.found, "photograph")
        if self.faults:
            of = "" if self.looked_at == self.found else f" of {self.looked_at} looked at"
            told += f"; {len(self.faults)}{of} cannot be used and will be left out"
        else:
            all_sound = self.looked_at == self.found
            told += ", all usable" if all_sound else f"; {self.looked_at} looked at, all usable"
        if self.found - len(self.faults) < FEW:
            told += (
                ". That is few: the style will fit these pictures better than others; "
                "some hundreds of different ones are better"
            )
        return told


def scan_dataset(folder: Path, wanted: Callable[[], bool] = lambda: True) -> DatasetScan:
    """Look through `folder` and its subfolders, for as long as that is `wanted`."""

    def go_on(_done: int, _total: int) -> None:
        if not wanted():
            raise _AbandonedError

    try:
        paths = find_photographs(folder)
        go_on(0, 0)
        seen = load_photographs(paths, SIDE, LOOKED_AT, progress=go_on)
    except _AbandonedError:
        return DatasetScan(problem="not looked through")
    except (TrainingError, OSError) as exc:
        return DatasetScan(problem=str(exc))
    return DatasetScan(len(paths), len(seen) + len(seen.skipped), seen.skipped)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
