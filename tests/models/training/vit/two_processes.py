"""One of the processes of test_two_processes_hold_the_same_weights, started by torchrun."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from models.training.features import load_vgg
from models.training.vit.distributed import team
from models.training.vit.trainer import train_vit
from tests.models.training.vit.conftest import CPU, longer, tiny_run


def main(vgg: Path, folder: Path) -> None:
    """Train 4 steps and write what this process holds then."""
    torch.set_num_threads(1)
    with team(CPU) as members:
        run = tiny_run(load_vgg(vgg), longer(4, lr=0.01), members)
        losses = [each.loss for each in train_vit(run, folder / "run.pt")]
        held = {
            "rank": members.rank,
            "losses": losses,
            "batch": run._sampler(0).content,
            "weights": run.network.state_dict(),
        }
        torch.save(held, folder / f"rank{members.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
