"""ctypes mirrors of the structs that the kernels around the network receive."""

from __future__ import annotations

from ctypes import Structure, c_float, c_int, c_void_p

from utils.stroke_directions import MOST_HANDLES

MOST_PAINTINGS = 2  # that mix while a new one appears, as in frames/native/moving.h


class ResizeParams(Structure):
    """Mirror of ResizeParams in frames/native/frames.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("frame", "small")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width")),
    ]


class ScreenParams(Structure):
    """Mirror of ScreenParams in frames/native/frames.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("picture", "screen")),
        *((name, c_int) for name in ("height", "width", "screen_height", "screen_width")),
    ]


class SlopesParams(Structure):
    """Mirror of SlopesParams in frames/native/frames.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("result", "small", "slopes")),
        *((name, c_int) for name in ("height", "width")),
    ]


class FinishParams(Structure):
    """Mirror of FinishParams in frames/native/finish.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("frame", "result", "slopes", "picture")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width")),
        ("strength", c_float),
        ("keep_colors", c_int),
    ]


class SmoothParams(Structure):
    """Mirror of SmoothParams in frames/native/smooth.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("source", "result", "smoothed", "accumulated", "known")),
        *((name, c_void_p) for name in ("cells", "pair", "flow", "moved", "change", "other")),
        *((name, c_void_p) for name in ("share", "counts", "sums", "state")),
        *((name, c_int) for name in ("height", "width", "rows", "columns", "first")),
        ("amount", c_float),
    ]


class HalveParams(Structure):
    """Mirror of HalveParams in frames/native/flow.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("pair", "half")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width")),
    ]


class FlowParams(Structure):
    """Mirror of FlowParams in frames/native/flow.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("pair", "coarse", "flow")),
        *((name, c_int) for name in ("height", "width", "coarse_height", "coarse_width")),
    ]


class MedianParams(Structure):
    """Mirror of MedianParams in frames/native/flow.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("flow", "median")),
        *((name, c_int) for name in ("height", "width", "settles")),
    ]


class TextureParams(Structure):
    """Mirror of TextureParams in frames/native/texture.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("picture", "textured", "fine", "coarse", "taps")),
        *((name, c_void_p) for name in ("cells", "flat", "field", "combed")),
        *((name, c_void_p) for name in ("tracked", "before", "reference", "state")),
        *((name, c_int) for name in ("height", "width", "rows", "columns")),
        *((name, c_int) for name in ("small_height", "small_width", "first", "continues")),
        ("amount", c_float),
    ]


class HandleAxis(Structure):
    """Mirror of HandleAxis in frames/native/combing.h."""

    _fields_ = [(name, c_float) for name in ("x", "y", "axis_x", "axis_y")]


class CombParams(Structure):
    """Mirror of CombParams in frames/native/combing.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("tracked", "fine", "coarse", "taps", "lines")),
        *((name, c_void_p) for name in ("kept", "axes", "noise", "combed", "state")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width")),
        *((name, c_int) for name in ("mode", "steps")),
        *((name, c_float) for name in ("axis_x", "axis_y", "gain", "tall", "wide")),
        ("count", c_int),
        ("handles", HandleAxis * MOST_HANDLES),
    ]


class EnlargeTextureParams(Structure):
    """Mirror of EnlargeTextureParams in frames/native/texture.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("picture", "textured", "field")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width")),
    ]


class MovingPainting(Structure):
    """Mirror of MovingPainting in frames/native/moving.h."""

    _fields_ = [(name, c_void_p) for name in ("pixels", "pair", "flow", "changes", "trusts")]


class MovingParams(Structure):
    """Mirror of MovingParams in frames/native/moving.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("source", "shown", "certainty")),
        ("paintings", MovingPainting * MOST_PAINTINGS),
        *((name, c_int) for name in ("height", "width", "rows", "columns", "count")),
        ("before_share", c_float),
    ]


class MattingParams(Structure):
    """Mirror of MattingParams in frames/native/matting.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("frame", "colors", "noise", "gray", "differences")),
        *((name, c_void_p) for name in ("unlike", "plain", "kept", "rough", "before")),
        *((name, c_void_p) for name in ("fitted", "slopes")),
        *((name, c_int) for name in ("height", "width", "tile_rows", "tile_columns", "first")),
        ("lights", c_float * 3),
    ]


class MixParams(Structure):
    """Mirror of MixParams in frames/native/matting.h."""

    _fields_ = [
        *((name, c_void_p) for name in ("painted", "frame", "slopes", "mixed")),
        *((name, c_int) for name in ("height", "width", "small_height", "small_width", "swapped")),
    ]


STRUCTURES: dict[str, type[Structure]] = {
    each.__name__: each
    for each in (
        *(ResizeParams, ScreenParams, SlopesParams, FinishParams, SmoothParams),
        *(HalveParams, FlowParams, MedianParams),
        *(TextureParams, CombParams, EnlargeTextureParams),
        *(MovingParams, MattingParams, MixParams),
    )
}
