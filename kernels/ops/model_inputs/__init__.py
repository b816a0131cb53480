"""Operations that make model inputs: embeddings, images as tensors, windows of series."""

from __future__ import annotations

CPU, CUDA = "model_inputs", "model_inputs_cuda"
MOST = 2**31 - 1  # elements of a tensor that the CUDA kernels can index
