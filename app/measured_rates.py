"""Network times measured on this machine's GPUs, stored in the user's folder.

A time is valid only for the GPU, the driver and the version of StyleForge that it was measured
with. `styleforge bench` and `styleforge doctor --measure` store times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import torch

from app.settings import APP_NAME
from app.version import styleforge_version
from kernels.driver.version import driver_version
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular

if TYPE_CHECKING:
    from kernels.network.webgpu.adapters import Adapter

MAX_BYTES = 1 << 20  # size limit of the file; a row takes 200 bytes
SIZES = ((512, 512), (1280, 720), (1920, 1080))  # widths and heights that `doctor` reports


@dataclass(frozen=True, slots=True)
class Machine:
    """The conditions of a measured time; `driver` is its version, empty if unreported."""

    gpu: str
    driver: str
    styleforge: str

    @classmethod
    def of(cls, device: torch.device) -> Machine:
        return cls(torch.cuda.get_device_name(device), driver_version(), styleforge_version())

    @classmethod
    def of_adapter(cls, adapter: Adapter) -> Machine:
        """Return the machine of a GPU by WebGPU; its name tells it from the same GPU by CUDA."""
        name = f"{adapter.name} by {adapter.backend}"
        return cls(name, adapter.driver, styleforge_version())


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A measured time of a network in FP16, or FP32 on a GPU without FP16, for one picture.

    Attributes:
        network: Its name in CONFIGS.
        width: Width of the picture in pixels; `height` likewise.
        ms: The median, in milliseconds.
        taken: The date, such as "2026-11-22".
    """

    machine: Machine
    network: str
    width: int
    height: int
    ms: float
    taken: str

    @property
    def fps(self) -> float:
        return 1e3 / self.ms


class RatesError(ValueError):
    """Raised for a file that cannot be read completely; `found` has the readable rows."""

    def __init__(self, message: str, found: Sequence[MeasuredRate] = ()) -> None:
        super().__init__(message)
        self.found = list(found)


def rates_path() -> Path:
    """Return the path of this user's file; its folder may not exist yet."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "measured.json"


def load_rates(path: Path) -> list[MeasuredRate]:
    """Read the times in `path`; return [] if that file does not exist.

    Raises:
        RatesError: If the file is unreadable or damaged. The message names the file.
    """
    try:
        rows = small_json.loads_parts(read_regular(path, MAX_BYTES))["rates"]
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise RatesError(f"the measured times in {path} are unreadable: {exc.strerror}") from exc
    except (ValueError, TypeError, LookupError) as exc:
        raise RatesError(f"the measured times in {path} are damaged") from exc
    if not isinstance(rows, list):
        raise RatesError(f"the measured times in {path} are damaged")
    read = [_rate_or_none(row) for row in rows]
    found = [rate for rate in read if rate is not None]
    if len(found) < len(rows):
        raise RatesError(f"the measured times in {path} are damaged", found)
    return found


def store_rates(
    path: Path, machine: Machine, network: str, ms_by_size: dict[tuple[int, int], float]
) -> None:
    """Store times measured now, replacing earlier ones of the same machine, network and size.

    If the file is damaged, its readable rows stay; a missing folder is made.

    Args:
        network: Its name in CONFIGS.
        ms_by_size: Milliseconds by width and height.

    Raises:
        OSError: If the file cannot be written; it is left unchanged.
    """
    taken = datetime.now(UTC).date().isoformat()
    new = [MeasuredRate(machine, network, *size, ms, taken) for size, ms in ms_by_size.items()]
    try:
        before = load_rates(path)
    except RatesError as exc:
        before = exc.found
    replaced = {_key(rate) for rate in new}
    kept = [rate for rate in before if _key(rate) not in replaced]
    rows = [asdict(rate) for rate in (*kept, *new)]
    atomic_write(path, (json.dumps({"rates": rows}, indent=2) + "\n").encode())


def find_rate(
    rates: Iterable[MeasuredRate], machine: Machine, network: str, size: tuple[int, int]
) -> MeasuredRate | None:
    return next((rate for rate in rates if _key(rate) == (machine, network, *size)), None)


def _key(rate: MeasuredRate) -> tuple[Machine, str, int, int]:
    return rate.machine, rate.network, rate.width, rate.height


def _rate_or_none(row: Any) -> MeasuredRate | None:
    try:
        return _rate(row)
    except (ValueError, TypeError, LookupError):
        return None


def _rate(row: dict[str, object]) -> MeasuredRate:
    machine = row["machine"]
    if not isinstance(machine, dict):
        raise TypeError("no machine")
    rate = MeasuredRate(**{**row, "machine": Machine(**machine)})  # type: ignore[arg-type]
    texts = (*asdict(rate.machine).values(), rate.network, rate.taken)
    if not (
        all(isinstance(text, str) for text in texts)
        and type(rate.width) is type(rate.height) is int
        and isinstance(rate.ms, float)
        and 0 < rate.ms < float("inf")
    ):
        raise ValueError("a value has another type")
    return rate
