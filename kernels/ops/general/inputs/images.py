"""Byte images as normalized tensors: crop, resize, mirror, colors and layout in one pass."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from ctypes import Structure, c_float, c_int
from itertools import chain
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.ops.general.inputs import MOST
from kernels.table.calls import TYPES
from kernels.table.launcher import Argument, CpuLauncher, CudaLauncher

_MOST_SIDE = 32767  # pixels; a GPU counts their positions in 32 bits
_THREADS, _LEAST_LANES = 256, 32  # per block, and fewest per row
_ROWS_IN_TURN = 4  # per lane of a block, as in model_inputs.cu
_ALIGNED = 8  # a GPU loads this many bytes at once if address and row length are multiples
_MOST_PICTURES, _MOST_ALIKE = 48, 65535  # per launch, with numbers of their own or the same
_RED, _GREEN, _BLUE = 0.299, 0.587, 0.114  # the luma of ITU-R BT.601
_U, _V = 0.492, 0.877  # scales of its color differences, in whose plane a hue is an angle


def reference(
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: list[int] | None = None,
    boxes: list[int] | None = None,
    mirrored: list[bool] | None = None,
    color: list[float] | None = None,
    antialias: bool = True,
    channels_last: bool = False,
) -> Tensor:
    options = _options(images, mean, std, size, boxes, mirrored, color)
    wide = torch.promote_types(mean.dtype, torch.float32)
    made: list[Tensor] = []
    places = _of_each(options.boxes, images.shape[0])
    for image, (top, left, height, width, is_mirrored) in zip(images, places, strict=True):
        part = image[top : top + height, left : left + width].permute(2, 0, 1)[None].to(wide)
        resized = F.interpolate(part, options.size, mode="bilinear", antialias=antialias)
        made.append(resized.flip(3) if is_mirrored else resized)
    empty = images.new_empty((0, 3, *options.size), dtype=wide)
    pictures = torch.cat([empty, *made]).div(255)
    matrices = _of_each(options.colors, images.shape[0])
    colors = torch.tensor(matrices, dtype=wide, device=images.device).view(-1, 3, 4)
    products = colors[..., :3, None, None] * pictures[:, None]
    colored = products.sum(2) + colors[..., 3:, None]
    normal = (colored.clamp(0, 1) - mean.to(wide)[:, None, None]) / std.to(wide)[:, None, None]
    layout = torch.channels_last if channels_last else torch.contiguous_format
    # One image or one pixel fits both layouts; a result has the strides of a new tensor.
    out = normal.new_empty(normal.shape, dtype=mean.dtype).to(memory_format=layout)
    return torch.empty_like(out).copy_(normal)


class StyleforgePictures(Structure):
    """Mirror of StyleforgePictures in pictures.h."""

    _fields_ = [
        ("boxes", c_int * (5 * _MOST_PICTURES)),
        ("colors", c_float * (12 * _MOST_PICTURES)),
        ("each", c_int),
    ]


class _Options(NamedTuple):
    """The options of each image, or one set for all.

    Attributes:
        size: Height and width of the results.
        boxes: First row, first column, height, width, and whether to mirror.
        colors: Matrices [3, 4] that multiply red, green, blue and 1, row by row.
    """

    size: tuple[int, int]
    boxes: list[tuple[int, ...]]
    colors: list[tuple[float, ...]]


def _of_each(given: list[Any], count: int) -> list[Any]:
    return given if len(given) == count else given * count


def _options(
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: list[int] | None,
    boxes: list[int] | None,
    mirrored: list[bool] | None,
    color: list[float] | None,
) -> _Options:
    if images.dtype != torch.uint8 or images.dim() != 4 or images.shape[3] != 3:
        raise ValueError(
            f"image_to_tensor: images is {images.dtype} {list(images.shape)}; expected uint8 "
            "[N, H, W, 3]"
        )
    count, height, width = images.shape[:3]
    for name, x in (("mean", mean), ("std", std)):
        if x.shape != (3,) or x.dtype != mean.dtype or not x.is_floating_point():
            raise ValueError(
                f"image_to_tensor: {name} is {x.dtype} {list(x.shape)}; expected floating [3], as "
                "mean"
            )
        if x.device != images.device:
            raise ValueError(
                f"image_to_tensor: {name} is on {x.device}; expected {images.device}, where images "
                "is"
            )
    places = _for_each("boxes", boxes, [0, 0, height, width], count)
    for top, left, high, wide in places:
        inside = 0 <= top <= height - high and 0 <= left <= width - wide
        if min(high, wide) < 1 or not inside:
            raise ValueError(
                f"image_to_tensor: boxes has {[top, left, high, wide]}; expected first row, first "
                f"column, height and width within [{height}, {width}]"
            )
    if size is None:
        size = list(places[0][2:]) if places else [height, width]
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"image_to_tensor: size is {size}; expected a height and a width")
    flags = _for_each("mirrored", mirrored, [False], count)
    factors = _for_each("color", color, [1.0, 1.0, 1.0, 0.0], count)
    given = max(len(places), len(flags))
    pairs = zip(_of_each(places, given), _of_each(flags, given), strict=True)
    whole = [(*place, flag) for place, (flag,) in pairs]
    return _Options((size[0], size[1]), whole, [_color_matrix(*each) for each in factors])


def _for_each(
    name: str, given: list[Any] | None, default: list[Any], count: int
) -> list[list[Any]]:
    """Split numbers into one list for all images, or one list per image."""
    length = len(default)
    given = default if given is None else list(given)
    if len(given) not in (length, length * count):
        raise ValueError(
            f"image_to_tensor: {name} has {len(given)} numbers; expected {length}, or "
            f"{length * count} for {count} pictures"
        )
    return [given[at : at + length] for at in range(0, len(given), length)]


@functools.lru_cache
def _color_matrix(
    brightness: float, contrast: float, saturation: float, hue: float
) -> tuple[float, ...]:
    """Return [3, 4], row by row: brightness, contrast, and the chroma's saturation and hue."""
    cosine, sine = (saturation * turn(2 * math.pi * hue) for turn in (math.cos, math.sin))

    def changed(red: float, green: float, blue: float) -> tuple[float, float, float]:
        luma = _RED * red + _GREEN * green + _BLUE * blue
        u, v = _U * (blue - luma), _V * (red - luma)
        u, v = cosine * u - sine * v, sine * u + cosine * v
        red, blue = luma + v / _V, luma + u / _U
        return red, (luma - _RED * red - _BLUE * blue) / _GREEN, blue

    columns = [changed(1, 0, 0), changed(0, 1, 0), changed(0, 0, 1)]
    factor, added = brightness * contrast, (1 - contrast) / 2  # middle gray does not change
    rows = zip(*columns, strict=True)
    return tuple(x for row in rows for x in (*(factor * y for y in row), added))


