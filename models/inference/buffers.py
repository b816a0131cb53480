"""Activation buffers and prepared weights that an executor reuses from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import torch
from torch import Tensor


class Workspace:
    """Named buffers, each as large as the largest tensor requested from it. Not thread-safe.

    Use it with gradients disabled only: autograd would save buffers that are overwritten later.
    """

    def __init__(self) -> None:
        self._flat: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, int, int, int], like: Tensor) -> Tensor:
        """Return the buffer of this name as an undefined channels-last tensor, N, C, H, W.

        Tensors under the same name share memory: only the newest is valid. `like` is the source of
        the dtype and the device; a change of either frees every buffer.
        """
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is not None and (flat.dtype != like.dtype or flat.device != like.device):
            self._flat.clear()  # another precision or device: no old buffer can be reused
            flat = None
        if flat is None or flat.numel() < size:
            # Code outside inference mode could not write to a tensor created in it.
            with torch.inference_mode(False):
                flat = torch.zeros(size, dtype=like.dtype, device=like.device)
            self._flat[name] = flat
        n, c, h, w = shape
        return flat[:size].view(n, h, w, c).permute(0, 3, 1, 2)

    def clear(self) -> None:
        self._flat.clear()


class PreparedWeights:
    """A cache of weights in a kernel's layout, recomputed after a change of their source.

    It detects a change by the source's address (`.to`, a new parameter) and version counter
    (`load_state_dict`, an optimizer's step), but not writes through `.data`. Tensors that were
    created in inference mode have no version counter, so it compares their values with a copy.
    `nbytes` is the size of its results.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._made: dict[Hashable, tuple[tuple[object, ...], Tensor, tuple[Tensor, ...]]] = {}

    def get(
        self,
        name: Hashable,
        source: Tensor,
        dtype: torch.dtype,
        make: Callable[[Tensor], tuple[Tensor, ...]],
    ) -> tuple[Tensor, ...]:
        """Return `make(source)` in `dtype`, cached until `source` changes.

        Results of four dimensions are channels last, others contiguous.
        """
        counted = not source.is_inference()
        key = (source.data_ptr(), source._version if counted else source.dtype, dtype)
        held = self._made.get(name)
        if held is None or held[0] != key or not (counted or torch.equal(held[1], source)):
            # The reference to the source prevents the reuse of its address.
            kept = source.detach() if counted else source.clone()
            made = _laid_out(make(source), dtype)
            self.nbytes += _nbytes(made) - (0 if held is None else _nbytes(held[2]))
            held = self._made[name] = (key, kept, made)
        return held[2]


def _nbytes(weights: tuple[Tensor, ...]) -> int:
    return sum(weight.nbytes for weight in weights)


def _laid_out(weights: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(_dense(w.to(dtype)) for w in weights)


def _dense(weight: Tensor) -> Tensor:
    layout = torch.channels_last if weight.dim() == 4 else torch.contiguous_format
    return weight.contiguous(memory_format=layout)
