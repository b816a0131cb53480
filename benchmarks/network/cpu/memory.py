"""Peak memory of a network on a processor, each measured in a process of its own.

    python -m benchmarks.network.cpu.memory VARIANT WEIGHTS 640x480

prints the MB by which two pictures raise the process's resident memory at most.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import psutil
import torch

from benchmarks.network.cpu.variants import VARIANTS
from kernels.table.registry import STYLE, prepare
from models.checkpoints import load_checkpoint
from models.network_config import network_config

ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where `-m` finds this package


def peak_mb(variant: str, weights: Path, width: int, height: int) -> float:
    """Measure in a child process.

    Raises:
        RuntimeError: If the child fails; the message is its last line.
    """
    size = f"{width}x{height}"
    command = [sys.executable, "-m", __name__, variant, str(weights.resolve()), size]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
    return float(done.stdout)


def main(variant: str, weights: str, size: str) -> None:
    torch.set_grad_enabled(False)
    prepare(family=STYLE)
    state = load_checkpoint(Path(weights))
    network = VARIANTS[variant](**asdict(network_config(state)))
    network.load_state_dict(state)
    network.eval()
    width, height = map(int, size.split("x"))
    picture = torch.rand(1, 3, height, width).mul_(255)
    picture = picture.contiguous(memory_format=network.memory_format)
    before = psutil.Process().memory_info().rss
    _forget_peak()
    for _ in range(2):
        network(picture)
    sys.stdout.write(f"{(_peak() - before) / 1e6}\n")


def _forget_peak() -> None:
    """Begin a new peak where the system allows it; else the peak includes the process's start."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the process's peak of resident bytes."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    if sys.platform == "linux":  # getrusage would include the process that started this one
        status = Path("/proc/self/status").read_text("ascii")
        return 1024 * int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(*sys.argv[1:])
