"""Measures the network on a GPU through WebGPU: times by timestamps, whole frames, and errors.

`python -m benchmarks.webgpu --json FILE` measures the first hardware GPU. `--device llvmpipe`
names a software GPU. The package needs neither the program nor a window.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.storing import store
from kernels.network.graph_plan import group_of
from kernels.network.webgpu import kept_tiles
from kernels.network.webgpu.device import Device, open_device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.plan import WebGpuPlan, unsupported
from kernels.network.webgpu.tuning import Trial, Tuner
from kernels.network.webgpu.weights import Weights
from kernels.self_test.network import reference
from models.checkpoints import load_checkpoint
from models.network_config import network_config
from utils.provenance import commit_of, machine_info

STYLES = Path(__file__).resolve().parents[1] / "assets" / "styles"
SIZES = "512x512,640x480,1280x720"
PRECISIONS = {"fp32": False, "fp16": True}
WARMUP = 10  # frames, until the clocks are up

Picture = NDArray[np.uint8]  # [H, W, 3]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a line for each network, precision and size, and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="an index, or a part of a GPU's name")
    parser.add_argument("--sizes", default=SIZES, metavar="WxH,...")
    parser.add_argument("--style", default="candy")
    parser.add_argument("--networks", nargs="+", default=["weights", "lite"], metavar="FILE")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=[*PRECISIONS])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--direct", action="store_true", help="also without Winograd's transforms")
    parser.add_argument("--checked", action="store_true", help="with wgpu's checks of indexes")
    parser.add_argument("--tune", action="store_true", help="find the fastest tiles first")
    parser.add_argument(
        "--kept",
        type=Path,
        metavar="FOLDER",
        help="use its tiles, or keep tuned ones there",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args(arguments)
    choice = int(args.device) if args.device and args.device.isdigit() else args.device
    device = open_device(choice, trusted=not args.checked)
    report: dict[str, Any] = {
        **origin(device),
        "style": args.style,
        "runs": args.runs,
        "checked": args.checked,
        "weights": {
            f"{args.style}/{file}.safetensors": digest_of(
                STYLES / args.style / f"{file}.safetensors"
            )
            for file in args.networks
        },
        "webgpu": [],
    }
    sizes = [tuple(map(int, size.split("x"))) for size in args.sizes.split(",")]
    ways = (True, False) if args.direct else (True,)
    for file in args.networks:
        state = load_checkpoint(STYLES / args.style / f"{file}.safetensors")
        for wide, high in sizes:
            picture = scene(wide, high)
            exact = in_float64(state, picture)
            for precision in args.precisions:
                for winograd in ways:
                    half = PRECISIONS[precision]
                    network = Network.of(network_config(state), half=half, winograd=winograd)
                    network, tuning = with_tiles(device, network, state, (wide, high), args)
                    row = {
                        "network": file,
                        "size": f"{wide}x{high}",
                        "precision": precision,
                        "winograd": winograd,
                        "sums": network.sums,
                        "tiles": asdict(network.tiles),
                        "tuning": tuning,
                        **measured(device, network, state, picture, exact, args.runs),
                    }
                    report["webgpu"].append(row)
                    sys.stdout.write(in_a_line(row) + "\n")
                    sys.stdout.flush()
                    if args.json is not None:
                        store(args.json, report)
    return 0


def measured(
    device: Device,
    network: Network,
    state: dict[str, torch.Tensor],
    picture: Picture,
    exact: NDArray[np.float64],
    runs: int,
) -> dict[str, Any]:
    """Measure one network at one size.

    Returns:
        Times in ms as the least and the median of `runs`: "gpu" of all layers, "groups" and
        "layers" by name, "wall" from bytes to bytes, one picture after another, and "in flight" the
        wall time of each picture with two in flight. "psnr" is in dB against rounded float64,
        "worst" the largest difference in levels, "compiling" in s.
    """
    size = picture.shape[1], picture.shape[0]
    if why := unsupported(network, size, device):
        return {"unsupported": why}
    started = time.perf_counter()
    plan, weights = WebGpuPlan(device, network, size), Weights(device, network, state)
    found = plan(weights, picture[None])[0]
    compiling = time.perf_counter() - started
    row: dict[str, Any] = {"compiling": compiling, **errors(found, exact)}
    for _ in range(WARMUP):
        plan(weights, picture[None])
    if device.adapter.timed:
        parts: dict[str, Callable[[str], str]] = {
            "gpu": lambda _: "all", "groups": group_of, "layers": str,
        }  # fmt: skip
        for name, key in parts.items():
            times = [plan.times(weights, key) for _ in range(runs)]
            row[name] = {part: spread(each[part] for each in times) for part in times[0]}
    walls: list[float] = []
    for _ in range(runs):
        started = time.perf_counter()
        plan(weights, picture[None])
        walls.append(1e3 * (time.perf_counter() - started))
    started = time.perf_counter()
    before = plan.start(weights, picture)
    for _ in range(runs - 1):
        after = plan.start(weights, picture)
        before.wait()
        before = after
    before.wait()
    row["in flight"] = round(1e3 * (time.perf_counter() - started) / runs, 4)
    return {**row, "wall": spread(walls)}


def tuned(
    device: Device, network: Network, state: dict[str, torch.Tensor], size: tuple[int, int]
) -> tuple[Network, dict[str, list[dict[str, Any]]]]:
    """Tune all tiles and sums, and write a dot for each percent to stderr.

    Returns:
        The best network, and by field of Tiles, the tiles that were tried: their "ms", and the
        "best" tile's ms of the same minute, or why a tile was "refused". "sums" are in FP16.
    """
    tuner = Tuner(device, network, state, size)
    percent = 0
    for share in tuner.steps():
        dots = int(100 * share) - percent
        sys.stderr.write("." * dots)
        sys.stderr.flush()
        percent += dots
    sys.stderr.write("\n")
    rows = {field: [in_a_row(trial) for trial in trials] for field, trials in tuner.trials.items()}
    return tuner.network, rows


def in_a_row(trial: Trial) -> dict[str, Any]:
    row: dict[str, Any] = {"tile": asdict(trial.tile)}
    if trial.refused:
        return {**row, "refused": trial.refused}
    return {**row, "ms": round(trial.milliseconds, 4), "best": round(trial.best, 4)}


def with_tiles(
    device: Device,
    network: Network,
    state: dict[str, torch.Tensor],
    size: tuple[int, int],
    args: argparse.Namespace,
) -> tuple[Network, dict[str, Any]]:
    """Return the network with tuned or kept tiles and sums, as the options say, and the trials."""
    if unsupported(network, size, device):
        return network, {}
    folder: Path | None = args.kept
    if args.tune:
        network, trials = tuned(device, network, state, size)
        if folder is not None:
            kept_tiles.write(folder, device.adapter, network)
        return network, trials
    if folder is not None:
        kept = kept_tiles.read(folder, device.adapter, network)
        if kept.reason:
            sys.stderr.write(f"{kept.reason}\n")
        return kept.network or network, {}
    return network, {}


def errors(found: Picture, exact: NDArray[np.float64]) -> dict[str, float]:
    apart = np.abs(found - exact.clip(0, 255).round())
    return {
        "psnr": float(20 * np.log10(255) - 10 * np.log10(max(np.square(apart).mean(), 1e-12))),
        "worst": float(apart.max()),
    }


def spread(values: Iterable[float]) -> dict[str, float]:
    listed = sorted(values)
    return {"least": round(listed[0], 4), "median": round(median(listed), 4)}


def in_float64(state: dict[str, torch.Tensor], picture: Picture) -> NDArray[np.float64]:
    """Paint in float64, on a CUDA GPU if there is one; return [H, W, 3]."""
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    weights = {name: weight.double().to(where) for name, weight in state.items()}
    x = torch.from_numpy(picture).permute(2, 0, 1)[None].to(where)
    with torch.inference_mode():
        painted = reference(weights, network_config(state).num_residual_blocks, x)
    return painted[0].permute(1, 2, 0).cpu().numpy()


def scene(wide: int, high: int) -> Picture:
    """Return waves with noise and a dark field."""
    y, x = np.mgrid[0:high, 0:wide]
    colors = [
        127 + 90 * np.sin(x / (9 + 5 * c) + y / 23 + c) + 30 * np.cos(y / (5 + c)) for c in range(3)
    ]
    picture = np.stack(colors, -1) + np.random.default_rng(0).normal(0, 12, (high, wide, 3))
    picture[high // 4 : high // 2, wide // 4 : wide // 2] *= 0.3
    return picture.clip(0, 255).astype(np.uint8)


def in_a_line(row: dict[str, Any]) -> str:
    """Return a row as a line: the GPU's median in all and by group, the wall's, and the error."""
    name = f"{row['network']:8} {row['precision']} {row['size']:9}"
    name += " F(4x4)" if row["winograd"] else " direct"
    if "unsupported" in row:
        return f"{name} {row['unsupported']}"
    parts = row.get("groups", {})
    gpu = [f"GPU {row['gpu']['all']['median']:.3f} ms"] if parts else []
    gpu += [f"{part} {times['median']:.3f}" for part, times in parts.items()]
    wall, ahead, psnr = row["wall"]["median"], row["in flight"], row["psnr"]
    return (
        f"{name} {', '.join(gpu)}; wall {wall:.2f} ms, in flight {ahead:.2f} ms; "
        f"{psnr:.1f} dB, at most {row['worst']:.0f}"
    )


def origin(device: Device) -> dict[str, Any]:
    """Return the first entries of the report: date, machine, GPU, versions and commit."""
    adapter = device.adapter
    names = ("name", "backend", "driver", "half", "timed", "binding_bytes")
    machine = machine_info(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    return {
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": {**machine, "gpu": f"{adapter.name} by {adapter.backend}"},
        "adapter": {name: getattr(adapter, name) for name in names},
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "wgpu": version("wgpu"),
        },
        "commit": commit_of(Path(__file__)),
    }


def digest_of(path: Path) -> str:
    """Return the sha256 of a weights file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
