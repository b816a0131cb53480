"""ctypes mirrors of the structs in the single operations' launchers and kernels."""

from __future__ import annotations

from ctypes import Structure, c_float, c_int, c_longlong, c_void_p
from typing import Any


class StyleforgeNorm(Structure):
    """y = relu(norm(x) * gamma + beta + residual), dense [N, C, P] or, channels last, [N, P, C].

    If channels are last, y may have a margin. Only the launchers read this struct, and no kernel
    does.

    Attributes:
        residual: Like x, or null; y is like x and may be x.
        gamma: [C], or null; likewise `beta`.
        scratch: styleforge_norm_scratch bytes, 16-byte aligned.
        type: Dtype of x, residual and y, numbered as in include/common/data_type.h.
        parameter_type: Dtype of gamma and beta.
        vectorized: Whether to use 16-byte loads if shape and addresses allow.
        clusters: Whether the GPU has thread block clusters.
        width: Width of a row of pixels, if y has a margin.
        pad: Pixels of y's margin on each side, or 0.
        border: Padding mode of the margin, numbered as in operations.h.
    """

    _fields_ = [
        *((name, c_void_p) for name in ("x", "residual", "gamma", "beta", "y", "scratch")),
        *((name, c_longlong) for name in ("samples", "channels", "pixels")),
        ("eps", c_float),
        *((name, c_int) for name in ("relu", "channels_last", "type", "parameter_type")),
        *((name, c_int) for name in ("vectorized", "multiprocessors", "clusters")),
        *((name, c_int) for name in ("width", "pad", "border")),
    ]


class StyleforgeConvolution(Structure):
    """Mirror of StyleforgeConvolution in operations.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("x", "packed", "bias", "affine", "y", "parts")),
        *((name, c_longlong * 4) for name in ("x_strides", "y_strides")),
        *((name, c_int) for name in ("samples", "in_channels", "out_channels")),
        *((name, c_int) for name in ("height", "width", "out_height", "out_width")),
        *((name, c_int) for name in ("kernel", "pad", "stride_h", "stride_w", "border", "phases")),
        *((name, c_int) for name in ("type", "math", "multiprocessors")),
    ]


class StyleforgeConvNormRelu(Structure):
    """relu(norm(conv(x))), or norm(conv(x)).

    conv.parts must be set, and norm.x and norm.y must equal conv.y.
    """

    _fields_ = [("conv", StyleforgeConvolution), ("norm", StyleforgeNorm)]


class StyleforgeResidualBlock(Structure):
    """x + norm(conv(relu(norm(conv(x))))): two 3x3 convolutions with equal channel counts.

    Attributes:
        first: Convolution with x, y, packed, parts and bias set; `second` likewise without bias.
        first_norm: Norm of the first convolution's result.
        second_norm: Norm whose residual is x.
        affine: The address of [N, C] float4.
    """

    _fields_ = [
        ("first", StyleforgeConvolution),
        ("second", StyleforgeConvolution),
        ("first_norm", StyleforgeNorm),
        ("second_norm", StyleforgeNorm),
        ("affine", c_void_p),
    ]


class Convolution(Structure):
    """Mirror of Convolution in ops/style/convolution/params.cuh."""

    _fields_ = [
        ("p", StyleforgeConvolution),
        *((name, c_int) for name in ("taps", "steps", "flat", "vector", "padded_out", "tiles")),
    ]


class PartialMomentsView(Structure):
    """Mirror of PartialMomentsView in include/common/plane_params.cuh, like the next four."""

    _fields_ = [
        ("parts", c_void_p),
        *((name, c_longlong) for name in ("of_sample", "of_channel", "of_part")),
        ("count", c_int),
    ]


class AffineParameters(Structure):
    """Gamma and beta."""

    _fields_ = [("gamma", c_void_p), ("beta", c_void_p), ("type", c_int), ("eps", c_float)]


class Planes(Structure):
    """The planes to normalize."""

    _fields_ = [
        *((name, c_void_p) for name in ("x", "residual", "y")),
        ("affine", AffineParameters),
        ("pixels", c_longlong),
        *((name, c_int) for name in ("channels", "parts", "relu")),
    ]


class Cut(Structure):
    """The split of a channels-last image into blocks."""

    _fields_ = [
        ("pixels", c_longlong),
        *((name, c_int) for name in ("channels", "columns", "rows", "chunk", "chunks")),
    ]


class Margin(Structure):
    """The margin around a normalized image."""

    _fields_ = [(name, c_int) for name in ("height", "width", "pad", "border")]


# The structs of kernel arguments, by their names in C++.
STRUCTURES: dict[str, type[Any]] = {
    mirror.__name__: mirror
    for mirror in (
        StyleforgeConvolution,
        Convolution,
        PartialMomentsView,
        AffineParameters,
        Planes,
        Cut,
        Margin,
    )
}
