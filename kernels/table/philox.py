"""The random numbers of dropout: Philox4x32-10 with a saved seed and offset, as kernels draw them.

Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011. The backward pass drops by the
state of the forward pass, so nothing of the size of the scores is saved.
"""

from __future__ import annotations

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF
_NUMBERS = 1 << 16  # an element or a weight uses half of a word


def draw_state(device: torch.device) -> Tensor:
    """Draw a seed and an offset from PyTorch's generator of a device.

    In a CUDA graph, every replay draws another state. Returns int64 [2].
    """
    return torch.randint(1 << 62, (2,), dtype=torch.int64, device=device)


def dropped_numbers(dropout: float) -> int:
    """Return how many of 2^16 random numbers drop an element: the steps of a probability."""
    return round(dropout * _NUMBERS)


def kept_scale(dropout: float) -> float:
    """Return the factor of kept elements that preserves the mean at the rounded probability.

    It is 0 if everything is dropped.
    """
    keeping = _NUMBERS - dropped_numbers(dropout)
    return _NUMBERS / keeping if keeping else 0.0


def kept(
    state: Tensor, planes: int, queries: int, keys: int, dropout: float, first: int = 0
) -> Tensor:
    """Return which weights dropout keeps, bool [samples times heads, queries, keys].

    The eight numbers of a counter belong to queries i and i + 8 and keys k, k + 1, k + 8 and k + 9,
    for i and even k in the first eight of every sixteen. A thread of a matrix product holds these.
    `first` is the index of the first row.
    """
    plane = torch.arange(planes, device=state.device)[:, None, None]
    query = torch.arange(first, first + queries, device=state.device)[:, None]
    key = torch.arange(keys, device=state.device)
    pairs, rows = key // 16 * 4 + key % 8 // 2, query // 16 * 8 + query % 8
    counter = [pairs, rows, plane, state[1] & _WORD]
    counter = [each.expand(planes, queries, keys) for each in counter]
    words = _philox(counter, [state[0] & _WORD, state[0] >> 32 & _WORD])
    later = query // 8 % 2 == 1
    near, far = torch.where(later, words[1], words[0]), torch.where(later, words[3], words[2])
    word = torch.where(key // 8 % 2 == 1, far, near)
    return (word >> key % 2 * 16) % _NUMBERS >= dropped_numbers(dropout)


def _philox(counter: list[Tensor], key: list[Tensor]) -> list[Tensor]:
    """Return four random words for each counter of four words; words are in int64."""
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
    """Return which elements dropout keeps: element i has number i % 8 of counter i / 8.

    The first number of a word is its lower half. Returns bool [count], indexed row by row.
    """
    number = torch.arange((count + 7) // 8, device=state.device)
    counter = [number & _WORD, number >> 32, torch.zeros_like(number)]
    counter.append((state[1] & _WORD).expand_as(number))
    words = _philox(counter, [state[0] & _WORD, state[0] >> 32 & _WORD])
    numbers = [half for word in words for half in (word % _NUMBERS, word >> 16)]
    return torch.stack(numbers, 1).flatten()[:count] >= dropped_numbers(dropout)
