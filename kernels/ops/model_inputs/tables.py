"""The gradient of a table of embeddings: sums by token, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernels.ops.cuda.calls import TYPES
from kernels.ops.fusions.arguments import takes_vectors
from kernels.ops.launcher import CpuLauncher, CudaLauncher
from kernels.ops.model_inputs import MOST

_THREADS, _MOST_RUN, _LEAST_RUN = 256, 64, 8  # of a block: threads, and rows that it sums
_BLOCKS = 8  # for each multiprocessor
# As sorting.cuh has them: tokens that a block sorts, tokens that a block merges, and bytes that it
# sets to zero. Each token is looked for in every tile, so that of more PyTorch's sort is faster.
_TILE, _MERGED, _ZEROED, _MOST_TILES = 256, 32, 4 * 16 * _THREADS, 128


def check(grad: Tensor, tokens: Tensor, entries: int) -> None:
    """Check the arguments.

    Raises:
        ValueError: One of them does not fit.
    """
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


def reference(tokens: Tensor, grad: Tensor, entries: int, left_out: int = -1) -> Tensor:
    """`embedding_backward`: PyTorch sorts the tokens, so that each row is summed in one order."""
    check(grad, tokens, entries)
    # PyTorch's second derivative looks every token up, also one that is not in the table.
    counts = (tokens >= 0) & (tokens < entries) & (tokens != left_out)
    grad = torch.where(counts[..., None], grad, 0)
    tokens = torch.where(counts, tokens, 0)
    aten: Any = torch.ops.aten
    return aten.embedding_dense_backward(grad, tokens, entries, -1, False)


def launch_cpu(
    launch: CpuLauncher, tokens: Tensor, grad: Tensor, entries: int, left_out: int = -1
) -> Tensor:
    """`embedding_backward` by the C++ kernel; FP64 by PyTorch."""
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
    """`embedding_backward` by the CUDA kernels; FP64 and what is too large by PyTorch."""
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
    """The tokens in a stable order, and where each lay: int32 [2, tokens]; sets `out` to zero.

    What is not in the table stays outside of it where numbers have 32 bits.
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
    """Why no kernel can run with these arguments; empty if one can."""
    dtype = arguments["grad"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}: PyTorch's runs there"


def samples() -> Iterator[tuple[Any, ...]]:
    """Rows of one block and of several, rows that fill vectors or not, one that is left out."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape, width, entries in (((3, 5), 8, 7), ((200,), 5, 3), ((7, 40), 24, 90)):
            tokens = torch.randint(entries, shape, generator=generator)
            grad = torch.randn((*shape, width), generator=generator).to(dtype)
            yield tokens, grad, entries, -1
            yield tokens, grad, entries, 2
