"""A scan of a folder of photographs: how many it has, and how many can be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.training.request import OWN_RESULTS
from models.training.data import find_photographs, load_photographs
from models.training.errors import TrainingError
from utils.translation.texts import tr

MAX_DECODED = 200  # photographs to decode, sampled from a larger folder
SIDE = 48  # pixels; enough to detect a single-color picture


class _AbandonedError(Exception):
    """Raised when the result of this scan is no longer needed."""


@dataclass(frozen=True, slots=True)
class DatasetScan:
    """The result of a scan: numbers of pictures `found` in the folder and `decoded`.

    Attributes:
        faults: one sentence for each decoded picture that cannot be used.
        problem: why there is nothing to train on; empty if the folder is usable.
    """

    found: int = 0
    decoded: int = 0
    faults: tuple[str, ...] = ()
    problem: str = ""

    @property
    def usable(self) -> bool:
        return not self.problem


def scan_dataset(folder: Path, wanted: Callable[[], bool] = lambda: True) -> DatasetScan:
    """Scan `folder` with its subfolders; the scan stops early once `wanted()` is False."""

    def check_wanted(_done: int, _total: int) -> None:
        if not wanted():
            raise _AbandonedError

    try:
        paths = find_photographs(folder, skip_folder=OWN_RESULTS)
        check_wanted(0, 0)
        seen = load_photographs(paths, SIDE, MAX_DECODED, progress=check_wanted)
    except _AbandonedError:
        return DatasetScan(problem=tr("not scanned"))
    except (TrainingError, OSError) as exc:
        return DatasetScan(problem=str(exc))
    return DatasetScan(len(paths), len(seen) + len(seen.skipped), seen.skipped)
