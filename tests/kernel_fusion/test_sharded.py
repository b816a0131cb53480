"""Optimizers and clipping with parameters sharded over two processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp
from torch import Tensor, nn

import kernel_fusion as kf

PROCESSES = 2


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 1, bias=False))


def trained(optimizer: Any, clip: Any, rank: int, **options: Any) -> list[Tensor]:
    """Return the parameters after three steps on `fully_shard`, and the norms of those steps."""
    from torch.distributed.fsdp import fully_shard

    model = small_model()
    fully_shard(model)
    steps, norms = optimizer(model.parameters(), lr=0.1, **options), list[Tensor]()
    generator = torch.Generator().manual_seed(rank)
    for _ in range(3):
        steps.zero_grad()
        model(torch.randn(4, 5, generator=generator)).square().sum().backward()
        norm = clip(model.parameters(), 0.5)
        norms.append(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        steps.step()
    kept = [each for state in steps.state.values() for each in state.values() if each.dim()]
    whole: list[Any] = [*model.parameters(), *kept]
    return [*norms, *(x.full_tensor() for x in whole)]


def check_partial_gradients(mesh: Any) -> None:
    """Check that a gradient stored as partial sums is summed for the step and for the norm."""
    from torch.distributed.tensor import DTensor, Partial, Shard, distribute_tensor

    x: Any = nn.Parameter(distribute_tensor(torch.zeros(6), mesh, [Shard(0)]))
    x.grad = DTensor.from_local(torch.arange(6.0), mesh, [Partial()])
    whole = PROCESSES * torch.arange(6.0)
    torch.testing.assert_close(kf.optim.clip_grad_norm([x], 1e9), whole.norm())
    kf.optim.FusedSGD([x], lr=1.0).step()
    torch.testing.assert_close(x.full_tensor().detach(), -whole)


def check_norms(mesh: Any) -> None:
    """Check that every process has the norm of all shards and of unsharded tensors."""
    from torch.distributed.tensor import Shard, distribute_tensor

    grads = torch.arange(-3.0, 4.0), torch.tensor([5.0])
    x, y = nn.Parameter(distribute_tensor(grads[0], mesh, [Shard(0)])), nn.Parameter(grads[1])
    for kind in (1.0, 2.0, 3.0, torch.inf):
        x.grad, y.grad = distribute_tensor(grads[0], mesh, [Shard(0)]), grads[1].clone()
        right = torch.linalg.vector_norm(torch.cat(grads), kind)
        torch.testing.assert_close(kf.optim.clip_grad_norm([x, y], 1.0, kind), right)
        torch.testing.assert_close(x.grad.full_tensor(), grads[0] / (right + 1e-6))
    with pytest.raises(ValueError, match=r"norm_type is 0\.0; expected a number above 0 for sh"):
        kf.optim.clip_grad_norm([x], 1.0, 0.0)


def check_in_process(rank: int, folder: str) -> None:
    dist: Any = torch.distributed
    from torch.distributed.device_mesh import init_device_mesh

    store = dist.FileStore(str(Path(folder, "store")), PROCESSES)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=PROCESSES)
    torch.set_num_threads(1)
    theirs: Any = nn.utils.clip_grad_norm_
    for ours, eager, options in (
        (kf.optim.FusedAdamW, torch.optim.AdamW, {}),
        (kf.optim.FusedSGD, torch.optim.SGD, {"momentum": 0.9, "dampening": 0.5}),
    ):
        found = trained(ours, kf.optim.clip_grad_norm, rank, **options)
        right = trained(eager, theirs, rank, **options)
        torch.testing.assert_close(found, right, atol=1e-5, rtol=1e-5)
    mesh = init_device_mesh("cpu", (PROCESSES,))
    check_partial_gradients(mesh)
    check_norms(mesh)
    dist.destroy_process_group()


@pytest.mark.full
@pytest.mark.slow
def test_steps_and_norms_of_sharded_parameters_are_pytorchs(tmp_path):
    kf.prepare(["adam_step"])
    spawn: Any = mp.spawn  # pyright: ignore[reportPrivateImportUsage]
    spawn(check_in_process, (str(tmp_path),), PROCESSES)
