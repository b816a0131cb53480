"""Feed-forward network and output projection on a GPU: library products with our epilogues."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.ffn.reference import (
    check_projection,
    ffn_reference,
    ffn_weights,
    projection_reference,
)
from kernels.ops.transformer.launchers import Transformer
from kernels.ops.transformer.structs import StyleforgeEpilogue
from kernels.table.calls import TYPES, launched
from kernels.table.launcher import CudaLauncher


def ffn(
    launch: CudaLauncher,
    x: Tensor,
    fc1_weight: Tensor,
    fc1_bias: Tensor | None,
    fc2_weight: Tensor,
    fc2_bias: Tensor | None,
    use_vectorized: bool,
    approximate: str,
    residual: Tensor | None,
) -> Tensor:
    """Run `fused_ffn_forward`; FP64 runs in PyTorch."""
    first, second = ffn_weights(
        x, fc1_weight, fc1_bias, fc2_weight, fc2_bias, approximate, residual
    )
    if x.dtype not in TYPES or not x.numel() or not first.numel():
        return ffn_reference(x, first, fc1_bias, second, fc2_bias, True, approximate, residual)
    rows = x.reshape(-1, x.shape[-1])
    if approximate == "tanh" and fc1_bias is not None and rows.dtype != torch.float32:
        # cuBLAS's own epilogue computes this approximation; in FP32 it is off by 5e-6 and more.
        gelu: Any = torch._addmm_activation  # pyright: ignore
        hidden: Tensor = gelu(fc1_bias, rows, first.t(), use_gelu=True)
    else:
        hidden = rows @ first.t()
        _epilogue(launch, "ffn", hidden, fc1_bias, None, use_vectorized, approximate == "tanh")
    return _projected(launch, hidden, second, fc2_bias, residual, use_vectorized).view(x.shape)


def projection(
    launch: CudaLauncher,
    attn_output: Tensor,
    w_out: Tensor,
    bias_out: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    """Run `output_projection_forward`; FP64 runs in PyTorch."""
    check_projection(attn_output, w_out, bias_out, residual)
    if attn_output.dtype not in TYPES or not attn_output.numel() or not w_out.numel():
        return projection_reference(attn_output, w_out, bias_out, residual)
    rows = attn_output.reshape(-1, attn_output.shape[-1])
    y = _projected(launch, rows, w_out, bias_out, residual, True)
    return y.view(*attn_output.shape[:-1], w_out.shape[0])


def _projected(
    launch: CudaLauncher,
    rows: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    vectorized: bool,
) -> Tensor:
    """Return rows @ weight^T + bias + residual, [rows, E].

    cuBLAS adds a bias itself. A bias and a residual need one pass of our own, except in FP32.
    """
    if residual is None or rows.dtype == torch.float32:
        # In FP32 cuBLAS was 9 % faster with the bias and a sum after it than without a bias.
        y = F.linear(rows, weight, bias)
        return y if residual is None else y.add_(residual.reshape(y.shape))
    y = rows @ weight.t()
    _epilogue(launch, "output_projection", y, bias, residual, vectorized, False)
    return y


def _epilogue(
    launch: CudaLauncher,
    part: str,
    y: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    vectorized: bool,
    tanh: bool,
) -> None:
    bias = None if bias is None else bias.contiguous()
    residual = None if residual is None else residual.contiguous()
    p = StyleforgeEpilogue(
        x=y.data_ptr(),
        bias=None if bias is None else bias.data_ptr(),
        residual=None if residual is None else residual.data_ptr(),
        y=y.data_ptr(),
        rows=y.shape[0],
        columns=y.shape[1],
        tanh=tanh,
    )
    library: Transformer = launch.library
    dtype, gpu = str(y.dtype).removeprefix("torch."), launch.gpu.multiprocessors
    launched(library.epilogue(part, p, dtype, gpu, launch.stream, vectorized=vectorized), part)
