"""The communication of the processes of one training run; a single process needs none."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import get_node_local_rank


@dataclass(frozen=True, slots=True)
class Team:
    """Processes that train one network together, each on its own batch; `rank` counts from 0."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    def average_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Average gradients over the processes in one transfer; all must have the same ones."""
        if self.size == 1:
            return
        gradients = [weight.grad for weight in parameters if weight.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        _sum(flat)
        flat /= self.size
        first = 0
        for gradient in gradients:
            part = flat[first : first + gradient.numel()]
            gradient.copy_(part.view_as(gradient))
            first += gradient.numel()

    def average(self, values: Tensor) -> Tensor:
        if self.size == 1:
            return values
        total = values.clone()
        _sum(total)
        return total / self.size

    def agree(self, elapsed: float, stop: bool) -> tuple[float, bool]:
        """Return the first process's seconds, as clocks differ, and whether any should stop."""
        if self.size == 1:
            return elapsed, stop
        told = [elapsed if self.leads else 0.0, float(stop)]
        both = torch.tensor(told, dtype=torch.float64, device=self.device)
        _sum(both)
        return float(both[0]), float(both[1]) > 0

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()  # pyright: ignore[reportUnknownMemberType]


@contextmanager
def team(device: torch.device) -> Generator[Team]:
    """Join the processes that torchrun started, or form a team of one.

    The CPU uses gloo; CUDA uses NCCL, with the GPU of each process's local rank.
    """
    if not dist.is_torchelastic_launched():
        yield Team(0, 1, device)
        return
    if device.type == "cuda":
        device = torch.device("cuda", get_node_local_rank())
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
    else:
        dist.init_process_group("gloo")
    try:
        yield Team(dist.get_rank(), dist.get_world_size(), device)
    finally:
        dist.destroy_process_group()


def _sum(values: Tensor) -> None:
    # PyTorch: annotated in part.
    dist.all_reduce(values)  # pyright: ignore[reportUnknownMemberType]
