"""Time the network's variants on this machine: python -m examples.compare_variants [size]."""

from __future__ import annotations

import sys

import torch

from models.transformer_net import VARIANTS
from utils.benchmark import benchmark_model


def main(size: str = "512") -> None:
    """Print the time of each variant for a picture of `size` x `size` pixels."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (1, 3, int(size), int(size))
    times = {}
    for key, variant in VARIANTS.items():
        model = variant().to(device).eval()
        times[key] = benchmark_model(model, shape, num_warmup=2, num_iterations=10).median_ms
        gain = times["baseline"] / times[key]
        print(f"{variant.title:12} {times[key]:8.1f} ms {gain:5.2f}x")


if __name__ == "__main__":
    main(*sys.argv[1:])
