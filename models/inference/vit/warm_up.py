"""Loads what PyTorch's libraries load at their first call, before a style waits for it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from models.vit_config import SMALL

# Rows and columns of tokens: with other shapes, or keys that are fewer, attention loads other
# kernels. Those of a picture of 256x256, and of one of 1280x720.
SIZES = (32, 32), (90, 160)
SIDE = 34  # of a padded picture


def warm_up(device: torch.device) -> None:
    """Call attention, products and convolutions once, as painting in half precision does.

    On a GPU the first calls load libraries and kernels: 0.6 s on an H200, of which attention takes
    0.5. Safe on any thread, also while another one computes or captures a CUDA graph with errors of
    its own thread alone.

    Args:
        device: Where painting will compute; on a CPU nothing is loaded late.
    """
    if device.type != "cuda":
        return
    stream = torch.cuda.Stream(device)
    with torch.cuda.device(device), torch.cuda.stream(stream):
        call_once(device, torch.float16)
    stream.synchronize()


def call_once(device: torch.device, dtype: torch.dtype) -> None:
    """Call what painting calls of PyTorch, on zeros."""
    width, heads = SMALL.embed_dim, SMALL.num_heads
    with torch.inference_mode():
        weight = torch.zeros(3 * width, width, dtype=dtype, device=device)
        bias = weight.new_zeros(3 * width)
        for rows, columns in SIZES:
            stride = SMALL.key_stride(rows, columns)
            tokens = weight.new_zeros(1, rows * columns, width)
            if stride == 1:
                parts = F.linear(tokens, weight, bias).chunk(3, -1)
            else:
                keys = weight.new_zeros(1, -(-rows // stride) * -(-columns // stride), width)
                both = F.linear(keys, weight[width:], bias[width:])
                parts = F.linear(tokens, weight[:width], bias[:width]), *both.chunk(2, -1)
            q, k, v = (torch.unflatten(part, 2, (heads, -1)).transpose(1, 2) for part in parts)
            F.scaled_dot_product_attention(q, k, v)
        torch.addmv(bias, weight, weight[0])
        planes = weight.new_zeros(1, width, SIDE, SIDE).contiguous(
            memory_format=torch.channels_last
        )
        kernel = weight.new_zeros(width, width, 3, 3).contiguous(memory_format=torch.channels_last)
        torch.conv2d(planes, kernel)
        taps = torch.zeros(2, 2, 3, dtype=torch.float64, device=device)
        torch.einsum("aip,bjq,ocpq->abocij", taps, taps, kernel[:8, :8].double())
