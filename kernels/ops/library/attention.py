"""The operations of attention for any model.

Products of matrices and attention without a matrix of scores are PyTorch's, or ours where that was
measured to be faster; what surrounds them is one pass over memory. FP16 and BF16 are computed in
FP32 and rounded once. Results are contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from kernels.ops.attention_parts import composed, gathered, rope, scores, sparse
from kernels.ops.attention_parts.timed import TIMED
from kernels.ops.autograd import Gradient, Kept
from kernels.ops.elements import dropped
from kernels.ops.elements import samples as elements
from kernels.ops.elements.rows import drawn, dropping, elementwise
from kernels.ops.registry import LIBRARY, fused

ON_CPU = "PyTorch's attention"


def _scores_backward(kept: Kept, grad: Tensor) -> Sequence[Gradient]:
    return scores.gradients(kept, attention_score_backward(grad, kept.tensors[-1]))


def _draw_scores(
    scores: Tensor, p: float = 0.5, training: bool = True, state: Tensor | None = None
) -> tuple[Any, ...]:
    return drawn(scores, p, training, state)


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


@fused(
    scores.CPU,
    reference=scores.reference,
    samples=scores.samples,
    launch_cpu=scores.launch_cpu,
    cuda=scores.CUDA,
    launch_cuda=scores.launch_cuda,
    tolerance_scale=4,
    family=LIBRARY,
    timed=TIMED,
    save=scores.save,
    backward=_scores_backward,
    refuses=scores.refuses,
    aliases=("fused_attention_score",),
)
def attention_score(
    q: Tensor, k: Tensor, scale: float | None = None, mask: Tensor | None = None
) -> Tensor:
    """softmax(q k^T scale + mask): the weights of attention, in the memory of the product.

    A query whose keys are all hidden gets zeros, and no gradient.

    Args:
        q: [..., Lq, D] of FP16, BF16, FP32 or FP64.
        k: [..., Lk, D] of the same dtype and leading dimensions.
        scale: Of the scores; D**-0.5 by default.
        mask: A shape that broadcasts to [..., Lq, Lk]: bools that are true where a query sees a
            key, or numbers of q's dtype that are added to the scores; or None.

    Returns:
        [..., Lq, Lk] of q's dtype; rows sum to 1.

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...


@fused(
    scores.CPU,
    reference=scores.backward_reference,
    samples=scores.samples_of_backward,
    launch_cpu=scores.backward_on_cpu,
    cuda=scores.CUDA,
    launch_cuda=scores.backward_on_cuda,
    tolerance_scale=4,
    family=LIBRARY,
    refuses=scores.refuses,
)
def attention_score_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """weights * (grad - sum(grad * weights)): the gradient of the scores before softmax.

    Args:
        grad: The gradient of the weights, of their shape and dtype.
        weights: [..., Lk], as `attention_score` returned them.

    Returns:
        Of the same shape, contiguous.

    Raises:
        ValueError: The gradient does not fit.
    """
    ...


@elementwise(
    dropping("attention_dropout"),
    samples=elements.with_dropout,
    complete=_draw_scores,
    recorded=dropped.in_place_of("attention_dropout"),
)
def attention_dropout(
    scores: Tensor, p: float = 0.5, training: bool = True, state: Tensor | None = None
) -> Tensor:
    """dropout(scores), of the weights that `attention_score` returned.

    Args:
        scores: Any shape and strides; FP16, BF16, FP32 or FP64.
        p: The probability that a weight becomes 0, from 0 to 1; the others are multiplied by
            1 / (1 - p).
        training: Whether anything is dropped.
        state: int64 [2] on the device of the scores, a seed and an offset: the same state drops
            the same weights. Drawn from PyTorch's generator where it is None.

    Returns:
        Of the same shape, contiguous.

    Raises:
        ValueError: A dtype, `p` or `state` does not fit.
    """
    ...


