"""Profile the fused network, see docs/how-to/profiling.md: python -m examples.profile_network."""

from __future__ import annotations

import argparse

import torch

from models.transformer_net import TransformerNetFused
from utils.profiling import profiled, summary


def main() -> None:
    """Print where the time of one frame of random pixels goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--size", type=int, default=512, help="side of the picture, in pixels")
    parser.add_argument("--trace", help="write the timeline to this file (JSON)")
    args = parser.parse_args()

    dtype = torch.float16 if args.device.startswith("cuda") else torch.float32
    model = TransformerNetFused().to(args.device, dtype).eval()
    picture = torch.rand(1, 3, args.size, args.size, device=args.device, dtype=dtype) * 255
    with torch.no_grad():
        for _ in range(3):  # loads the kernels and allocates the buffers
            model(picture)
        with profiled(args.trace) as profiler:
            model(picture)
    print(summary(profiler))


if __name__ == "__main__":
    main()
