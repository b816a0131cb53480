"""The random numbers of dropout: Philox4x32-10 of a saved seed and offset, as kernels draw them.

Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011. What backward drops follows from
the state that forward was given, so that nothing of the size of the scores is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF


def draw_state(device: torch.device) -> Tensor:
    """A seed and an offset from PyTorch's generator of a device.

    In a CUDA graph, every replay draws another state.

    Returns:
        int64 [2].
    """
    return torch.randint(1 << 62, (2,), dtype=torch.int64, device=device)


def dropped_numbers(dropout: float) -> int:
    """Of 2^32 random numbers, how many drop a weight."""
    return min(round(dropout * 2**32), _WORD)


def kept(
    state: Tensor, planes: int, queries: int, keys: int, dropout: float, first: int = 0
) -> Tensor:
    """Which weights are kept.

    Args:
        state: int64 [2], as `draw_state` returned it.
        planes: Samples times heads.
        queries: Rows of a plane.
        keys: Columns of a plane.
        dropout: The probability that a weight is dropped.
        first: The number of the first row.

    Returns:
        bool [planes, queries, keys].
    """
    plane = torch.arange(planes, device=state.device)[:, None, None]
    query = torch.arange(first, first + queries, device=state.device)[:, None]
    key = torch.arange(keys, device=state.device)
    counter = [key // 2, query // 16 * 8 + query % 8, plane, state[1] & _WORD]
    counter = [each.expand(planes, queries, keys) for each in counter]
    numbers = _philox(counter, [state[0] & _WORD, state[0] >> 32 & _WORD])
    lower = torch.where(key % 2 == 0, numbers[0], numbers[1])
    upper = torch.where(key % 2 == 0, numbers[2], numbers[3])
    return torch.where(query // 8 % 2 == 0, lower, upper) >= dropped_numbers(dropout)


def _philox(counter: list[Tensor], key: list[Tensor]) -> list[Tensor]:
    """Four random words for each counter of four words; words are in int64."""
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        product, other = a * 0xD2511F53, c * 0xCD9E8D57  # the lower 64 bits, whatever the sign
        a, b, c, d = (
            (other >> 32 & _WORD) ^ b ^ first,
            other & _WORD,
            (product >> 32 & _WORD) ^ d ^ second,
            product & _WORD,
        )
        first, second = (first + 0x9E3779B9) & _WORD, (second + 0xBB67AE85) & _WORD
    return [a, b, c, d]


def kept_elements(state: Tensor, count: int, dropout: float) -> Tensor:
    """Which elements of a tensor are kept: element i has word i % 4 of the counter i / 4.

    Args:
        state: int64 [2], as `draw_state` returned it.
        count: How many elements, numbered row by row.
        dropout: The probability that one is dropped.

    Returns:
        bool [count].
    """
    number = torch.arange((count + 3) // 4, device=state.device)
    counter = [number & _WORD, number >> 32, torch.zeros_like(number)]
    counter.append((state[1] & _WORD).expand_as(number))
    words = _philox(counter, [state[0] & _WORD, state[0] >> 32 & _WORD])
    return torch.stack(words, 1).flatten()[:count] >= dropped_numbers(dropout)
