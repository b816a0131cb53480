"""The attention operations for any model.

PyTorch runs matrix products and attention without a score matrix, or our kernels where they
measured faster. The surrounding work is one pass over memory. FP16 and BF16 are computed in FP32
and rounded once. Results are contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.general.attention import composed, gathered, rope, scores, sparse
from kernels.ops.general.attention.timed import TIMED
from kernels.ops.general.elementwise import samples as elements
from kernels.ops.general.elementwise.declaration import elementwise
from kernels.table.autograd import Grad, Kept
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = [
    "apply_rope",
    "attention_dropout",
    "attention_score",
    "attention_score_backward",
    "block_sparse_attention",
    "block_sparse_forward",
    "flash_attention",
    "gather_blocks",
    "multihead_attention",
    "rope_attention",
    "sum_blocks",
]

ON_CPU = "PyTorch's attention"


def _scores_backward(kept: Kept, grad: Tensor) -> Sequence[Grad]:
    return scores.gradients(kept, attention_score_backward(grad, kept.tensors[-1]))


def _heads(seed: int, *shape: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    return q, k, v


def _samples_flash() -> Iterator[tuple[Any, ...]]:
    q, k, v = _heads(0, 1, 2, 4, 8)
    yield q, k, v, None, None, True
    yield q, k, v, 0.5, torch.ones(4, 4, dtype=torch.bool).tril(1), False


def _samples_multihead() -> Iterator[tuple[Any, ...]]:
    yield *_heads(1, 1, 4, 8), 2, None, None, False
    yield *_heads(1, 2, 5, 8), 4, None, None, True


def _samples_sparse() -> Iterator[tuple[Any, ...]]:
    blocks = torch.tensor([[True, False, False], [True, False, True], [False, False, False]])
    yield *_heads(2, 1, 2, 6, 8), blocks, None, 2
    yield *_heads(3, 2, 2, 6, 8), blocks.expand(2, 1, 3, 3), 0.5, None


def _samples_rope() -> Iterator[tuple[Any, ...]]:
    angles = torch.linspace(0, 3, 16).view(4, 4)
    yield *_heads(4, 1, 2, 4, 8), angles.cos(), angles.sin(), False, None, None, True


@Operation(
    reference=scores.reference,
    samples=scores.samples,
    cpu=Cpu(scores.CPU, scores.launch_cpu),
    cuda=Cuda(scores.CUDA, scores.launch_cuda),
    gradient=Gradient(scores.save, _scores_backward),
    refuses=scores.refuses,
    tolerance_scale=4,
    timed=TIMED["attention_score"],
    aliases=("fused_attention_score",),
)
def attention_score(
    q: Tensor, k: Tensor, scale: float | None = None, mask: Tensor | None = None
) -> Tensor:
    """Compute the attention weights softmax(q k^T scale + mask) in the memory of the product.

    A query whose keys are all hidden gets zeros and no gradient. Returns [..., Lq, Lk] of q's
    dtype; rows sum to 1.

    Args:
        q: [..., Lq, D] of FP16, BF16, FP32 or FP64.
        k: [..., Lk, D] of the same dtype and leading dimensions.
        scale: Scale of the scores. Defaults to D**-0.5.
        mask: Broadcasts to [..., Lq, Lk]: bool, true where a query sees a key, or numbers of q's
            dtype to add to the scores; or None.
    """
    ...


@Operation(
    reference=scores.backward_reference,
    samples=scores.samples_of_backward,
    cpu=Cpu(scores.CPU, scores.backward_on_cpu),
    cuda=Cuda(scores.CUDA, scores.backward_on_cuda),
    refuses=scores.refuses,
    tolerance_scale=4,
)
def attention_score_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Compute weights * (grad - sum(grad * weights)), the gradient of the scores before softmax.

    Returns a contiguous tensor of the same shape.

    Args:
        grad: The gradient of the weights, of their shape and dtype.
        weights: [..., Lk], as `attention_score` returned them.
    """
    ...


