"""Processes that tests start: one member of a team under torchrun, and one to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from models.training.features import load_vgg
from models.training.vit.distributed import team
from models.training.vit.trainer import train_vit
from tests.models.training.vit.conftest import CPU, longer, tiny_run


def member(vgg: Path, folder: Path) -> None:
    """Train 4 steps and write the final state of this process."""
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


def victim(vgg: Path, folder: Path) -> None:
    """Train with a checkpoint after every step, and print a line after each."""
    run = tiny_run(load_vgg(vgg), longer(1000))
    for losses in train_vit(run, folder / "run.pt", checkpoint_interval=1):
        sys.stdout.write(f"{losses.iteration}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"member": member, "victim": victim}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
