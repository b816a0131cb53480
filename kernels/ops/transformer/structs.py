"""ctypes mirrors of the structs in the transformer kernels' calls."""

from __future__ import annotations

from ctypes import Structure, c_float, c_int, c_longlong, c_uint, c_void_p
from typing import Any

from kernels.driver.tensor_map import TensorMap


class StyleforgeAttention(Structure):
    """Mirror of StyleforgeAttention in transformer.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("q", "k", "v", "mask", "state", "out", "lse")),
        *((f"{name}_strides", c_longlong * 3) for name in ("q", "k", "v", "out", "mask")),
        *((name, c_int) for name in ("samples", "heads", "queries", "keys", "columns", "causal")),
        ("scale", c_float),
        ("dropped", c_uint),
        ("kept_scale", c_float),
    ]


class StyleforgeAttentionBackward(Structure):
    """Mirror of StyleforgeAttentionBackward in transformer.h."""

    _fields_ = [
        ("forward", StyleforgeAttention),
        *((name, c_void_p) for name in ("grad_out", "delta", "grad_q", "grad_k", "grad_v")),
    ]


class StyleforgeEpilogue(Structure):
    """Mirror of StyleforgeEpilogue in transformer.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("x", "bias", "residual", "y")),
        ("rows", c_longlong),
        *((name, c_int) for name in ("columns", "tanh")),
    ]


class TensorMaps(Structure):
    """Mirror of TensorMaps in ops/transformer/attention/shapes.h."""

    _fields_ = [(name, TensorMap) for name in ("q", "k", "v")]


# By their names in C++.
STRUCTURES: dict[str, type[Any]] = {
    mirror.__name__: mirror
    for mirror in (
        StyleforgeAttention,
        StyleforgeAttentionBackward,
        StyleforgeEpilogue,
        TensorMaps,
    )
}
