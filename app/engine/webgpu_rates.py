"""Measures whether a GPU that WebGPU reaches is faster than the CPU, and keeps the answer.

An answer is valid for the GPU, its driver and the version of StyleForge that measured it.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import platformdirs
import torch

from app.settings import APP_NAME
from app.version import styleforge_version
from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.library import WebGpuError
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from models.network_config import FULL
from models.precision import Precision
from models.webgpu.network import WebGpuNetwork
from models.webgpu_devices import adapter_of, first_hardware, found, webgpu_device
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.translation.texts import tr

MAX_BYTES = 1 << 16  # size limit of the file
WARMUP, RUNS = 2, 5  # pictures
SIZE = 384, 288  # width and height of the pictures


@dataclass(frozen=True, slots=True)
class KeptRate:
    """The times of the full network on a GPU and on the CPU, in ms per picture of SIZE.

    Attributes:
        driver: The driver's name and version, as the adapter reports them.
        styleforge: The version that measured.
    """

    gpu: str
    backend: str
    driver: str
    styleforge: str
    gpu_ms: float
    cpu_ms: float

    @property
    def gain(self) -> float:
        """How many times as fast the GPU is."""
        return self.cpu_ms / self.gpu_ms

    def fits(self, adapter: Adapter) -> bool:
        """Return whether this version measured this GPU with its driver of now."""
        there = adapter.name, adapter.backend, adapter.driver, styleforge_version()
        return (self.gpu, self.backend, self.driver, self.styleforge) == there


_lock = threading.Lock()
# The GPU that "auto" takes, or why it takes none; empty until the file was read.
_decided: list[tuple[torch.device | None, str]] = []


def rates_path() -> Path:
    """Return the path of this user's file; its folder may not exist yet."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "webgpu.json"


def load_kept(path: Path) -> list[KeptRate]:
    """Read the rates in a file; a missing or damaged file has none, so that they are measured."""
    try:
        rows = small_json.loads_parts(read_regular(path, MAX_BYTES))["rates"]
        return [_rate(row) for row in rows]
    except (OSError, ValueError, TypeError, LookupError):
        return []


def kept_choice() -> torch.device | None:
    """Return the GPU that was measured to be faster than the CPU, or None. Reads the file once."""
    return _decision()[0]


def why_not() -> str:
    """Return why "auto" takes no GPU of WebGPU, as a clause; "" if it does, or before `unmeasured`.

    The GPUs are listed once there is something measured, or by `unmeasured`.
    """
    return _decision()[1]


def is_kept(device: torch.device) -> bool:
    """Return whether the rate of a GPU is kept.

    Raises:
        WebGpuError: If there is no such GPU.
    """
    adapter = adapter_of(device)
    return any(rate.fits(adapter) for rate in load_kept(rates_path()))


def unmeasured() -> torch.device | None:
    """Return the first hardware GPU if its rate is not kept, else None. Lists the GPUs."""
    try:
        device = webgpu_device(first_hardware())
    except WebGpuError as error:
        with _lock:
            _decided[:] = [(None, str(error))]
        return None
    return None if is_kept(device) else device


class Measurement:
    """Times pictures of noise on a GPU and on the CPU by turns, one with each `step`."""

    def __init__(self, device: torch.device) -> None:
        """Open the GPU and compile the shaders, which takes up to some seconds.

        Raises:
            WebGpuError: If the GPU cannot be opened, or refuses a shader.
        """
        self._adapter = adapter_of(device)
        precision = Precision.fp16 if self._adapter.half else Precision.fp32
        self._sample = FAMILIES[FEED_FORWARD].sample()
        self._on_gpu = WebGpuNetwork(FULL, device, precision)
        self._on_gpu.load_state_dict(self._sample.state_dict())
        self._on_gpu.prepare(SIZE)
        width, height = SIZE
        noise = np.random.default_rng(0)
        self._picture = noise.integers(0, 256, (height, width, 3), np.uint8)
        self._ms: tuple[list[float], list[float]] = [], []

    def step(self) -> KeptRate | None:
        """Paint one picture; return the result, which is then kept, after the last one.

        Raises:
            WebGpuError: If the GPU fails.
            OSError: If the file cannot be written.
        """
        gpu, cpu = self._ms
        mine, paint = (gpu, self._by_gpu) if len(gpu) == len(cpu) else (cpu, self._by_cpu)
        start = time.perf_counter()
        paint()
        mine.append(1e3 * (time.perf_counter() - start))
        if len(cpu) < WARMUP + RUNS:
            return None
        there = self._adapter.name, self._adapter.backend, self._adapter.driver
        rate = KeptRate(*there, styleforge_version(), *map(_median_ms, self._ms))
        _keep(rate, self._adapter)
        return rate

    def _by_gpu(self) -> None:
        self._on_gpu.start(self._picture).result()

    def _by_cpu(self) -> None:
        with torch.inference_mode():
            self._sample(torch.as_tensor(self._picture).permute(2, 0, 1)[None].float())


def measure(device: torch.device) -> KeptRate:
    """Measure a GPU at once; raise as Measurement does."""
    measurement = Measurement(device)
    while (rate := measurement.step()) is None:
        pass
    return rate


def _median_ms(spent: list[float]) -> float:
    return round(median(spent[WARMUP:]), 3)


def _keep(rate: KeptRate, adapter: Adapter) -> None:
    others = [each for each in load_kept(rates_path()) if not each.fits(adapter)]
    rows = [asdict(each) for each in (*others, rate)]
    atomic_write(rates_path(), (json.dumps({"rates": rows}, indent=2) + "\n").encode())
    with _lock:
        _decided.clear()


def _decision() -> tuple[torch.device | None, str]:
    with _lock:
        if not _decided:
            _decided.append(_decide(load_kept(rates_path())))
        return _decided[0]


def _decide(rates: list[KeptRate]) -> tuple[torch.device | None, str]:
    why = ""
    if not rates:  # spares the search for GPUs
        return None, why
    try:
        for index, adapter in enumerate(found()):
            rate = next((rate for rate in rates if rate.fits(adapter)), None)
            if adapter.software or rate is None:
                continue
            if rate.gain > 1:
                return webgpu_device(index), ""
            why = tr("{gpu} was measured to be slower than the processor", gpu=adapter.name)
    except WebGpuError as error:  # the package was removed since
        return None, str(error)
    return None, why


def _rate(row: Any) -> KeptRate:
    rate = KeptRate(**row)
    texts, times = asdict(rate), (rate.gpu_ms, rate.cpu_ms)
    if not all(isinstance(ms, float) and 0 < ms < float("inf") for ms in times):
        raise ValueError("a time is out of range")
    if not all(isinstance(text, str) for name, text in texts.items() if not name.endswith("_ms")):
        raise TypeError("a name is no text")
    return rate
