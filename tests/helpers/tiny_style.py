"""A style of a small network with random weights, which paints in milliseconds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import torch

from models.checkpoints import save_checkpoint
from models.network_config import NetworkConfig
from models.transformer_net import TransformerNetBaseline

TINY = NetworkConfig(1, (8, 8, 8), 3)


def write_tiny_weights(path: Path) -> None:
    """Write the weights, the same at each call."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        network = TransformerNetBaseline(**asdict(TINY))
    path.parent.mkdir(parents=True, exist_ok=True)
    save_checkpoint(path, network.state_dict(), {})
