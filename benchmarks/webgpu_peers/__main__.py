"""`python -m benchmarks.webgpu_peers DIR`: writes the models of the runtimes. It needs no GPU."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.webgpu_peers.models import STYLES, Models
from models.runtimes.runtime import RuntimeFault


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the models of a style's networks, and print their sizes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webgpu_peers", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--style", default="candy")
    parser.add_argument("--networks", nargs="+", default=["weights", "lite"], metavar="FILE")
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    for file in args.networks:
        models = Models(STYLES / args.style / f"{file}.safetensors", args.folder)
        try:
            paths = [*models.ncnn(), models.onnx(half=False)]
            paths += [models.onnx(half=True, half_norms=each) for each in (False, True)]
        except RuntimeFault as fault:
            sys.stderr.write(f"{fault}\n")
            return 1
        for path in paths:
            sys.stdout.write(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
