"""Style one picture: python -m examples.style_picture candy.pth input.jpg output.jpg."""

from __future__ import annotations

import sys

import torch

from models.transformer_net import TransformerNetFused
from utils.image_utils import load_image, save_image


def main(weights: str, source: str, target: str) -> None:
    """Style `source` with a checkpoint of the published network and write `target`."""
    model = TransformerNetFused(num_residual_blocks=5)
    model.load_checkpoint(weights)
    model.eval()
    with torch.no_grad():
        styled = model(load_image(source))  # [1, 3, H, W] float32, RGB 0-255
    save_image(styled, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
