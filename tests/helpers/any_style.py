"""A file with a tiny any-style network of random weights."""

from __future__ import annotations

from pathlib import Path

import torch

from models.vit_checkpoints import save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer

TINY = VitConfig(32, 2, 48, 3, 2, 16, (8, 12, 16))


def save_tiny(path: Path, seed: int = 1) -> Path:
    """Write a network with random weights from `seed` and return the path."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = StyleForgeTransformer(TINY)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_vit(path, TINY, network.state_dict())
    return path
