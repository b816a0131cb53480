"""PyTorch equivalents of the model input operations, and arguments to time them."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.table.parts import Timed, seeded

TOKENS, SIDE = 1000, 480  # of a table; of an image, whose result is half as large
WINDOW, STEP = 16, 4


def _positions(tokens: Tensor, weight: Tensor, position: Tensor) -> Tensor:
    return F.embedding(tokens, weight) + position


def _padded(
    tokens: list[Tensor], weight: Tensor, length: int, padding: int
) -> tuple[Tensor, Tensor]:
    cut = [each[:length] for each in tokens]
    numbers = torch.nn.utils.rnn.pad_sequence(cut, True, padding)
    given = torch.nn.utils.rnn.pad_sequence([torch.ones_like(each) for each in cut], True) > 0
    return F.embedding(numbers, weight, padding), given


def _image(images: Tensor, mean: Tensor, std: Tensor, size: list[int]) -> Tensor:
    # a dtype that interpolate supports on every device
    wide = torch.promote_types(mean.dtype, torch.float32)
    given = images.permute(0, 3, 1, 2).to(wide) / 255
    resized = F.interpolate(given, size, mode="bilinear", antialias=True)
    return ((resized - mean[:, None, None]) / std[:, None, None]).to(mean.dtype)


def _windows(x: Tensor, size: int, step: int) -> Tensor:
    return x.unfold(-1, size, step).mean(-1)


def _of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed))


def _numbers(*shape: int) -> Tensor:
    return torch.randint(TOKENS, shape, generator=seeded(2))


def _embedded(rows: int, columns: int) -> list[Any]:
    return [_numbers(1, rows), _of(TOKENS, columns), _of(rows, columns, seed=1)]


def _sequences(rows: int, columns: int) -> list[Any]:
    length = max(1, rows // 4)
    sizes = (length, max(1, length // 2), 1, 2 * length)
    return [[_numbers(size) for size in sizes], _of(TOKENS, columns), length, 0]


def _pictures(rows: int, columns: int) -> list[Any]:
    count = max(1, rows * columns // SIDE**2)
    generator = seeded(3)
    images = torch.randint(256, (count, SIDE, SIDE, 3), generator=generator).byte()
    return [images, torch.full((3,), 0.5), torch.full((3,), 0.25), [SIDE // 2] * 2]


def _series(rows: int, columns: int) -> list[Any]:
    size = min(WINDOW, columns)
    return [_of(rows, columns), size, STEP]


TIMED = {
    "embedding_position": Timed(_positions, _embedded),
    "token_embedding": Timed(_padded, _sequences),
    "image_to_tensor": Timed(_image, _pictures, constants=(1, 2)),
    "sliding_window": Timed(_windows, _series),
}
