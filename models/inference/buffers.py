"""Activation buffers and prepared weights that an executor keeps from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import torch
from torch import Tensor


class Workspace:
    """Named buffers, each as large as the largest tensor taken from it. Not thread-safe.

    Only for use with gradients disabled: autograd would save buffers that are overwritten later.
    """

    def __init__(self) -> None:
        self._flat: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, int, int, int], like: Tensor) -> Tensor:
        """Take the buffer of this name as a tensor of the given shape.

        Args:
            name: Tensors taken under the same name share memory: only the newest is valid.
            shape: N, C, H, W.
            like: Gives the dtype and the device. Another one than before frees every buffer.

        Returns:
            A channels-last tensor with undefined contents.
        """
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is not None and (flat.dtype != like.dtype or flat.device != like.device):
            self._flat.clear()  # another precision or device: no old buffer is of use
            flat = None
        if flat is None or flat.numel() < size:
            # A tensor made in inference mode could not be written to outside of it.
            with torch.inference_mode(False):
                flat = torch.zeros(size, dtype=like.dtype, device=like.device)
            self._flat[name] = flat
        n, c, h, w = shape
        return flat[:size].view(n, h, w, c).permute(0, 3, 1, 2)

    def clear(self) -> None:
        """Free every buffer."""
        self._flat.clear()


class PreparedWeights:
    """A cache of weights in the layout a kernel needs, recomputed when their source has changed.

    A change is detected by the source's address (`.to`, a new parameter) and version counter
    (`load_state_dict`, an optimizer's step); writing through `.data` is not detected.
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
        """Return the prepared weights, from the cache if `source` has not changed.

        Args:
            name: The key in the cache.
            source: The weights as the network has them.
            dtype: Of the result.
            make: Computes the prepared weights from `source`.

        Returns:
            `make(source)`, each tensor in `dtype` and channels last.
        """
        if source.is_inference():  # has no version counter, so a change is not detectable
            return _laid_out(make(source), dtype)
        key = (source.data_ptr(), source._version, dtype)
        held = self._made.get(name)
        if held is None or held[0] != key:
            # Holding the source keeps its address from being reused.
            held = self._made[name] = (key, source.detach(), _laid_out(make(source), dtype))
        return held[2]


def _laid_out(weights: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(w.to(dtype).contiguous(memory_format=torch.channels_last) for w in weights)
