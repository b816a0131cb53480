"""Steps that PyTorch launches one after another, as CUDA graphs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import torch
from torch import Tensor

from kernels.network.graph_plan import GraphPlan

Left = TypeVar("Left")  # the output of a step for the next one


class SequentialPlan(GraphPlan, Generic[Left]):
    """A network as steps, by group and name ("encoder/conv1"), captured in CUDA graphs.

    Launching its operations one by one would take longer than computing them. Settings in effect
    during the capture, such as autocast and TF32, are in effect during the replay. The pictures are
    N, H, W.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        dtype: torch.dtype,
        device: torch.device,
        steps: Mapping[str, Callable[[Left], Left]],
    ) -> None:
        super().__init__(shape, dtype, device)
        self._steps = dict(steps)
        # The output of each part, by its last step, in the memory of the part's graph.
        self._left: dict[tuple[str, bool], Left] = {}

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(self._steps)

    @abstractmethod
    def _input(self, in_bytes: bool) -> Left:
        """Return the input of the first step: from `frames` with `in_bytes`, else from `_x`."""

    @abstractmethod
    def _finish(self, left: Left, in_bytes: bool) -> None:
        """Write the last step's output to `pictures` and `ranges` with `in_bytes`, else to `_y`."""

    def _free_parts(self) -> None:
        self._left.clear()
        super()._free_parts()

    def _prepared(self, part: str, in_bytes: bool) -> Callable[[], object]:
        names, steps = self.layers, self._within(part)
        first, last = names.index(steps[0]), names.index(steps[-1])

        def submit() -> None:
            left = self._left[names[first - 1], in_bytes] if first else self._input(in_bytes)
            for name in steps:
                left = self._steps[name](left)
            if names[last] == names[-1]:
                self._finish(left, in_bytes)
            else:
                self._left[names[last], in_bytes] = left

        return submit


class PicturePlan(SequentialPlan[Left]):
    """Steps that begin and end with pictures [N, 3, H, W]."""

    @abstractmethod
    def _begin(self, x: Tensor) -> Left:
        """Return the first step's input for pictures [N, 3, H, W] of the plan's dtype."""

    @abstractmethod
    def _end(self, left: Left) -> Tensor:
        """Return the pictures from the last step's output, [N, 3, H', W'], at least as large."""

    def _input(self, in_bytes: bool) -> Left:
        pixels = self.frames if in_bytes else self._x
        return self._begin(pixels.permute(0, 3, 1, 2).to(self.dtype))

    def _finish(self, left: Left, in_bytes: bool) -> None:
        y = self._end(left)
        height, width = self.shape[1:]
        y = y[..., :height, :width].permute(0, 2, 3, 1)  # [N, H, W, 3]
        if not in_bytes:
            self._y.copy_(y)
            return
        y = y.float()
        self.pictures.copy_((y.clamp(0, 255) + 0.5).to(torch.uint8))
        low, high = torch.aminmax(y.reshape(self.samples, -1), dim=1)
        self.ranges.copy_(
            torch.stack(
                [_in_order(low), _in_order(high), (~y.isfinite()).sum(dim=(1, 2, 3)).int()], dim=1
            )
        )


def _in_order(values: Tensor) -> Tensor:
    """Map float32 to integers of the same order, see frame_pipeline.is_broken."""
    bits = values.view(torch.int32)
    return torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
