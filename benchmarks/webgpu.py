"""Measures the network on a GPU through WebGPU: times by timestamps, whole frames, and errors.

It also measures how long the GPU takes to move a painting of a fluid stream.

`python -m benchmarks.webgpu --json FILE` measures the first hardware GPU. `--device llvmpipe`
names a software GPU. Other runtimes on the same GPU are measured alternately with ours, see
benchmarks/webgpu_peers. The package needs neither the program nor a window.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.storing import store
from benchmarks.tables.webgpu import way_of
from benchmarks.webgpu_moves import move_line, move_rows
from benchmarks.webgpu_peers.measure import peer_rows, spread, versions
from benchmarks.webgpu_peers.models import STYLES, Models
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

SIZES = "512x512,640x480,1280x720"
PEER_PIXELS = 1280 * 720  # ours alone paints larger pictures
PRECISIONS = {"fp32": False, "fp16": True}
WARMUP = 10  # frames, until the clocks are up
IN_FLIGHT = 2  # pictures that a plan works on at once

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
    parser.add_argument(
        "--enlarge", action="store_true", help="also with the other way of enlarging layers"
    )
    parser.add_argument("--checked", action="store_true", help="with wgpu's checks of indexes")
    parser.add_argument("--tune", action="store_true", help="find the fastest tiles first")
    parser.add_argument(
        "--kept",
        type=Path,
        metavar="FOLDER",
        help="use its tiles, or keep tuned ones there",
    )
    parser.add_argument("--alone", action="store_true", help="without other runtimes")
    parser.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="the other runtimes' models, by `python -m benchmarks.webgpu_peers DIR`; those "
        "missing are converted (default: all, in a temporary folder)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args(arguments)
    choice = int(args.device) if args.device and args.device.isdigit() else args.device
    with closing(open_device(choice, trusted=not args.checked)) as device:
        measure(device, args)
    return 0


def measure(device: Device, args: argparse.Namespace) -> None:
    """Measure everything that the command line asks for; print and store each row at once."""
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
        "peers": [],
        "moves": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        models = args.models or Path(folder)
        models.mkdir(parents=True, exist_ok=True)
        for section, row in rows_of(device, args, models):
            report[section].append(row)
            lines = {"webgpu": in_a_line, "peers": peer_line, "moves": move_line}
            sys.stdout.write(lines[section](row) + "\n")
            sys.stdout.flush()
            if args.json is not None:
                store(args.json, report)


def rows_of(
    device: Device, args: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure each network, size, precision and way, then moves; yield a section and its row."""
    sizes = [tuple(map(int, size.split("x"))) for size in args.sizes.split(",")]
    ways = ["default", *(["enlarge"] if args.enlarge else []), *(["direct"] if args.direct else [])]
    for file, (wide, high) in product(args.networks, sizes):
        path = STYLES / args.style / f"{file}.safetensors"
        state, picture = load_checkpoint(path), scene(wide, high)
        exact = in_float64(state, picture)
        for precision, way in product(args.precisions, ways):
            network = Network.of(
                network_config(state), half=PRECISIONS[precision], winograd=way != "direct"
            )
            if way == "enlarge":
                network = replace(network, enlarging_winograd=not network.enlarging_winograd)
            network, tuning = with_tiles(device, network, state, (wide, high), args)
            case = {"network": file, "size": f"{wide}x{high}", "precision": precision}
            row = {
                **case,
                "default": way == "default",
                "winograd": network.winograd,
                "enlarging_winograd": network.enlarging_winograd,
                "sums": network.sums,
                "tiles": asdict(network.tiles),
                "tuning": tuning,
                **measured(device, network, state, picture, exact, args.runs),
            }
            yield "webgpu", row
            if row["default"] and not args.alone and "unsupported" not in row:
                models = Models(path, folder)
                for each in beside(device, network, state, models, picture, exact, args.runs):
                    yield "peers", {**case, **each}
    for row in move_rows(device, scene, args.runs):
        yield "moves", row


def beside(
    device: Device,
    network: Network,
    state: dict[str, torch.Tensor],
    models: Models,
    picture: Picture,
    exact: NDArray[np.float64],
    runs: int,
) -> list[dict[str, Any]]:
    """Measure ours and the other runtimes alternately; return the rows of `peer_rows`.

    Pictures of more than PEER_PIXELS have no rows.
    """
    high, wide = picture.shape[:2]
    if wide * high > PEER_PIXELS:
        return []
    plan, weights = WebGpuPlan(device, network, (wide, high)), Weights(device, network, state)
    return peer_rows(
        lambda given: plan(weights, given[None])[0],
        models,
        picture,
        lambda made: errors(made, exact),
        half=network.half,
        gpu=device.adapter.name,
        warmup=min(WARMUP, runs),
        runs=runs,
    )


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
    return {**row, "wall": spread(walls), **streamed(plan, weights, picture, runs)}


def streamed(plan: WebGpuPlan, weights: Weights, picture: Picture, frames: int) -> dict[str, float]:
    """Paint frames with IN_FLIGHT of them started; return "in flight", the ms for a frame.

    Upload, computation and download of neighbors overlap.
    """
    started, waiting = time.perf_counter(), deque[Any]()
    for _ in range(frames):
        if len(waiting) == IN_FLIGHT:
            waiting.popleft().result()
        waiting.append(plan.start(weights, picture))
    for each in waiting:
        each.result()
    return {"in flight": round(1e3 * (time.perf_counter() - started) / frames, 4)}


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
    name += f" {way_of(row)}"
    if "unsupported" in row:
        return f"{name} {row['unsupported']}"
    parts = row.get("groups", {})
    gpu = [f"GPU {row['gpu']['all']['median']:.3f} ms"] if parts else []
    gpu += [f"{part} {times['median']:.3f}" for part, times in parts.items()]
    wall, psnr = row["wall"]["median"], row["psnr"]
    stream = f", in a stream {row['in flight']:.2f}" if "in flight" in row else ""
    return (
        f"{name} {', '.join(gpu)}; wall {wall:.2f} ms{stream}; {psnr:.1f} dB, "
        f"at most {row['worst']:.0f}"
    )


def peer_line(row: dict[str, Any]) -> str:
    """Return a row of another runtime as a line: the wall's median and the error, or a reason."""
    name = f"  {row['way']}, {row['network']} {row['precision']} {row['size']}"
    if "not_run" in row:
        return f"{name}: {row['not_run']}"
    wall, psnr = row["wall"]["median"], row["psnr"]
    inside = f" (inside {row['inside']['median']:.2f})" if "inside" in row else ""
    return f"{name}: wall {wall:.2f} ms{inside}; {psnr:.1f} dB, at most {row['worst']:.0f}"


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
            **versions(),
        },
        "commit": commit_of(Path(__file__)),
    }


def digest_of(path: Path) -> str:
    """Return the sha256 of a weights file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
