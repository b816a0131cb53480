"""The operations that prepare text for any model."""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.ops.model_inputs import CPU, CUDA, embedding
from kernels.ops.model_inputs.timed import TIMED
from kernels.ops.registry import LIBRARY, fused


@fused(
    CPU,
    reference=embedding.token_reference,
    samples=embedding.token_samples,
    launch_cpu=embedding.launch_tokens_on_cpu,
    cuda=CUDA,
    launch_cuda=embedding.launch_tokens_on_cuda,
    family=LIBRARY,
    timed=TIMED,
    save=embedding.token_save,
    backward=embedding.token_gradients,
    statistics=1,
    refuses=embedding.refuses,
    cuda_dtypes=(torch.int64,),
)
def token_embedding(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int | None = None
) -> tuple[Tensor, Tensor]:
    """The embeddings of sequences that are cut or padded to one length.

    Args:
        tokens: The sequences, each int64 [any length], rows of the table. One that is not in the
            table is an IndexError on the CPU, and NaN on a GPU.
        weight: [tokens, size] of FP16, BF16, FP32 or FP64.
        length: Of the result: longer sequences lose their end.
        padding: The row of the table that stands behind shorter ones, which has no gradient, as in
            torch.nn.Embedding; zeros where it is None.

    Returns:
        [N, length, size] of weight's dtype, contiguous, and a mask, bool [N, length], that is true
        where a token was given.

    Raises:
        ValueError: A shape, a dtype, a device or a number does not fit.
        IndexError: On the CPU, a token is not in the table.
    """
    ...
