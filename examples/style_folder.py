"""Style every picture of a folder: python -m examples.style_folder candy.pth photos styled."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from models.transformer_net import TransformerNetFused
from utils.image_utils import load_image, save_image
from utils.images.opening import kind_of


def main(weights: str, source: str, target: str) -> None:
    """Style the pictures in the folder `source` into the folder `target`, as JPEG."""
    model = TransformerNetFused().load_checkpoint(weights).eval()
    Path(target).mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(source).iterdir()):
        if kind_of(path):
            with torch.no_grad():  # one network reuses its buffers from picture to picture
                styled = model(load_image(path))
            save_image(styled, Path(target) / f"{path.stem}.jpg")
            print(path.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
