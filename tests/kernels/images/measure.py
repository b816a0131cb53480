"""Benchmark of a frame's norms: this machine's image against the library compiled here.

    python -m tests.kernels.images.measure [--threads 1] [--image FILE]

Prints, for each size, the milliseconds of all norms in a frame of the full network in FP32, in wall
and CPU time. The libraries alternate layer by layer, so that other load affects both.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from kernels.jit import prebuilt, toolchain
from kernels.jit.libraries import LIBRARIES
from kernels.jit.openmp import use_openmp
from kernels.ops.style.normalization import on_cpu as cpu_norm
from kernels.table.launcher import CpuLauncher
from models.inference import cpu
from models.transformer_net import TransformerNetFused

LIBRARY = LIBRARIES["instance_norm"]
SIZES = ((640, 480), (1280, 720))
ROUNDS = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--image", type=Path, help="instead of the one for this machine")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        compiled = Path(folder) / "compiled.so"
        (source,) = LIBRARY.sources
        compiler = toolchain.toolchain().compiler
        subprocess.run(toolchain.cpu_command(compiler, str(source), str(compiled)), check=True)
        both = [
            _launcher(compiled),
            _launcher(given.image or prebuilt.IMAGES / prebuilt.find(LIBRARY).name),
        ]
        for width, height in SIZES:
            calls = _norms_of_a_frame(width, height)
            _compare(f"{width}x{height}, {len(calls)} norms", both, calls, given.rounds)


def _compare(
    title: str, launchers: list[CpuLauncher], calls: list[tuple[Any, ...]], rounds: int
) -> None:
    wall: list[list[float]] = [[] for _ in launchers]
    busy: list[list[float]] = [[] for _ in launchers]
    least = [[float("inf")] * len(calls) for _ in launchers]
    for round_ in range(rounds + 1):
        totals = [[0.0, 0.0] for _ in launchers]
        for at, call in enumerate(calls):
            turns = list(enumerate(launchers))
            for which, launcher in turns if round_ % 2 else reversed(turns):
                began = time.perf_counter(), time.process_time()
                cpu_norm.norm(launcher, *call)
                spent = time.perf_counter() - began[0], time.process_time() - began[1]
                totals[which][0] += spent[0]
                totals[which][1] += spent[1]
                least[which][at] = min(least[which][at], spent[1])
        if round_:  # the first touches the memory
            for which, (clock, processor) in enumerate(totals):
                wall[which].append(clock)
                busy[which].append(processor)
    for name, found in (("clock", wall), ("processor", busy)):
        lows = [min(each) * 1e3 for each in found]
        middles = [statistics.median(each) * 1e3 for each in found]
        pairs = statistics.median(own / their for their, own in zip(*found, strict=True))
        _tell(
            f"{title}, {name}: compiled least {lows[0]:.2f} ms, median {middles[0]:.2f}; image "
            f"{lows[1]:.2f}, {middles[1]:.2f} ({lows[1] / lows[0] - 1:+.1%}, "
            f"{middles[1] / middles[0] - 1:+.1%}, in pairs {pairs - 1:+.1%})"
        )
    theirs, ours = (sum(each) * 1e3 for each in least)
    _tell(f"{title}, least of each norm: {theirs:.2f} ms, {ours:.2f} ({ours / theirs - 1:+.1%})")


def _norms_of_a_frame(width: int, height: int) -> list[tuple[Any, ...]]:
    """Return the arguments of the network's norm calls, each with its own buffers."""
    calls: list[tuple[Any, ...]] = []
    original = cpu.fused_instance_norm_out

    def noted(x: torch.Tensor, *rest: Any) -> None:
        original(x, *rest)
        *others, out = rest
        residual = others[2]
        if residual is not None:  # the interior of a padded tensor
            wide = torch.empty_strided(
                (*residual.shape[:2], residual.shape[2] + 2, residual.shape[3] + 2),
                residual.stride(),
            )
            wide.normal_()
            others[2] = wide[..., 1:-1, 1:-1]
        calls.append((x.clone(), *others, torch.empty_like(out)))

    cpu.fused_instance_norm_out = noted
    try:
        network = TransformerNetFused().eval()
        network(torch.rand(1, 3, height, width))
    finally:
        cpu.fused_instance_norm_out = original
    return calls


def _launcher(path: Path) -> CpuLauncher:
    library = ctypes.CDLL(str(path))
    use_openmp(library)
    return CpuLauncher(library)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
