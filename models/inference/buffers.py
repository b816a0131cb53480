"""What a network keeps between frames, so that a frame neither allocates nor prepares."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import torch
from torch import Tensor


class Workspace:
    """Named buffers, each as large as the largest tensor asked of it. For one thread.

    Only where gradients are disabled: autograd would keep a buffer that is overwritten later.
    """

    def __init__(self) -> None:
        self._flat: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, int, int, int], like: Tensor) -> Tensor:
        """A channels-last tensor [N, C, H, W] of the dtype and device of `like`.

        Its contents are whatever was left there, and what was taken under this name before is
        no longer valid.
        """
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is not None and (flat.dtype != like.dtype or flat.device != like.device):
            self._flat.clear()  # another precision or device: nothing of the old fits
            flat = None
        if flat is None or flat.numel() < size:
            # A tensor made in inference mode could not be written to outside of it.
            with torch.inference_mode(False):
                flat = torch.zeros(size, dtype=like.dtype, device=like.device)
            self._flat[name] = flat
        n, c, h, w = shape
        return flat[:size].view(n, h, w, c).permute(0, 3, 1, 2)

    def clear(self) -> None:
        """Give the memory back."""
        self._flat.clear()


class PreparedWeights:
    """Weights in the form a kernel wants, made once and again when their source has changed.

    A source has changed when it lies elsewhere (`.to`, a new parameter) or was written to by
    PyTorch (`load_state_dict`, an optimizer's step); writing through `.data` goes unnoticed.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[tuple[object, ...], Tensor, tuple[Tensor, ...]]] = {}

    def get(
        self,
        name: Hashable,
        source: Tensor,
        dtype: torch.dtype,
        make: Callable[[Tensor], tuple[Tensor, ...]],
    ) -> tuple[Tensor, ...]:
        """`make(source)`, each tensor in `dtype` and channels last."""
        if source.is_inference():  # counts no versions, so a change could not be seen
            return _laid_out(make(source), dtype)
        key = (source.data_ptr(), source._version, dtype)
        held = self._made.get(name)
        if held is None or held[0] != key:
            # The source is kept, so that nothing else can come to lie at its address.
            held = self._made[name] = (key, source.detach(), _laid_out(make(source), dtype))
        return held[2]


def _laid_out(weights: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(w.to(dtype).contiguous(memory_format=torch.channels_last) for w in weights)