@fused(
    "",
    reference=composed.flash_reference,
    samples=_samples_flash,
    composed=composed.flash,
    on_cpu=ON_CPU,
    family=LIBRARY,
    timed=TIMED,
)
def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """softmax(q k^T scale + mask) v without a matrix of scores (Dao et al., 2022).

    Runs `fused_attention` where that was measured to be faster, which is without gradients and
    masks in FP16 and BF16 on a GPU of compute capability 9.0, and
    `torch.nn.functional.scaled_dot_product_attention` elsewhere. What a query gets whose keys are
    all hidden is that of the one that runs.

    Args:
        q: [N, H, Lq, D] of any floating dtype.
        k: [N, H, Lk, D].
        v: [N, H, Lk, Dv].
        scale: Of the scores; D**-0.5 by default.
        mask: As that of `attention_score`.
        causal: Whether query i sees only keys 0 to i; then there is no mask.

    Returns:
        [N, H, Lq, Dv].

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    "",
    reference=composed.multihead_reference,
    samples=_samples_multihead,
    composed=composed.multihead,
    on_cpu=ON_CPU,
    family=LIBRARY,
    timed=TIMED,
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
    """`flash_attention` of heads that lie beside one another; nothing is copied to split them.

    Args:
        q: [N, Lq, E] of any floating dtype.
        k: [N, Lk, E].
        v: [N, Lk, Ev].
        num_heads: A divisor of E and of Ev.
        scale: Of the scores; (E / num_heads)**-0.5 by default.
        mask: A shape that broadcasts to [N, num_heads, Lq, Lk], as that of `attention_score`.
        causal: Whether query i sees only keys 0 to i; then there is no mask.

    Returns:
        [N, Lq, Ev].

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    "",
    reference=composed.block_sparse_reference,
    samples=_samples_sparse,
    composed=composed.block_sparse,
    on_cpu=ON_CPU,
    family=LIBRARY,
    timed=TIMED,
    complete=composed.count_blocks,
)
def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
    most_blocks: int | None = None,
) -> Tensor:
    """Attention in which a block of queries sees some blocks of keys alone (Child et al., 2019).

    For each block of queries, the blocks that it sees are gathered, as many as the fullest row of
    the mask has; time and memory follow that number. A query that sees no key gets zeros.

    Args:
        q: [N, H, Lq, D] of any floating dtype.
        k: [N, H, Lk, D].
        v: [N, H, Lk, Dv].
        block_mask: bool [rows, columns] or [N, H, rows, columns] (or 1 for N and H), true where a
            block is seen. Rows divide Lq, columns Lk: that makes the sizes of blocks.
        scale: Of the scores; D**-0.5 by default.
        most_blocks: The most blocks that a row sees; with fewer, the last of a row are left out.
            Counted where it is None, for which the first call with a mask, and the first after it
            was written to, waits for the GPU.

    Returns:
        [N, H, Lq, Dv].

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    scores.CPU,
    reference=rope.reference,
    samples=rope.samples,
    launch_cpu=rope.launch_cpu,
    cuda=scores.CUDA,
    launch_cuda=rope.launch_cuda,
    family=LIBRARY,
    timed=TIMED,
    save=rope.save,
    backward=rope.gradients,
    refuses=rope.refuses,
)
def apply_rope(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False, back: bool = False
) -> Tensor:
    """Rotary position embedding (Su et al., 2021): pairs of numbers are turned by their angles.

    Args:
        x: Queries or keys, [N, H, L, D] or [N, L, D], of any strides; FP16, BF16, FP32 or FP64.
        cos: [L, D / 2], or [N, L, D / 2] for positions of each sample, of any floating dtype.
        sin: Of the shape of `cos`.
        interleaved: Whether a pair is the numbers 2i and 2i + 1; else i and i + D / 2.
        back: Whether they are turned back.

    Returns:
        Of x's shape and dtype, contiguous.

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...


