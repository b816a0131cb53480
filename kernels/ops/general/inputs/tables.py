"""The gradient of an embedding table: sums by token, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.fusion.arguments import takes_vectors
from kernels.ops.general.inputs import MOST
from kernels.table.calls import TYPES
from kernels.table.launcher import CpuLauncher, CudaLauncher

# per block: threads, and the most and fewest rows to sum
_THREADS, _MOST_RUN, _LEAST_RUN = 256, 64, 8
_BLOCKS = 8  # per multiprocessor
# As in sorting.cuh, per block: tokens to sort, tokens to merge, and bytes to set to zero. Each
# token is searched in every tile, so PyTorch's sort is faster for more tiles than the last number.
_TILE, _MERGED, _ZEROED, _MOST_TILES = 256, 32, 4 * 16 * _THREADS, 128


def check(grad: Tensor, tokens: Tensor, entries: int) -> None:
    if tokens.dtype != torch.int64 or tokens.device != grad.device:
        raise ValueError(
            f"embedding_backward: tokens is {tokens.dtype} on {tokens.device}; expected int64 on "
            f"{grad.device}, where grad is"
        )
    if not grad.is_floating_point() or grad.dim() < 1 or grad.shape[:-1] != tokens.shape:
        raise ValueError(
            f"embedding_backward: grad is {grad.dtype} {list(grad.shape)}; expected floating "
            f"{list(tokens.shape)} with a last dimension"
        )
    if entries < 1:
        raise ValueError(f"embedding_backward: entries is {entries}; expected at least 1")


def reference(tokens: Tensor, grad: Tensor, entries: int, left_out: int) -> Tensor:
    """Compute `embedding_backward`: PyTorch sorts the tokens, which fixes the order of sums."""
    check(grad, tokens, entries)
    # PyTorch's second derivative looks up every token, even one that is not in the table.
    counts = (tokens >= 0) & (tokens < entries) & (tokens != left_out)
    grad = torch.where(counts[..., None], grad, 0)
    tokens = torch.where(counts, tokens, 0)
    aten: Any = torch.ops.aten
    return aten.embedding_dense_backward(grad, tokens, entries, -1, False)


def launch_cpu(
    launch: CpuLauncher, tokens: Tensor, grad: Tensor, entries: int, left_out: int
) -> Tensor:
    """Run `embedding_backward` in the C++ kernel; FP64 runs in PyTorch."""
    if grad.dtype not in TYPES:
        return reference(tokens, grad, entries, left_out)
    check(grad, tokens, entries)
    width = grad.shape[-1]
    out = grad.new_empty((entries, width))
    given = tokens.contiguous(), grad.contiguous(), out
    numbers = TYPES[grad.dtype], tokens.numel(), width, entries, left_out
    launch("styleforge_table_gradient", *given, *numbers)
    return out


def launch_cuda(
    launch: CudaLauncher, tokens: Tensor, grad: Tensor, entries: int, left_out: int = -1
) -> Tensor:
    """Run `embedding_backward` in the CUDA kernels; FP64 and larger tensors run in PyTorch."""
    if grad.dtype not in TYPES or max(grad.numel(), entries) > MOST:
        return reference(tokens, grad, entries, left_out)
    check(grad, tokens, entries)
    width, count = grad.shape[-1], tokens.numel()
    if not grad.numel():
        return grad.new_zeros((entries, width))
    grad, tokens = grad.contiguous(), tokens.contiguous()
    out = grad.new_empty((entries, width))
    order = _sorted(launch, tokens, out)
    vector = takes_vectors(width, grad, out)
    columns = -(-width // (_THREADS * (16 // grad.element_size() if vector else 1)))
    wanted = count * columns // (_BLOCKS * launch.gpu.multiprocessors)
    run = max(_LEAST_RUN, min(_MOST_RUN, wanted))
    blocks = -(-count // run)
    parts = grad.new_empty((blocks, 2, width), dtype=torch.float32)
    numbers = TYPES[grad.dtype], count, width, entries, left_out, run, vector
    grid = blocks, columns, 1
    launch("styleforge_table_gradient", grid, _THREADS, grad, order, out, parts, *numbers)
    launch("styleforge_table_gradient_joined", grid, _THREADS, order, out, parts, *numbers)
    return out


def _sorted(launch: CudaLauncher, tokens: Tensor, out: Tensor) -> Tensor:
    """Return the sorted tokens and their positions, int32 [2, tokens]; set `out` to zero.

    The order is stable. A token that is not in the table stays outside of it in 32 bits.
    """
    count, entries, tiles = tokens.numel(), out.shape[0], -(-tokens.numel() // _TILE)
    if tiles > _MOST_TILES:
        out.zero_()
        keys, order = torch.sort(tokens.flatten().clamp(-1, entries).int(), stable=True)
        return torch.stack((keys, order.int()))
    of_tiles = tokens.new_empty((2, tiles * _TILE), dtype=torch.int32)
    found = tokens.new_empty((2, count), dtype=torch.int32)
    size = out.numel() * out.element_size()
    blocks = tiles + -(-size // _ZEROED)
    launch("styleforge_sort_tiles", blocks, _TILE, tokens, of_tiles, out, count, entries, size)
    launch("styleforge_merge_tiles", -(-count // _MERGED), _THREADS, of_tiles, found, count)
    return found


def refuses(**arguments: Any) -> str:
    dtype = arguments["grad"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}; PyTorch's runs"


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield rows of one block and of several, full vectors or not, and one that is left out."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape, width, entries in (((3, 5), 8, 7), ((200,), 5, 3), ((7, 40), 24, 90)):
            tokens = torch.randint(entries, shape, generator=generator)
            grad = torch.randn((*shape, width), generator=generator).to(dtype)
            yield tokens, grad, entries, -1
            yield tokens, grad, entries, 2
