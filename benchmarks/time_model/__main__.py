"""`python -m benchmarks.time_model`: see docs/reference/cards.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from app.provenance import report_header
from benchmarks.storing import store
from benchmarks.time_model import describe, files, page, webgpu
from benchmarks.time_model.green_context import GreenContextError
from benchmarks.time_model.measure import MeasuringError, Wanted, measure
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table.registry import NETWORK
from kernels.time_model.prediction import Calibration, calibration
from models.network_config import CONFIGS, NetworkConfig
from tools.prebuild import cuda

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cards.md"


def main() -> None:
    """Run the command named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.time_model", description="The model of time per card."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    described = commands.add_parser(
        "describe", help="store the description of the kernels; needs no GPU"
    )
    described.add_argument("--tools", type=Path, default=cuda.TOOLS, help=f"default: {cuda.TOOLS}")
    taken = commands.add_parser("measure", help="measure on this GPU and write the report")
    taken.add_argument("--json", type=Path, default=files.REPORT, help=f"default: {files.REPORT}")
    taken.add_argument(
        "--multiprocessors",
        type=_numbers,
        default=(64, 28),
        metavar="N,...",
        help="numbers of multiprocessors, in addition to all (default: 64,28)",
    )
    fitted = commands.add_parser("fit", help="fit the constants to a stored report")
    fitted.add_argument("--json", type=Path, default=files.REPORT, help=f"default: {files.REPORT}")
    of_webgpu = commands.add_parser("fit-webgpu", help="fit WebGPU's constants to a stored report")
    of_webgpu.add_argument(
        "--json", type=Path, default=webgpu.REPORT, help=f"default: {webgpu.REPORT}"
    )
    commands.add_parser("page", help="write the tables of docs/reference/cards.md")
    args = parser.parse_args()
    try:
        _run(args)
    except (OSError, ValueError, BuildError, MeasuringError, GreenContextError) as error:
        sys.exit(str(error))


def _run(args: argparse.Namespace) -> None:
    if args.command == "describe":
        files.write_described(describe.described(args.tools))
    elif args.command == "measure":
        _measure(args)
    elif args.command == "fit":
        _tell_constants(files.refit(args.json))
    elif args.command == "fit-webgpu":
        _tell(str(webgpu.refit(args.json).constants))
    else:
        page.write(PAGE, calibration())


def _measure(args: argparse.Namespace) -> None:
    if not torch.cuda.is_available():
        raise MeasuringError("measuring the networks needs a GPU, and this machine has none")
    device = torch.device("cuda", torch.cuda.current_device())
    if not build.load(NETWORK):
        raise MeasuringError(f"the native network does not run here: {build.reason(NETWORK)}")
    weights = {name: _random_weights(config) for name, config in CONFIGS.items()}
    rows = measure(weights, device, Wanted(args.multiprocessors), calibration(), _tell)
    store(args.json, {**report_header(device), "model": rows})
    _tell(f"stored in {args.json}")


def _random_weights(config: NetworkConfig) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator) / max(1, shape[-1] * len(shape))
        for name, shape in config.state_shapes().items()
    }


def _tell_constants(told: Calibration) -> None:
    for backend, constants in told.constants.items():
        _tell(f"{backend}: {constants}")


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers such as 96,64")
    return tuple(int(part) for part in parts)


if __name__ == "__main__":
    main()