@elementwise(samples=elements.with_dropout)
def attention_dropout(
    scores: Tensor, p: float = 0.5, training: bool = True, state: Tensor | None = None
) -> Tensor:
    """Compute dropout(scores), where `attention_score` returned the scores.

    Returns a contiguous tensor of the same shape.

    Args:
        scores: Any shape and strides; FP16, BF16, FP32 or FP64.
        p: The probability that a weight becomes 0, from 0 to 1, in steps of 1 / 65536; the others
            are multiplied by 1 / (1 - p).
        state: int64 [2] on the device of the scores, a seed and an offset: the same state drops the
            same weights. Drawn from PyTorch's generator if None.
    """
    ...


@Operation(
    reference=composed.flash_reference,
    samples=_samples_flash,
    cpu=Cpu(named=ON_CPU),
    composed=composed.flash,
    timed=TIMED["flash_attention"],
)
def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute softmax(q k^T scale + mask) v without a score matrix (Dao et al., 2022).

    Runs `fused_attention` where it measured faster: without gradients and masks, in FP16 and BF16,
    on a GPU of compute capability 9.0. Otherwise it runs
    `torch.nn.functional.scaled_dot_product_attention`. The one that runs decides the result of a
    query whose keys are all hidden. Returns [N, H, Lq, Dv].

    Args:
        q: [N, H, Lq, D] of any floating dtype; k is [N, H, Lk, D] and v [N, H, Lk, Dv].
        scale: Scale of the scores. Defaults to D**-0.5.
        mask: As in `attention_score`.
        causal: Whether query i sees only keys 0 to i. Excludes `mask`.
    """
    ...


@Operation(
    reference=composed.multihead_reference,
    samples=_samples_multihead,
    cpu=Cpu(named=ON_CPU),
    composed=composed.multihead,
    timed=TIMED["multihead_attention"],
    aliases=("fused_multihead_attention",),
)
def multihead_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute `flash_attention` of heads stored side by side, without copies to split them.

    Returns [N, Lq, Ev].

    Args:
        q: [N, Lq, E] of any floating dtype; k is [N, Lk, E] and v [N, Lk, Ev].
        num_heads: A divisor of E and of Ev.
        scale: Scale of the scores. Defaults to (E / num_heads)**-0.5.
        mask: Broadcasts to [N, num_heads, Lq, Lk], as in `attention_score`.
        causal: Whether query i sees only keys 0 to i. Excludes `mask`.
    """
    ...


@Operation(
    reference=composed.block_sparse_reference,
    samples=_samples_sparse,
    cpu=Cpu(named=ON_CPU),
    composed=composed.block_sparse,
    complete=composed.count_blocks,
    timed=TIMED["block_sparse_attention"],
)
def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
    most_blocks: int | None = None,
) -> Tensor:
    """Compute attention in which query blocks see only some key blocks (Child et al., 2019).

    For each block of queries, the operation gathers the blocks it sees, up to the number in the
    mask's fullest row. Time and memory scale with that number. A query that sees no key gets zeros.
    Returns [N, H, Lq, Dv].

    Args:
        q: [N, H, Lq, D] of any floating dtype; k is [N, H, Lk, D] and v [N, H, Lk, Dv].
        block_mask: bool [rows, columns] or [N, H, rows, columns] (or 1 for N and H), true for a
            visible block. Rows must divide Lq, and columns Lk; the quotients are the block sizes.
        scale: Scale of the scores. Defaults to D**-0.5.
        most_blocks: The most blocks that a row sees. A smaller number drops the last blocks of a
            row. If None, they are counted: the first call with a mask, and the first after a write
            to it, waits for the GPU.
    """
    ...