@fused(
    "",
    reference=composed.with_rope_reference,
    samples=_samples_rope,
    composed=composed.with_rope,
    on_cpu=ON_CPU,
    family=LIBRARY,
    timed=TIMED,
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
    """`flash_attention` of queries and keys that `apply_rope` turned.

    Args:
        q: [N, H, L, D] of any floating dtype.
        k: [N, H, L, D].
        v: [N, H, L, Dv].
        cos: As that of `apply_rope`.
        sin: Of the shape of `cos`.
        interleaved: As that of `apply_rope`.
        scale: Of the scores; D**-0.5 by default.
        mask: As that of `attention_score`.
        causal: Whether query i sees only keys 0 to i; then there is no mask.

    Returns:
        [N, H, L, Dv].

    Raises:
        ValueError: An argument does not fit.
    """
    ...


@fused(
    "",
    reference=sparse.with_whole_mask,
    samples=sparse.samples,
    on_cpu=ON_CPU,
    cuda=scores.CUDA,
    launch_cuda=sparse.launch,
    tolerance_scale=4,
    family=LIBRARY,
    timed=TIMED,
    cuda_dtypes=sparse.DTYPES,
    recorded=composed.sparse_with_gradient,
)
def block_sparse_forward(
    q: Tensor, k: Tensor, v: Tensor, block_mask: Tensor, scale: float | None = None
) -> Tensor:
    """`block_sparse_attention` by one kernel: what it runs in 16 bits where no gradient is wanted.

    Where one is, blocks are gathered on a GPU, as `block_sparse_attention` does.

    Args:
        q: [N, H, Lq, D] of FP16 or BF16, where D is 64 or 128.
        k: [N, H, Lk, D].
        v: [N, H, Lk, D].
        block_mask: Bool [rows, columns] or [N, H, rows, columns]; on a GPU a multiple of 16 queries
            and of 32 keys is of a block.
        scale: Of the scores; D**-0.5 by default.

    Returns:
        [N, H, Lq, D], contiguous; zeros for a row that sees no key.
    """
    ...


@fused(
    scores.CPU,
    reference=gathered.reference,
    samples=gathered.samples,
    launch_cpu=gathered.gather_on_cpu,
    refuses=gathered.refuses,
    cuda=scores.CUDA,
    launch_cuda=gathered.launch_gather,
    family=LIBRARY,
    timed=TIMED,
    save=gathered.save,
    backward=gathered.gradients,
)
def gather_blocks(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    """x[places], whose gradient is `sum_blocks`: it is summed in FP32 and in a fixed order.

    Args:
        x: [blocks, ...] of FP16, BF16, FP32 or FP64.
        places: int64 [places], the block that is in each.
        order: int64 [places], the numbers of the places, those of a block together and ascending.
        begins: int64 [blocks + 1], where in `order` each block's begin, and the last one's end.

    Returns:
        [places, ...], contiguous.

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...


@fused(
    scores.CPU,
    reference=gathered.sum_reference,
    samples=gathered.samples_of_sum,
    launch_cpu=gathered.sum_on_cpu,
    refuses=gathered.refuses,
    cuda=scores.CUDA,
    launch_cuda=gathered.launch_sum,
    family=LIBRARY,
    timed=TIMED,
    save=gathered.save,
    backward=gathered.gradients_of_sum,
)
def sum_blocks(x: Tensor, places: Tensor, order: Tensor, begins: Tensor) -> Tensor:
    """Of each block, the sum over the places that have it, in FP32 and in a fixed order.

    Args:
        x: [places, ...] of FP16, BF16, FP32 or FP64.
        places: As that of `gather_blocks`.
        order: As that of `gather_blocks`.
        begins: As that of `gather_blocks`.

    Returns:
        [blocks, ...], contiguous; zeros for a block that no place has.

    Raises:
        ValueError: A shape, a dtype or a device does not fit.
    """
    ...
