"""PyTorch references of a transformer's projections and feed-forward network."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from kernels.ops.transformer.attention.reference import attention_reference

APPROXIMATIONS = ("none", "tanh")


def check_block(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> None:
    if x.dim() != 3 or not x.is_floating_point():
        raise ValueError(f"attention: x must be floating [N, L, E], got {list(x.shape)}")
    width = x.shape[2]
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"attention: {num_heads} heads do not divide {width} channels")
    wanted = {"w_qkv": (3 * width, width), "w_out": (width, width)}
    wanted |= {"bias_qkv": (3 * width,), "bias_out": (width,)}
    given = {"w_qkv": w_qkv, "w_out": w_out, "bias_qkv": bias_qkv, "bias_out": bias_out}
    _check_parameters("attention", x, wanted, given)
    if not scale > 0:
        raise ValueError(f"attention: the scale must be positive, got {scale}")


def attention_block(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    check_block(x, w_qkv, w_out, bias_qkv, bias_out, scale, num_heads)
    q, k, v = heads_of(F.linear(x, w_qkv, bias_qkv), num_heads)
    out, _ = attention_reference(q, k, v, scale=scale)
    return F.linear(merged(out), w_out, bias_out)


def heads_of(qkv: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return views of [N, L, 3E] as q, k and v, each [N, H, L, E / H]."""
    n, length, width = qkv.shape
    split = qkv.view(n, length, 3, num_heads, width // 3 // num_heads).permute(2, 0, 3, 1, 4)
    return split[0], split[1], split[2]


def merged(x: Tensor) -> Tensor:
    """Return [N, H, L, D] as [N, L, H D], a view if the rows of one position are adjacent."""
    return x.transpose(1, 2).flatten(2)


def projection_reference(
    attn_output: Tensor,
    w_out: Tensor,
    bias_out: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    check_projection(attn_output, w_out, bias_out, residual)
    y = F.linear(attn_output, w_out, bias_out)
    return (y if residual is None else y + residual).contiguous()


def check_projection(
    attn_output: Tensor, w_out: Tensor, bias_out: Tensor | None, residual: Tensor | None
) -> None:
    if attn_output.dim() < 1 or w_out.dim() != 2:
        raise ValueError("output projection: attn_output must be [..., K] and w_out [E, K]")
    rows = w_out.shape[0]
    wanted: dict[str, tuple[int, ...]] = {
        "w_out": (rows, attn_output.shape[-1]),
        "bias_out": (rows,),
    }
    wanted["residual"] = (*attn_output.shape[:-1], rows)
    given = {"w_out": w_out, "bias_out": bias_out, "residual": residual}
    _check_parameters("output projection", attn_output, wanted, given)


def ffn_reference(
    x: Tensor,
    fc1_weight: Tensor,
    fc1_bias: Tensor | None,
    fc2_weight: Tensor,
    fc2_bias: Tensor | None,
    use_vectorized: bool,
    approximate: str,
    residual: Tensor | None,
) -> Tensor:
    first, second = ffn_weights(
        x, fc1_weight, fc1_bias, fc2_weight, fc2_bias, approximate, residual
    )
    y = F.linear(F.gelu(F.linear(x, first, fc1_bias), approximate=approximate), second, fc2_bias)
    return (y if residual is None else y + residual).contiguous()


def ffn_weights(
    x: Tensor,
    fc1_weight: Tensor,
    fc1_bias: Tensor | None,
    fc2_weight: Tensor,
    fc2_bias: Tensor | None,
    approximate: str,
    residual: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Return both weights in nn.Linear's layout, [hidden, E] and [E, hidden].

    Raises:
        ValueError: If an argument is invalid.
    """
    if approximate not in APPROXIMATIONS:
        raise ValueError(f"ffn: approximate must be one of {APPROXIMATIONS}, got {approximate!r}")
    if x.dim() < 1 or fc1_weight.dim() != 2 or fc2_weight.dim() != 2:
        raise ValueError("ffn: x must be [..., E] and the weights must be matrices")
    width = x.shape[-1]
    if fc1_weight.shape[1] == width and fc2_weight.shape[0] == width:
        first, second = fc1_weight, fc2_weight
    elif fc1_weight.shape[0] == width and fc2_weight.shape[1] == width:
        first, second = fc1_weight.t(), fc2_weight.t()
    else:
        raise ValueError(
            f"ffn: weights of {width} channels must be [hidden, {width}] and [{width}, hidden], "
            f"or both transposed, got {list(fc1_weight.shape)} and {list(fc2_weight.shape)}"
        )
    hidden = first.shape[0]
    wanted = {"fc1_weight": (hidden, width), "fc2_weight": (width, hidden)}
    wanted |= {"fc1_bias": (hidden,), "fc2_bias": (width,), "residual": tuple(x.shape)}
    given = {"fc1_weight": first, "fc2_weight": second, "residual": residual}
    given |= {"fc1_bias": fc1_bias, "fc2_bias": fc2_bias}
    _check_parameters("ffn", x, wanted, given)
    return first, second


def _check_parameters(
    what: str,
    x: Tensor,
    wanted: dict[str, tuple[int, ...]],
    given: dict[str, Tensor | None],
) -> None:
    for name, value in given.items():
        if value is None:
            continue
        if tuple(value.shape) != wanted[name]:
            raise ValueError(
                f"{what}: {name} must be {list(wanted[name])}, got {list(value.shape)}"
            )
        if value.dtype != x.dtype:
            raise ValueError(f"{what}: {name} must have x's dtype {x.dtype}, got {value.dtype}")