# Fills a result: (images, mean, std, options, out, common last arguments of both kernels).
Convert = Callable[..., None]


def launch_cpu(launch: CpuLauncher, *args: Any, **kwargs: Any) -> Tensor:
    """Run `image_to_tensor` in the C++ kernel; FP64 runs in PyTorch."""

    def convert(
        images: Tensor, mean: Tensor, std: Tensor, options: _Options, out: Tensor, *told: Argument
    ) -> None:
        count = images.shape[0]
        boxes = torch.tensor(_of_each(options.boxes, count), dtype=torch.int32, device="cpu")
        colors = torch.tensor(_of_each(options.colors, count), dtype=torch.float32, device="cpu")
        normal = torch.cat((mean.float(), 1 / std.float()))
        kind, *sizes = told
        launch(
            "styleforge_image_to_tensor", images, boxes, colors, normal, out, kind, count, *sizes
        )

    return _run(convert, *args, **kwargs)


def launch_cuda(launch: CudaLauncher, *args: Any, **kwargs: Any) -> Tensor:
    """Run `image_to_tensor` in the CUDA kernel; FP64 and larger images run in PyTorch."""

    def convert(
        images: Tensor, mean: Tensor, std: Tensor, options: _Options, out: Tensor, *told: Argument
    ) -> None:
        height, width = options.size
        lanes = min(_THREADS, max(_LEAST_LANES, 1 << (width - 1).bit_length()))
        blocks = -(-width // lanes) * -(-height // (_THREADS // lanes * _ROWS_IN_TURN))
        vector = images.shape[2] % _ALIGNED == 0 and images.data_ptr() % _ALIGNED == 0
        for part, pictures in _pictures(options, images.shape[0]):
            given = images[part], mean, std, out[part], *told, lanes, vector, pictures
            grid = blocks, given[0].shape[0], 1
            launch("styleforge_image_to_tensor", grid, _THREADS, *given)

    return _run(convert, *args, most_side=_MOST_SIDE, **kwargs)


def _pictures(options: _Options, count: int) -> Iterator[tuple[slice, StyleforgePictures]]:
    given = max(len(options.boxes), len(options.colors))
    boxes, colors = _of_each(options.boxes, given), _of_each(options.colors, given)
    most = _MOST_PICTURES if given > 1 else _MOST_ALIKE
    for first in range(0, count, most):
        part = slice(first, first + most)
        own = part if given > 1 else slice(1)
        pictures = StyleforgePictures(each=given > 1)
        for field, rows in ((pictures.boxes, boxes[own]), (pictures.colors, colors[own])):
            field[: len(rows) * len(rows[0])] = [*chain.from_iterable(rows)]
        yield part, pictures


def _run(
    convert: Convert,
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: list[int] | None = None,
    boxes: list[int] | None = None,
    mirrored: list[bool] | None = None,
    color: list[float] | None = None,
    antialias: bool = True,
    channels_last: bool = False,
    most_side: int = MOST,
) -> Tensor:
    sides = [*images.shape[1:3], *(size or ())]
    pixels = images.shape[0] * math.prod(sides[-2:])
    if mean.dtype not in TYPES or max(sides, default=0) > most_side or pixels > MOST:
        return reference(images, mean, std, size, boxes, mirrored, color, antialias, channels_last)
    options = _options(images, mean, std, size, boxes, mirrored, color)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    shape = (images.shape[0], 3, *options.size)
    out = torch.empty(shape, dtype=mean.dtype, device=images.device, memory_format=layout)
    if out.numel():
        told = TYPES[mean.dtype], *images.shape[1:3], *options.size, antialias, channels_last
        convert(images.contiguous(), mean.contiguous(), std.contiguous(), options, out, *told)
    return out


def refuses(**arguments: Any) -> str:
    dtype = arguments["mean"].dtype
    return "" if dtype in TYPES else f"no native kernel in {dtype}; PyTorch's runs"


def samples() -> Iterator[tuple[Any, ...]]:
    """Yield smaller and larger results, boxes, mirrors and colors, both layouts."""
    images = torch.randint(256, (2, 13, 17, 3), generator=torch.Generator().manual_seed(0))
    images = images.to(torch.uint8)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    own = [0, 0, 13, 17, 2, 3, 7, 9]
    colors = [1.2, 0.8, 1.5, 0.1, 0.9, 1.1, 0.0, -0.25]
    yield images[:1, :2, :3], mean, std, [1, 2], None, None, None, True, False
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        given = images, mean.to(dtype), std.to(dtype)
        yield *given, None, None, None, None, True, False
        yield *given, [5, 8], own, [True, False], colors, True, False
        yield *given, [24, 20], own, [True], None, True, True
        yield *given, [5, 8], None, None, colors[:4], False, True
