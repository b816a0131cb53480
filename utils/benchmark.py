"""Times calls in milliseconds, by the CPU's clock or by CUDA events."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch
from torch import nn

from utils.cuda_streams import waiting_refused

HEAD_START_CYCLES = 200_000  # of busy GPU before the call: 0.1 ms at 2 GHz


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Statistics of the durations of a series of calls, in milliseconds.

    It is also a mapping: `dict(result)` has every figure, including `fps`. `std_ms` is the standard
    deviation, `iterations` the number of calls, and `p20_ms` and the like are percentiles.
    """

    mean_ms: float
    median_ms: float
    p20_ms: float
    p80_ms: float
    p95_ms: float
    min_ms: float
    std_ms: float
    iterations: int

    @classmethod
    def of(cls, times_ms: Sequence[float]) -> Benchmark:
        """Summarize the durations of at least one call.

        Raises:
            ValueError: If the list is empty.
        """
        times = np.asarray(times_ms, dtype=np.float64)
        if times.size == 0:
            raise ValueError("a benchmark needs at least one timed call")
        p20, median, p80, p95 = np.percentile(times, (20, 50, 80, 95)).tolist()
        return cls(
            float(times.mean()),
            median,
            p20,
            p80,
            p95,
            float(times.min()),
            float(times.std()),
            times.size,
        )

    @property
    def fps(self) -> float:
        """Calls per second, by the mean."""
        return 1000.0 / self.mean_ms if self.mean_ms else 0.0

    def keys(self) -> Iterator[str]:
        """Yield the names of the figures, for `dict(benchmark)`."""
        yield from asdict(self)
        yield "fps"

    def __getitem__(self, name: str) -> float:
        if name not in self.keys():
            raise KeyError(f"a benchmark has no '{name}'; it has {', '.join(self.keys())}")
        return getattr(self, name)


def benchmark_model(
    model: nn.Module,
    input_size: Sequence[int] = (1, 3, 512, 512),
    num_warmup: int = 10,
    num_iterations: int = 50,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Benchmark:
    """Time a model, neither moved nor converted, in inference mode on random input in 0-255.

    The device and the dtype of the input default to its first parameter's.

    Raises:
        ValueError: If a size or a count is not a positive integer.
    """
    if len(input_size) == 0 or any(not _is_count(n) or n < 1 for n in input_size):
        raise ValueError(f"input_size must be positive whole numbers, not {tuple(input_size)}")
    first = next(model.parameters(), None)
    if device is None:
        device = first.device if first is not None else "cpu"
    if dtype is None:
        dtype = first.dtype if first is not None else torch.float32
    device = torch.device(device)
    x = torch.rand(tuple(input_size), generator=torch.Generator().manual_seed(0)) * 255
    x = x.to(device, dtype)

    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            results = interleave(
                {"model": lambda: model(x)}, num_warmup, num_iterations, device=device
            )
    finally:
        model.train(training)
    return results["model"]


def interleave(
    calls: Mapping[str, Callable[[], object]],
    warmup: int,
    runs: int,
    device: torch.device | str = "cpu",
    round_done: Callable[[int], None] | None = None,
    pause_s: float = 0.0,
) -> dict[str, Benchmark]:
    """Time several candidates alternately, so that disturbances of the machine affect all alike.

    Each round has a random order, the same in every process. A candidate runs with the caches as
    the one before it left them, and no candidate always follows the same one. `round_done` receives
    the number of rounds done, including the warm-up. Each call waits `pause_s` seconds first.

    Raises:
        ValueError: If there are no candidates, or a count is out of range.
    """
    if not calls:
        raise ValueError("a benchmark needs at least one candidate")
    if not _is_count(warmup) or warmup < 0:
        raise ValueError(f"the number of warm-up runs must be 0 or more, not {warmup!r}")
    if not _is_count(runs) or runs < 1:
        raise ValueError(f"the number of timed runs must be at least 1, not {runs!r}")
    device = torch.device(device)
    names = list(calls)
    times: dict[str, list[float]] = {name: [] for name in names}
    orders = random.Random(0)
    for n in range(warmup + runs):
        for name in orders.sample(names, len(names)):
            time.sleep(pause_s)
            elapsed = stopwatch(calls[name], device)
            if n >= warmup:
                times[name].append(elapsed)
        if round_done:
            round_done(n + 1)
    return {name: Benchmark.of(series) for name, series in times.items()}


def stopwatch(call: Callable[[], object], device: torch.device) -> float:
    """Return the milliseconds until the work of one call is done, even if the call returns earlier.

    On the CPU the time begins with the call, on a GPU when it starts the work.
    """
    if device.type != "cuda":
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3
    with torch.cuda.device(device):
        torch.cuda.synchronize()
        # As in a stream of frames, the GPU is busy when the call is submitted, so that the latency
        # of the first launch is not measured.
        torch.cuda._sleep(HEAD_START_CYCLES)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def in_graph(
    call: Callable[[], object], repeats: int = 1, stream: torch.cuda.Stream | None = None
) -> Callable[[], None]:
    """Return the replay of a CUDA graph with `repeats` calls on the current device.

    The graph holds the addresses of what the call reads, and the replay holds the call.

    Args:
        stream: Where to capture, other than the default stream; by default a new one. Gradients
            are computed where their forward pass ran.

    Raises:
        RuntimeError: If the call waits for the GPU, or cannot be captured for another reason.
    """
    stream = stream or torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):  # neither autotuning nor allocation works while capturing
            call()
        with waiting_refused():
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(repeats):
            call()
    return partial(_replay, graph, call)


def _replay(graph: torch.cuda.CUDAGraph, _call: object) -> None:
    graph.replay()


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