@Operation(
    reference=rope.reference,
    samples=rope.samples,
    cpu=Cpu(scores.CPU, rope.launch_cpu),
    cuda=Cuda(scores.CUDA, rope.launch_cuda),
    gradient=Gradient(rope.save, rope.gradients),
    refuses=rope.refuses,
    timed=TIMED["apply_rope"],
)
def apply_rope(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, back: bool = False
) -> Tensor:
    """Apply rotary position embedding (Su et al., 2021): rotate pairs of numbers by their angles.

    Returns a contiguous tensor of x's shape and dtype.

    Args:
        x: Queries or keys, [N, H, L, D] or [N, L, D], of any strides; FP16, BF16, FP32 or FP64.
        cos: [L, D / 2], or [N, L, D / 2] for per-sample positions, of any floating dtype, like
            `sin`.
        interleaved: Whether elements 2i and 2i + 1 form a pair, instead of i and i + D / 2.
        back: Whether to rotate back.
    """
    ...


@Operation(
    reference=composed.with_rope_reference,
    samples=_samples_rope,
    cpu=Cpu(named=ON_CPU),
    composed=composed.with_rope,
    timed=TIMED["rope_attention"],
)
def rope_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute `flash_attention` of queries and keys rotated by `apply_rope`.

    Returns [N, H, L, Dv].

    Args:
        q: [N, H, L, D] of any floating dtype, like k; v is [N, H, L, Dv].
        cos: As in `apply_rope`, like `sin` and `interleaved`.
        scale: Scale of the scores. Defaults to D**-0.5.
        mask: As in `attention_score`.
        causal: Whether query i sees only keys 0 to i. Excludes `mask`.
    """
    ...


@Operation(
    reference=sparse.with_whole_mask,
    samples=sparse.samples,
    cpu=Cpu(named=ON_CPU),
    cuda=Cuda(scores.CUDA, sparse.launch, dtypes=sparse.DTYPES),
    gradient=Gradient(recorded=composed.sparse_with_gradient),
    tolerance_scale=4,
    timed=TIMED["block_sparse_forward"],
)
def block_sparse_forward(
    q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, scale: float | None = None
) -> Tensor:
    """Compute `block_sparse_attention` in one kernel.

    `block_sparse_attention` uses this kernel in 16 bits without gradients. With gradients, it
    gathers the blocks on a GPU. Returns [N, H, Lq, D], contiguous, with zeros for a row that sees
    no key.

    Args:
        q: [N, H, Lq, D] of FP16 or BF16, with D 64 or 128; k and v are [N, H, Lk, D].
        block_mask: bool [rows, columns] or [N, H, rows, columns]. On a GPU a block has a multiple
            of 16 queries and of 32 keys.
        scale: Scale of the scores. Defaults to D**-0.5.
    """
    ...


@Operation(
    reference=gathered.reference,
    samples=gathered.samples,
    cpu=Cpu(scores.CPU, gathered.gather_on_cpu),
    cuda=Cuda(scores.CUDA, gathered.launch_gather),
    gradient=Gradient(gathered.save, gathered.gradients),
    refuses=gathered.refuses,
    timed=TIMED["gather_blocks"],
)
def gather_blocks(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    """Return x[places]; its gradient is `sum_blocks`, a sum in FP32 and in a fixed order.

    The result is [places, ...], contiguous.

    Args:
        x: [blocks, ...] of FP16, BF16, FP32 or FP64.
        places: int64 [places], the block at each place.
        order: int64 [places], the indices of the places, grouped by block and ascending in each
            group.
        begins: int64 [blocks + 1], where each block's group begins in `order`, and the end of the
            last.
    """
    ...


@Operation(
    reference=gathered.sum_reference,
    samples=gathered.samples_of_sum,
    cpu=Cpu(scores.CPU, gathered.sum_on_cpu),
    cuda=Cuda(scores.CUDA, gathered.launch_sum),
    gradient=Gradient(gathered.save, gathered.gradients_of_sum),
    refuses=gathered.refuses,
    timed=TIMED["sum_blocks"],
)
def sum_blocks(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    """Sum each block over its places, in FP32 and in a fixed order.

    Returns [blocks, ...], contiguous, with zeros for a block without places.

    Args:
        x: [places, ...] of FP16, BF16, FP32 or FP64.
        places: As in `gather_blocks`, like `order` and `begins`.
    """
    ...
