"""Fills the table of the layers' checksums from a whole file of torchvision's VGG-19."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from models.safe_load import UnsafeFileError, is_dict, is_weight, load_tensors
from models.training.download.published import TABLE, TORCHVISION_PREFIX
from models.training.download.vgg_part import layer_bytes
from models.training.vgg_layers import layer_shapes
from utils.files.atomic import atomic_write


def hashes_of(whole: Path, sha256_prefix: str) -> dict[str, str]:
    """Compute the SHA-256 of each layer in use.

    Args:
        sha256_prefix: The first hexadecimal digits of its published SHA-256.

    Raises:
        ValueError: If it is another file.
        OSError: If it cannot be read.
    """
    with whole.open("rb") as file:
        if not hashlib.file_digest(file, "sha256").hexdigest().startswith(sha256_prefix):
            raise ValueError(f"the SHA-256 of '{whole}' does not begin with {sha256_prefix}")
        file.seek(0)
        state = load_tensors(file)
    hashes: dict[str, str] = {}
    for key, shape in layer_shapes().items():
        layer = state.get(key) if is_dict(state) else None
        if not is_weight(layer) or tuple(layer.shape) != shape:
            raise ValueError(f"'{whole}' is not VGG-19: {key} is missing or of another shape")
        hashes[key] = hashlib.sha256(layer_bytes(layer)).hexdigest()
    return hashes


def main(arguments: list[str]) -> int:
    """Write the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.vgg_hashes", description=__doc__)
    parser.add_argument("whole", type=Path, metavar="FILE", help="vgg19-dcbb9e9d.pth, whole")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table to write")
    args = parser.parse_args(arguments)
    try:
        hashes = hashes_of(args.whole, TORCHVISION_PREFIX)
        atomic_write(args.table, (json.dumps(hashes, indent=1) + "\n").encode())
    except (OSError, ValueError, UnsafeFileError) as exc:
        sys.stderr.write(f"vgg_hashes: {exc}\n")
        return 1
    sys.stdout.write(f"{len(hashes)} checksums written to {args.table}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
